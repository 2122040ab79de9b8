#!lua flags=allow-oom
-- Purpose: move a job that will not be tried again to the dead letters, in one step.
-- KEYS: the stream, the dead letters.
-- ARGV: group, id of the job, payload, reason, tries, approximate maximum number of dead letters.
-- Returns: 1, or 0 if the job was finished or moved before.

if #redis.call("XPENDING", KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1) == 0 then
  return 0
end
redis.call(
  "XADD", KEYS[2], "MAXLEN", "~", ARGV[6], "*",
  "payload", ARGV[3], "reason", ARGV[4], "tries", ARGV[5], "job", ARGV[2]
)
redis.call("XACK", KEYS[1], ARGV[1], ARGV[2])
redis.call("XDEL", KEYS[1], ARGV[2])
return 1
