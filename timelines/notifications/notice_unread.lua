#!lua flags=no-writes
-- Return the notifications above the read mark, newest first; on most pages there are none.
-- KEYS[1] notifications, KEYS[2] read mark
-- ARGV[1] upper bound ("+inf" or "(id"), [2] maximum number
-- returns the newest id ("0": none), then member, id, member, id, …
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]
if not newest then return {'0'} end
local mark = redis.call('GET', KEYS[2]) or '0'
if tonumber(newest) <= tonumber(mark) then return {newest} end
local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '(' .. mark, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
return {newest, unpack(found)}
