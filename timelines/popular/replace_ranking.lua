-- Replace a ranking. Without members, delete it.
-- KEYS[1] ranking (ZSET)
-- ARGV[1] ms to live, then score, member, score, member, ...
-- returns the number of members
redis.call('DEL', KEYS[1])
for at = 2, #ARGV, 2 do redis.call('ZADD', KEYS[1], ARGV[at], ARGV[at + 1]) end
if #ARGV > 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return (#ARGV - 1) / 2
