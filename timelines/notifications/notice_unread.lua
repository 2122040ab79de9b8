#!lua flags=no-writes
-- What is above the read mark, newest first; for most pages nothing.
-- KEYS[1] notifications, KEYS[2] read mark
-- ARGV[1] upper bound ("+inf" or "(id"), [2] how many at most
-- returns the newest id there is ("0": none), then member, id, member, id, …
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]
if not newest then return {'0'} end
local mark = redis.call('GET', KEYS[2]) or '0'
if tonumber(newest) <= tonumber(mark) then return {newest} end
local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '(' .. mark, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
return {newest, unpack(found)}
