-- Gives back what limit.lua took of a day. A count that is gone, its day long over or Redis wiped, stays gone: it would never expire.
--
-- KEYS  names of the day's counts
--
-- Returns how many of them were given back.

local given = 0
for _, key in ipairs(KEYS) do
  if tonumber(redis.call('GET', key) or '0') >= 1 then
    redis.call('DECR', key)
    given = given + 1
  end
end
return given
