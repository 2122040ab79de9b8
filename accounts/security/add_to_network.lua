#!lua flags=allow-oom
-- Add an account to the newest accounts that logged in from a network.
-- KEYS: accounts of the network (ZSET)
-- ARGV: account, time of the log-in in ms, number of accounts to keep, TTL in ms
-- Returns: nothing
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2] - ARGV[4])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[3]) - 1)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
