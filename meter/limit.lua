-- Lets one through a limit that belongs to no account: sign-ins of an address, calls of a management key. So many at once, and then as they come
-- back evenly over the window (generic cell rate algorithm, ITU-T I.371): one number says it all, and the wait is exact.
--
-- KEYS  1 the limit's name
-- ARGV  1 how many   2 in how many ms
--
-- Returns { 1 when let through or 0, left, ms until the next is let through (0 while some are left), ms until all have come back }

local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local limit, per = tonumber(ARGV[1]), tonumber(ARGV[2])
local each = per / limit
-- When all that was taken will have come back. Never further away than the window: the server's clock may have stepped back.
local full = math.min(math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now_ms), now_ms + per)
if full + each - now_ms > per + 0.001 then
  return { 0, 0, math.ceil(full + each - per - now_ms), math.ceil(full - now_ms) }
end
full = full + each
local used = full - now_ms
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil(used) + 1)
local left = math.floor((per - used) / each + 0.001)
return { 1, left, left > 0 and 0 or math.ceil(used + each - per), math.ceil(used) }
