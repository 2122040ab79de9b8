-- Add posts to the postings of their terms. Postings are 7-byte big-endian ids in ascending order. The postings of a
-- rare term are a field of a hash. The postings of another term are a string, which starts with the floor. A floor of 0
-- means that no id was dropped. Ids at or below the floor are not added. If a term has a quarter more ids than the cap,
-- the oldest ids are dropped.
-- KEYS[2k - 1] postings, KEYS[2k] rare terms
-- ARGV[1] cap, ARGV[2] maximum number of ids of a rare term, ARGV[2k + 1] term, ARGV[2k + 2] its ids, as postings
-- returns the number of new ids of all terms
local W, cap, few, added = 7, tonumber(ARGV[1]), tonumber(ARGV[2]), 0
local NO_FLOOR = string.rep('\0', W)
local EXACT = 512 -- up to here a string is written whole: one that was appended to takes twice its bytes

local function at(packed, index)
  local a, b, c, d, e, f, g = string.byte(packed, index * W + 1, index * W + W)
  return (((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f) * 256 + g
end

-- Return the postings with the new ids. Element 0 of `held` is the floor, and its ids follow.
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

local function write(key, held)
  local size = #held / W - 1
  if size > cap + math.floor(cap / 4) then
    held = string.sub(held, (size - cap) * W + 1) -- the newest dropped id becomes the floor
  end
  redis.call('SET', key, held)
end

local function add_rare(key, rare, term, new)
  local held = redis.call('HGET', rare, term) or ''
  local now = merged(NO_FLOOR .. held, new)
  if #now / W - 1 > few then
    write(key, now)
    redis.call('HDEL', rare, term)
  elseif #now - W > #held then
    redis.call('HSET', rare, term, string.sub(now, W + 1))
  end
end

for number = 1, #KEYS, 2 do
  local key, new = KEYS[number], ARGV[number + 3]
  local bytes = redis.call('STRLEN', key)
  if bytes == 0 then
    add_rare(key, KEYS[number + 1], ARGV[number + 2], new)
  else
    local last, first = at(redis.call('GETRANGE', key, -W, -1), 0), at(new, 0)
    local size = (bytes + #new) / W - 1
    if first > last and bytes >= EXACT and size <= cap then
      redis.call('APPEND', key, new)
      added = added + #new / W
    elseif first ~= last or #new > W then
      write(key, merged(redis.call('GET', key), new))
    end
  end
end
return added
