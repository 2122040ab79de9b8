#!lua flags=allow-oom
-- Put the marker of an archived post in the place of its body. allow-oom: it frees more than it takes.
-- KEYS[1] post
-- ARGV[1] the body expected there, ARGV[2] the marker
-- returns 1 done, 0 something else stands there by now
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
