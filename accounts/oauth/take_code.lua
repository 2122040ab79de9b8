#!lua flags=allow-oom
-- Take an authorization code, which works once. A repetition gets what the first exchange has stored.
-- KEYS: code (STRING: the code; then "used"; then the reference of the token that it gave)
-- ARGV: none
-- Returns: the value, or nil if there is no such code
local value = redis.call('GET', KEYS[1])
if value and string.byte(value) >= 0x80 then redis.call('SET', KEYS[1], 'used', 'KEEPTTL') end
return value
