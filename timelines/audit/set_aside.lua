-- Set a value aside that is not of its key's type, so that the key can be built anew and nothing is lost.
-- KEYS[1] the key | KEYS[2] where to, under the same tag
-- ARGV    the type it should have | ms that what is set aside lives
-- Returns 1 if it was done, 0 where the key is gone or of its type by now
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' or kind == ARGV[1] then
  return 0
end
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
