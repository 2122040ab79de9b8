#!lua flags=allow-oom
-- Add a sanction to the sorted set of those that a worker or staff has to deal with. allow-oom: as store_sanction.lua.
-- KEYS[1] the sorted set
-- ARGV[1] ms, ARGV[2] account id and id of the sanction
-- returns the number of added members
return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
