#!lua flags=allow-oom
-- Purpose: claim pending jobs of a worker with an expired heartbeat, or jobs of any worker that are idle for long.
-- KEYS: the stream, the heartbeat of that worker (the caller's own heartbeat if the owner is the caller or any worker).
-- ARGV: group, caller, owner ("": any worker), minimum idle ms, maximum jobs, delays "0,1000,...", then ids to skip.
-- Returns: a list of {id, number of deliveries with this one, payload, sender}. A dead owner without pending jobs is removed.

local stream, group, caller, owner = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local is_other = owner ~= "" and owner ~= caller
if is_other and redis.call("EXISTS", KEYS[2]) == 1 then
  return {}
end

-- A job that was delivered n times to workers that died may have killed them. Another worker claims it only after
-- delays[n] ms, so that workers stay alive to perform the other jobs.
local delays = {}
for delay in string.gmatch(ARGV[6], "%d+") do
  delays[#delays + 1] = tonumber(delay)
end

local max_jobs = tonumber(ARGV[5])
local skipped = {}
for position = 7, #ARGV do
  skipped[ARGV[position]] = true
end

local search = {"XPENDING", stream, group, "IDLE", ARGV[4], "-", "+", max_jobs + #ARGV - 6 + 100}
if owner ~= "" then
  search[#search + 1] = owner
end

-- Order by deliveries, then by age, so that a job that kills its workers comes after their other jobs.
local rows = redis.call(unpack(search))
for position, pending in ipairs(rows) do
  pending[5] = position
end
table.sort(rows, function(one, other)
  if one[4] ~= other[4] then
    return one[4] < other[4]
  end
  return one[5] < other[5]
end)

local jobs = {}
for _, pending in ipairs(rows) do
  local id = pending[1]
  local is_due = not is_other or pending[3] >= (delays[pending[4]] or 0)
  if #jobs < max_jobs and is_due and not skipped[id] then
    local entry = redis.call("XCLAIM", stream, group, caller, 0, id)[1]
    if entry then
      local fields = {payload = "", sender = ""}
      for field = 1, #entry[2], 2 do
        fields[entry[2][field]] = entry[2][field + 1]
      end
      jobs[#jobs + 1] = {id, pending[4] + 1, fields.payload, fields.sender}
    end
  end
end

-- Check and delete in one script: DELCONSUMER also deletes the consumer's pending entries, so their jobs would be lost.
if is_other and #redis.call("XPENDING", stream, group, "-", "+", 1, owner) == 0 then
  redis.call("XGROUP", "DELCONSUMER", stream, group, owner)
end
return jobs
