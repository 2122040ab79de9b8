-- Put the marker of an archived post in the place of its body, or the body back in the place of the marker.
-- KEYS[1] post
-- ARGV[1] the value expected there, ARGV[2] the value to put
-- returns 1 done, 0 something else stands there by now
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
