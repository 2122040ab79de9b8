-- Give up an id that was claimed more than a minute ago and never written.
-- KEYS[1] post
-- returns 1 the id is dead now (or was already), 0 a post stands there: keep it, -1 it was deleted
local held = redis.call('GET', KEYS[1])
if held == 'superseded' then return 1 end
if held and string.sub(held, 1, 7) == 'deleted' then return -1 end
if held and held ~= 'pending' then return 0 end
redis.call('SET', KEYS[1], 'superseded')
return 1
