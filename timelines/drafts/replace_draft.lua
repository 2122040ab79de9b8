-- Replace or delete a draft if it is still the one that the caller read.
-- KEYS[1] drafts of the account (HASH)
-- ARGV[1] id of the draft, [2] value that the caller read, [3] new value, "" to delete the draft
-- returns 1 if it was replaced or deleted, else 0
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
