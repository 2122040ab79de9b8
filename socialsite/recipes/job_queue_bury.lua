#!lua flags=allow-oom
-- Purpose: a job will not be tried again: keep it among the dead letters and let it go, in one step.
-- KEYS: the stream, the dead letters.
-- ARGV: group, id of the job, payload, reason, tries, most dead letters to keep (about).
-- Returns: 1, or 0 if somebody finished or buried it before.

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
