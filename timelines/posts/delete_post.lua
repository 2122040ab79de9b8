#!lua flags=allow-oom
-- Replace a post by a permanent tombstone, so that no later write restores the post. A tombstone is "deleted:<author>".
-- For a reply ":<parent>" follows, and for a boost "::<original>". The tombstone of a post for followers is
-- "deleted:<author>:<parent or nothing>::f". An archived post has this form, too, since its audience is not known here.
-- The replies and their count remain, because the replies still exist.
-- KEYS[1] post, KEYS[2] boosts, KEYS[3] counts, KEYS[4] replies, KEYS[5] the boosts that a job has yet to delete
-- KEYS[6] versions, KEYS[7] and following: the keys that are deleted with the post
-- ARGV[1] author of the post, ARGV[2] "claimed" if a reserved id without a post is also replaced
-- returns 1 if the post is deleted, 2 if it is deleted and its body is in the archive, 3 if it is deleted and was edited,
-- 0 if there was no post
local held = redis.call('GET', KEYS[1])
local written = held and held ~= 'pending' and held ~= 'superseded' and string.sub(held, 1, 7) ~= 'deleted'
if not written and not (ARGV[2] == 'claimed' and (not held or held == 'pending')) then return 0 end
local tombstone, archived = 'deleted:' .. ARGV[1], written and string.match(held, '^%d+$')
if archived then tombstone = tombstone .. ':::f' end
if written and not archived then
  local is_packed, post = pcall(cmsgpack.unpack, held)
  local is_post = is_packed and type(post) == 'table'
  if is_post and type(post[4]) == 'number' then tombstone = tombstone .. string.format(':%.0f', post[4]) end
  if is_post and type(post[7]) == 'number' then tombstone = tombstone .. string.format('::%.0f', post[7]) end
  if is_post and post[6] == 2 then tombstone = tombstone .. (type(post[4]) == 'number' and '::f' or ':::f') end
end
redis.call('SET', KEYS[1], tombstone)
local edits = redis.call('EXISTS', KEYS[6])
redis.call('DEL', unpack(KEYS, 7))
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('RENAME', KEYS[2], KEYS[5]) end
local replies = redis.call('ZCARD', KEYS[4])
if replies == 0 then
  redis.call('DEL', KEYS[3])
else
  redis.call('SET', KEYS[3], replies .. ' 0 0')
end
if not written then return 0 end
if archived then return 2 end
if edits == 1 then return 3 end
return 1
