-- Begin to build an absent timeline. Pushes during the build add their ids before the token.
-- KEYS[1] timeline
-- ARGV[1] token, ARGV[2] ms after which an abandoned build expires
-- returns 1 if the build begins, 0 if the timeline exists or is being built
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('RPUSH', KEYS[1], 'building:' .. ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
