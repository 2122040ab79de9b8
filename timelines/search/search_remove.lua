-- Remove a post from the postings of its terms (search_add.lua). Empty postings are deleted.
-- KEYS[2k - 1] postings, KEYS[2k] rare terms
-- ARGV[1] the post id, as postings, ARGV[k + 1] term
-- returns the number of terms from which the post was removed
local W, NO_FLOOR, removed = 7, string.rep('\0', 7), 0

local function at(packed, index)
  local a, b, c, d, e, f, g = string.byte(packed, index * W + 1, index * W + W)
  return (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g
end

local id = at(ARGV[1], 0)

-- Return the postings without the id, or nil if the id is absent. Element 0 of `held` is the floor.
local function without(held)
  local size = #held / W - 1
  local low, high = 1, size + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if at(held, middle) < id then low = middle + 1 else high = middle end
  end
  if low <= size and at(held, low) == id then
    removed = removed + 1
    return string.sub(held, 1, low * W) .. string.sub(held, (low + 1) * W + 1)
  end
end

for number = 1, #KEYS, 2 do
  local key, rare, term = KEYS[number], KEYS[number + 1], ARGV[(number + 3) / 2]
  local held = redis.call('GET', key)
  if held then
    local left = without(held)
    if left == NO_FLOOR then
      redis.call('DEL', key)
    elseif left then
      redis.call('SET', key, left)
    end
  else
    local left = without(NO_FLOOR .. (redis.call('HGET', rare, term) or ''))
    if left == NO_FLOOR then
      redis.call('HDEL', rare, term)
    elseif left then
      redis.call('HSET', rare, term, string.sub(left, W + 1))
    end
  end
end
return removed
