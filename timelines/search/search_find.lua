#!lua flags=no-writes
-- Find the newest posts that have all terms, by intersecting the lists of postings (search_add.lua).
-- A list that dropped its oldest ids has no information at or below its floor. There only the other lists are compared,
-- and the caller checks the texts.
-- KEYS[2k - 1] postings, KEYS[2k] rare terms
-- ARGV[1] highest id, ARGV[2] lowest id, ARGV[3] maximum number of ids, ARGV[4] maximum number of steps (searches of a
-- list, and blocks read for them), ARGV[k + 4] term
-- returns {edge, id, ...}: all ids from `edge` on were searched, and the next call starts at edge - 1. An edge of 0
-- means that no older posts remain.
local W, BLOCK = 7, 64
local target, lowest = tonumber(ARGV[1]), tonumber(ARGV[2])
local most, steps_left = tonumber(ARGV[3]), tonumber(ARGV[4])

local function number_at(packed, index)
  local a, b, c, d, e, f, g = string.byte(packed, index * W + 1, index * W + W)
  return (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g
end

local function id_at(list, index)
  local block = math.floor((index - 1) / BLOCK)
  if list.block ~= block then
    local first = (block * BLOCK + 1) * W
    list.packed = redis.call('GETRANGE', list.key, first, first + BLOCK * W - 1)
    list.block, steps_left = block, steps_left - 1
  end
  return number_at(list.packed, index - 1 - block * BLOCK)
end

-- Return the largest id of a list that is at most `id`, or its floor if there is none. `id` never rises.
local function seek(list, id)
  steps_left = steps_left - 1
  local high, step = list.position + 1, 1 -- everything from `high` on is above `id`
  local low = list.position
  while low >= 1 and id_at(list, low) > id do
    high, low, step = low, low - step, step * 2
  end
  low = math.max(low, 0)
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if id_at(list, middle) > id then high = middle else low = middle end
  end
  list.position = low
  return low > 0 and id_at(list, low) or list.floor
end

local function list_of(key, rare, term)
  local size = redis.call('STRLEN', key) / W - 1
  if size >= 0 then
    local floor = number_at(redis.call('GETRANGE', key, 0, W - 1), 0)
    return {key = key, size = size, position = size, floor = floor}
  end
  local packed = redis.call('HGET', rare, term)
  if packed then
    return {packed = packed, block = 0, size = #packed / W, position = #packed / W, floor = 0}
  end
end

local lists = {}
for number = 1, #KEYS, 2 do
  local list = list_of(KEYS[number], KEYS[number + 1], ARGV[(number + 9) / 2])
  if not list then
    return {0} -- no post of this partition has this term
  end
  lists[#lists + 1] = list
end
-- The leader is the list with the lowest floor. Of several lists without dropped ids it is the shortest.
table.sort(lists, function(one, other)
  if one.floor ~= other.floor then return one.floor < other.floor end
  return one.size < other.size
end)
local leader = lists[1]

local found = {0}
while #found <= most do
  if steps_left < 0 then
    found[1] = target + 1
    return found
  end
  local id = seek(leader, target)
  if leader.position == 0 or id < lowest then
    return found
  end
  target = id - 1
  local agreed = true
  for number = 2, #lists do
    local list = lists[number]
    if id > list.floor then
      local near = seek(list, id)
      if near < id then
        target, agreed = near, false
        break
      end
    end
  end
  if agreed then
    found[#found + 1] = id
  end
end
found[1] = target + 1
return found
