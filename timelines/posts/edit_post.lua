-- Replace a post by its next version, and append the former version to the versions of the post.
-- KEYS[1] post, KEYS[2] versions (LIST), KEYS[3] votes of the poll, KEYS[4] tally of the poll
-- ARGV[1] the value that the editor read, ARGV[2] the new value, ARGV[3] the number of the version
-- that the editor read, ARGV[4] 1 if the poll starts anew
-- returns 1 if the post is edited, 2 if the new value was stored before, 0 if there is no post, -1 if another version is
-- stored, -2 if the body of the post is in the archive
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then
  -- A restored backup may have versions that are newer than its post.
  if ARGV[3] == '0' then redis.call('DEL', KEYS[2]) else redis.call('LTRIM', KEYS[2], 0, ARGV[3] - 1) end
  redis.call('RPUSH', KEYS[2], held)
  redis.call('SET', KEYS[1], ARGV[2])
  if ARGV[4] == '1' then redis.call('DEL', KEYS[3], KEYS[4]) end
  return 1
end
if held == ARGV[2] then return 2 end
if not held or held == 'pending' or held == 'superseded' or string.sub(held, 1, 7) == 'deleted' then return 0 end
if string.match(held, '^%d+$') then return -2 end
return -1
