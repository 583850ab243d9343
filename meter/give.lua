-- Gives back what take.lua took. A count that is gone, its day long over or Redis wiped, stays gone: it would never expire.
--
-- KEYS  1 name of the day's count, as take.lua gave it
--
-- Returns what is taken now.

local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used < 1 then return 0 end
return redis.call('DECR', KEYS[1])
