-- Store a post if its key is reserved or absent; never replace a post or a tombstone.
-- KEYS[1] post
-- ARGV[1] MessagePack of the post
-- returns 1 if the post is written, 2 if it exists, 3 if it exists and was edited, 0 if it was deleted, -1 if the id is
-- superseded
local held = redis.call('GET', KEYS[1])
if not held or held == 'pending' then
  redis.call('SET', KEYS[1], ARGV[1])
  return 1
end
if string.sub(held, 1, 7) == 'deleted' then return 0 end
if held == 'superseded' then return -1 end
if string.byte(held) == 0xDC then return 3 end
return 2
