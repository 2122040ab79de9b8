#!lua flags=allow-oom
-- Purpose: create the consumer group of a queue. allow-oom: workers of a full server free memory.
-- KEYS: the stream.
-- ARGV: the consumer group.
local answer = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if type(answer) == 'table' and answer.err and not string.find(answer.err, 'BUSYGROUP') then return answer end
return 1
