-- Puts a projection of an account or a key in force. Only a higher version replaces another, so an old load that arrives late
-- never overwrites a newer change.
--
-- KEYS  1 {u}:cfg:<account> or {u}:key:<key>
-- ARGV  1 version   2… field, value, …
--
-- Returns 1 when put in force, 0 when the version there is as high or higher.

local there = redis.call('HGET', KEYS[1], 'v')
if there and tonumber(there) >= tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'v', unpack(ARGV))
return 1
