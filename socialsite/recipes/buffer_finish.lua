#!lua flags=allow-oom
-- Purpose: delete a batch after it was applied.
-- KEYS: the batch, the taken set (one tag).
-- ARGV: entity, id of the batch.
-- Returns: 1, or 0 if the batch was deleted before. A batch with another id is not deleted.

if redis.call("HGET", KEYS[1], "id") ~= ARGV[2] then
  return 0
end
redis.call("DEL", KEYS[1])
redis.call("ZREM", KEYS[2], ARGV[1])
return 1
