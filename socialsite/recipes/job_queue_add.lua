#!lua
-- Purpose: add a job of a sender to the stream, or to the sender's waiting jobs if enough of its jobs are unfinished.
-- KEYS: the stream, the unfinished jobs by sender, the senders that wait, the waiting jobs of this sender, the ms of
-- work for it.
-- ARGV: payload, sender, maximum number of the sender's jobs in the stream, the ms of work after which its jobs wait
-- for an empty stream (0: never).
-- Returns: the id of the new entry.

local unfinished = {}
for id in string.gmatch(redis.call("HGET", KEYS[2], ARGV[2]) or "", "%S+") do
  if #redis.call("XRANGE", KEYS[1], id, id) > 0 then
    unfinished[#unfinished + 1] = id
  end
end
local most_ms = tonumber(ARGV[4])
local is_late = most_ms > 0 and tonumber(redis.call("GET", KEYS[5]) or 0) >= most_ms
is_late = is_late and redis.call("XLEN", KEYS[1]) > 0
if is_late or #unfinished >= tonumber(ARGV[3]) or redis.call("EXISTS", KEYS[4]) == 1 then
  local id = redis.call("XADD", KEYS[4], "*", "payload", ARGV[1])
  redis.call("ZADD", KEYS[3], "NX", string.match(id, "%d+"), ARGV[2])
  return id
end
local id = redis.call("XADD", KEYS[1], "*", "payload", ARGV[1], "sender", ARGV[2])
unfinished[#unfinished + 1] = id
redis.call("HSET", KEYS[2], ARGV[2], table.concat(unfinished, " "))
return id
