-- Set facts of an account that pages show, and raise its version when one of them changes.
-- KEYS: account (HASH)
-- ARGV: field, value, field, value, ...
-- Returns: 1 changed, 0 all as before, -1 no such account or deleted
local state = redis.call('HGET', KEYS[1], 'state')
if not state or state == 'deleted' then
  return -1
end
local changed = 0
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    changed = 1
  end
end
if changed == 1 then
  redis.call('HINCRBY', KEYS[1], 'version', 1)
end
return changed
