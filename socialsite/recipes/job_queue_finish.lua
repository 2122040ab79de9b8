#!lua flags=allow-oom
-- Purpose: delete a finished job, add the jobs that follow it, and move waiting jobs of its sender to the stream, in
-- one step. allow-oom: the script runs on a full server, because it frees memory, too.
-- KEYS: the stream, the unfinished jobs by sender, the senders that wait, the waiting jobs of this sender, the ms of
-- work for it.
-- ARGV: group, id of the job ("": only move waiting jobs), sender ("": none), maximum number of the sender's jobs in
-- the stream, the ms of work after which its jobs wait for an empty stream (0: never), the ms of this job, the TTL of
-- the ms of work, then the payloads of the following jobs.
-- Returns: 1, or 0 if the job was finished before. Then nothing is added, so a chain of jobs never doubles.

local stream, group, job, sender = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
if job ~= "" then
  if #redis.call("XPENDING", stream, group, job, job, 1) == 0 then
    return 0
  end
  redis.call("XACK", stream, group, job)
  redis.call("XDEL", stream, job)
end

local unfinished = {}
if sender ~= "" then
  for id in string.gmatch(redis.call("HGET", KEYS[2], sender) or "", "%S+") do
    if #redis.call("XRANGE", stream, id, id) > 0 then
      unfinished[#unfinished + 1] = id
    end
  end
end
for position = 8, #ARGV do
  if sender == "" then
    redis.call("XADD", stream, "*", "payload", ARGV[position])
  else
    unfinished[#unfinished + 1] = redis.call("XADD", stream, "*", "payload", ARGV[position], "sender", sender)
  end
end
if sender == "" then
  return 1
end

local most_ms, used_ms = tonumber(ARGV[5]), tonumber(ARGV[6])
if used_ms > 0 and redis.call("INCRBY", KEYS[5], used_ms) == used_ms then
  redis.call("PEXPIRE", KEYS[5], ARGV[7])
end
local is_late = most_ms > 0 and tonumber(redis.call("GET", KEYS[5]) or 0) >= most_ms
local free = tonumber(ARGV[4]) - #unfinished
if is_late and redis.call("XLEN", stream) > 0 then
  free = 0
end
if free > 0 and redis.call("EXISTS", KEYS[4]) == 1 then
  for _, entry in ipairs(redis.call("XRANGE", KEYS[4], "-", "+", "COUNT", free)) do
    unfinished[#unfinished + 1] = redis.call("XADD", stream, "*", "sender", sender, unpack(entry[2]))
    redis.call("XDEL", KEYS[4], entry[1])
  end
  local oldest = redis.call("XRANGE", KEYS[4], "-", "+", "COUNT", 1)[1]
  if oldest then
    redis.call("ZADD", KEYS[3], string.match(oldest[1], "%d+"), sender)
  else
    redis.call("DEL", KEYS[4])
    redis.call("ZREM", KEYS[3], sender)
  end
end
if #unfinished > 0 then
  redis.call("HSET", KEYS[2], sender, table.concat(unfinished, " "))
else
  redis.call("HDEL", KEYS[2], sender)
end
return 1
