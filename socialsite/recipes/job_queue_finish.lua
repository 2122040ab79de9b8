#!lua flags=allow-oom
-- Purpose: a job is done: add the jobs that follow from it and let it go, in one step. allow-oom: it frees what it adds.
-- KEYS[1]: the stream.
-- ARGV: group, id of the job, then the payloads of the jobs that follow.
-- Returns: 1, or 0 if somebody finished it before; then nothing is added, so a chain of jobs never doubles.

if #redis.call("XPENDING", KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1) == 0 then
  return 0
end
for position = 3, #ARGV do
  redis.call("XADD", KEYS[1], "*", "payload", ARGV[position])
end
redis.call("XACK", KEYS[1], ARGV[1], ARGV[2])
redis.call("XDEL", KEYS[1], ARGV[2])
return 1
