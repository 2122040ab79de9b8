#!lua flags=allow-oom
-- Store a sanction if the stored value is the one that was read, and if no other was added since.
-- allow-oom: staff must be able to act on a full server, too.
-- KEYS[1] account (HASH), KEYS[2] sanctions of the account (HASH: id -> sanction)
-- ARGV[1] id, ARGV[2] the value that was read or "", ARGV[3] the new value, ARGV[4] 1 if it is news for the person,
-- ARGV[5] the number of stored sanctions, or "" for any number
-- returns 1 if it is stored, 0 if another value or number is stored, -1 if the account is absent or deleted
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'deleted' then return -1 end
if (redis.call('HGET', KEYS[2], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[5] ~= '' and redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[5]) then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
if ARGV[4] == '1' then redis.call('HSET', KEYS[1], 'sanctions', '1') end
return 1
