-- Change the owner of a mail address if its present owner is the expected one.
-- KEYS[1] owner of the address (STRING: account id)
-- ARGV[1] new owner, or '' for none, [2] expected owner, or '' for none
-- returns 1 if the account of ARGV[1] is the owner now, else 0
local owner = redis.call('GET', KEYS[1]) or ''
if owner ~= ARGV[1] and owner == ARGV[2] then
  if ARGV[1] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[1]) end
  owner = ARGV[1]
end
return owner == ARGV[1] and 1 or 0
