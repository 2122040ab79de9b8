-- Abandon an id that was reserved more than a minute ago and has no post.
-- KEYS[1] post
-- returns 1 if the id is abandoned now or was before, 0 if there is a post, which remains, -1 if the post was deleted
local held = redis.call('GET', KEYS[1])
if held == 'superseded' then return 1 end
if held and string.sub(held, 1, 7) == 'deleted' then return -1 end
if held and held ~= 'pending' then return 0 end
redis.call('SET', KEYS[1], 'superseded')
return 1
