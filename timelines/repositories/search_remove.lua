-- Takes a post from under terms (postings: see search_add.lua). What is left of a term without posts is deleted.
-- KEYS postings (one tag)
-- ARGV[1] the post's id, packed
-- Returns from under how many terms it was taken
local W, removed = 7, 0

local function at(packed, index)
  local a, b, c, d, e, f, g = string.byte(packed, index * W + 1, index * W + W)
  return (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g
end

local id = at(ARGV[1], 0)
for _, key in ipairs(KEYS) do
  local held = redis.call('GET', key)
  if held then
    local size = #held / W - 1
    local low, high = 1, size + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if at(held, middle) < id then low = middle + 1 else high = middle end
    end
    if low <= size and at(held, low) == id then
      removed = removed + 1
      if size == 1 and at(held, 0) == 0 then
        redis.call('DEL', key)
      else
        redis.call('SET', key, string.sub(held, 1, low * W) .. string.sub(held, (low + 1) * W + 1))
      end
    end
  end
end
return removed
