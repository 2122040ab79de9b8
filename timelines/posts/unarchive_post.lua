-- Put the body of an archived post back in the place of its marker; refused by a full server.
-- KEYS[1] post
-- ARGV[1] the marker expected there, ARGV[2] the body
-- returns 1 done, 0 something else stands there by now
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
