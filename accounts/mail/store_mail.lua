-- Store the state of a mail, and delete the oldest states above the cap. Ids of mails ascend with time.
-- KEYS[1] account (HASH), [2] mails of the account (HASH: id -> state)
-- ARGV[1] id of the mail, [2] its state, [3] cap, [4] 1 to keep the state of a mail that has one
-- returns 1, or 0 if the account is absent or deleted
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'deleted' then return 0 end
if ARGV[4] == '1' then
  redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2])
else
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
if redis.call('HLEN', KEYS[2]) > tonumber(ARGV[3]) then
  local ids = redis.call('HKEYS', KEYS[2])
  table.sort(ids)
  for i = 1, #ids - tonumber(ARGV[3]) do redis.call('HDEL', KEYS[2], ids[i]) end
end
return 1
