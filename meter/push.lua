-- Puts a projection of an account or a key in force. Only a higher version replaces another, so an old load that arrives late
-- never overwrites a newer change. The one exception is time: the same version of an account replaces itself when its periods end
-- later, for they run out although nothing changed.
--
-- KEYS  1 {u}:cfg:<account> or {u}:key:<key>
-- ARGV  1 version   2 end of the current period in ms, 0 for a key   3… field, value, …
--
-- A projection that is not pushed for some days is forgotten, and loaded again with the next call.
--
-- Returns 1 when put in force, 0 when what is there is as new or newer.

local KEEP_SECONDS = 3 * 86400
local there = redis.call('HMGET', KEYS[1], 'v', 'pe')
if there[1] then
  local held, given = tonumber(there[1]), tonumber(ARGV[1])
  if held > given or (held == given and tonumber(there[2] or '0') >= tonumber(ARGV[2])) then return 0 end
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'v', ARGV[1], unpack(ARGV, 3))
redis.call('EXPIRE', KEYS[1], KEEP_SECONDS)
return 1
