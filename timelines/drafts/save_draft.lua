-- Store a draft, unless the account has too many. An existing draft is replaced; a deleted one is not restored.
-- KEYS[1] drafts of the account (HASH)
-- ARGV[1] id of the draft, [2] value, [3] cap, [4] "new" if the draft is new
-- returns 1 (stored), 0 (there is no such draft) or -1 (the account has too many)
local exists = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
if not exists and ARGV[4] ~= 'new' then return 0 end
if not exists and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
