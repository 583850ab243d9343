-- Puts an upstream's learned limit of eth_getLogs on the board, unless a lower one is in force.
-- Processes that learn at once so agree on the lowest.
--
-- KEYS  1 {board}:<chain>:log_limits    a hash: fingerprint of an upstream, "<blocks> <until>"
-- ARGV  1 fingerprint
--       2 blocks
--       3 until, unix seconds
--       4 now, unix seconds
--       5 seconds after which the hash is dropped when nothing is learned
--
-- Returns nothing.

for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  local ends = string.match(redis.call('HGET', KEYS[1], field), '^%d+ (%d+)$')
  if not ends or tonumber(ends) <= tonumber(ARGV[4]) then
    redis.call('HDEL', KEYS[1], field)
  end
end
local known = redis.call('HGET', KEYS[1], ARGV[1])
if not known or tonumber(ARGV[2]) < tonumber(string.match(known, '^%d+')) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
end
redis.call('EXPIRE', KEYS[1], ARGV[5])
