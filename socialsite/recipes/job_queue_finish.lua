#!lua flags=allow-oom
-- Purpose: delete a finished job and add the jobs that follow it, in one step. allow-oom: the script frees memory, too.
-- KEYS: the stream.
-- ARGV: group, id of the job, then the payloads of the following jobs.
-- Returns: 1, or 0 if the job was finished before. Then nothing is added, so a chain of jobs never doubles.

if #redis.call("XPENDING", KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1) == 0 then
  return 0
end
for position = 3, #ARGV do
  redis.call("XADD", KEYS[1], "*", "payload", ARGV[position])
end
redis.call("XACK", KEYS[1], ARGV[1], ARGV[2])
redis.call("XDEL", KEYS[1], ARGV[2])
return 1
