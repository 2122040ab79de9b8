-- Store a new transfer, unless one of its kind is running or the account has too many.
-- KEYS[1] transfers of the account (HASH)
-- ARGV[1] id of the transfer, [2] value, [3] kind, [4] cap, [5] Unix ms: without progress since then, a transfer is lost,
-- [6..] the states of transfers at which a job works
-- returns 1 (stored), 0 (one of its kind is running) or -1 (the account has too many)
local held = redis.call('HVALS', KEYS[1])
for _, value in ipairs(held) do
  local _, kind, _, state, changed_ms = unpack(cmsgpack.unpack(value))
  for at = 6, #ARGV do
    if kind == ARGV[3] and state == ARGV[at] and changed_ms >= tonumber(ARGV[5]) then return 0 end
  end
end
if #held >= tonumber(ARGV[4]) then return -1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
