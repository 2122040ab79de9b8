-- Begin to build a timeline that is absent: pushes that come meanwhile land before the token.
-- KEYS[1] timeline
-- ARGV[1] token, ARGV[2] ms after which an abandoned build is forgotten
-- returns 1 begun, 0 the timeline is there or being built
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('RPUSH', KEYS[1], 'building:' .. ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
