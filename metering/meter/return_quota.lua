-- Returns one to each daily count from which limit.lua took. A count that is gone, because its day
-- is long over or Redis lost its data, stays gone: one made here would never expire.
--
-- KEYS  names of the daily counts
--
-- Returns how many counts were decremented.

local given = 0
for _, key in ipairs(KEYS) do
  if tonumber(redis.call('GET', key) or '0') >= 1 then
    redis.call('DECR', key)
    given = given + 1
  end
end
return given
