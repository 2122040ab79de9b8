#!lua flags=allow-oom
-- Purpose: take over pending jobs of one worker, if its heartbeat is gone, or of any, if untouched for long.
-- KEYS: the stream, the heartbeat of that worker (one's own where the owner is oneself or anybody).
-- ARGV: group, taker, owner ("": anybody), least idle ms, most jobs, waits "0,1000,..", then ids to leave alone.
-- Returns: a list of {id, deliveries with this one, payload}. A dead owner left with nothing is removed.

local stream, group, taker, owner = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local is_other = owner ~= "" and owner ~= taker
if is_other and redis.call("EXISTS", KEYS[2]) == 1 then
  return {}
end

-- Of another worker's jobs, one that may have killed n workers is left alone for waits[n] ms, so that somebody
-- is alive meanwhile to do the rest.
local waits = {}
for wait in string.gmatch(ARGV[6], "%d+") do
  waits[#waits + 1] = tonumber(wait)
end

local most = tonumber(ARGV[5])
local left_alone = {}
for position = 7, #ARGV do
  left_alone[ARGV[position]] = true
end

local search = {"XPENDING", stream, group, "IDLE", ARGV[4], "-", "+", most + #ARGV - 6 + 100}
if owner ~= "" then
  search[#search + 1] = owner
end

-- Least tried first, then oldest: a job that kills its workers comes after those it took along.
local found = redis.call(unpack(search))
for position, pending in ipairs(found) do
  pending[5] = position
end
table.sort(found, function(one, other)
  if one[4] ~= other[4] then
    return one[4] < other[4]
  end
  return one[5] < other[5]
end)

local jobs = {}
for _, pending in ipairs(found) do
  local id = pending[1]
  local is_due = not is_other or pending[3] >= (waits[pending[4]] or 0)
  if #jobs < most and is_due and not left_alone[id] then
    local entry = redis.call("XCLAIM", stream, group, taker, 0, id)[1]
    if entry then
      local payload = ""
      for field = 1, #entry[2], 2 do
        if entry[2][field] == "payload" then
          payload = entry[2][field + 1]
        end
      end
      jobs[#jobs + 1] = {id, pending[4] + 1, payload}
    end
  end
end

-- Only here, in one step with the look: DELCONSUMER forgets what is pending, and with it the jobs.
if is_other and #redis.call("XPENDING", stream, group, "-", "+", 1, owner) == 0 then
  redis.call("XGROUP", "DELCONSUMER", stream, group, owner)
end
return jobs
