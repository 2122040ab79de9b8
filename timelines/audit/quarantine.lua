-- Move a value that is not of its key's type to quarantine, so that the key can be rebuilt and nothing is lost.
-- KEYS[1] the key | KEYS[2] the quarantine key, under the same tag
-- ARGV[1] the type that the key should have | ARGV[2] lifetime of the quarantined value in ms
-- Returns 1 if the value was moved, 0 if the key is gone or has the right type
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' or kind == ARGV[1] then
  return 0
end
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
