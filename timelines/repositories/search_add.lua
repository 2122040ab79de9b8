-- Puts posts under terms. Postings are a string of 7-byte big-endian ids, ascending, after a floor of the same form
-- (0: nothing was dropped); an id at or below the floor is not taken. Above ARGV[1] and a quarter the oldest go.
-- KEYS[k] postings (one tag) | ARGV[1] cap | ARGV[k + 1] ids for KEYS[k], packed like postings, ascending
-- Returns how many ids are new, over all terms
local W, cap, added = 7, tonumber(ARGV[1]), 0

local function at(packed, index)
  local a, b, c, d, e, f, g = string.byte(packed, index * W + 1, index * W + W)
  return (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g
end

-- Element 0 of `held` is the floor, 1 .. its ids.
local function merged(held, new)
  local size, parts, done, low = #held / W - 1, {}, 1, 1
  for number = 0, #new / W - 1 do
    local id, high = at(new, number), size + 1
    if id > at(held, 0) then
      while low < high do
        local middle = math.floor((low + high) / 2)
        if at(held, middle) < id then low = middle + 1 else high = middle end
      end
      if low > size or at(held, low) ~= id then
        parts[#parts + 1] = string.sub(held, done, low * W)
        parts[#parts + 1] = string.sub(new, number * W + 1, number * W + W)
        done, added = low * W + 1, added + 1
      end
    end
  end
  parts[#parts + 1] = string.sub(held, done)
  return table.concat(parts)
end

local function trimmed(held)
  local size = #held / W - 1
  if size <= cap + math.floor(cap / 4) then
    return held
  end
  return string.sub(held, (size - cap) * W + 1) -- the last one dropped becomes the floor
end

for number, key in ipairs(KEYS) do
  local new = ARGV[number + 1]
  local bytes = redis.call('STRLEN', key)
  if bytes == 0 then
    redis.call('SET', key, trimmed(string.rep('\0', W) .. new))
    added = added + #new / W
  else
    local last, first = at(redis.call('GETRANGE', key, -W, -1), 0), at(new, 0)
    if first > last then
      added = added + #new / W
      local size = redis.call('APPEND', key, new) / W - 1
      if size > cap + math.floor(cap / 4) then
        redis.call('SET', key, trimmed(redis.call('GET', key)))
      end
    elseif first < last or #new > W then
      redis.call('SET', key, trimmed(merged(redis.call('GET', key), new)))
    end
  end
end
return added
