#!lua flags=allow-oom
-- Change fields of a row if other fields have the expected values.
-- KEYS[1] the HASH of a picture
-- ARGV    number n of expected fields (-1 if the row must be absent), n pairs of field and value, the pairs to store
-- An absent field, which an older release did not store, has its default value: 0 or "".
-- Returns 1, or 0 if the row is absent, is present unexpectedly, or has another value in a field
local expected = tonumber(ARGV[1])
if redis.call('EXISTS', KEYS[1]) == (expected < 0 and 1 or 0) then
  return 0
end
local last = 1 + 2 * math.max(expected, 0)
for at = 2, last, 2 do
  local wanted, stored = ARGV[at + 1], redis.call('HGET', KEYS[1], ARGV[at])
  if stored ~= wanted and (stored or (wanted ~= '0' and wanted ~= '')) then
    return 0
  end
end
redis.call('HSET', KEYS[1], unpack(ARGV, last + 1))
return 1
