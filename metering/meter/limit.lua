-- Lets one, or some at once, through limits that belong to no account: sign-ins of an address, of the area around it and of everybody. When one of them refuses, none
-- is used up. A limit is so many at once, which come back evenly over the window (generic cell rate algorithm, ITU-T I.371): one number says it
-- all, and the wait is exact. Or it is so many in a UTC day, counted anew at its end.
--
-- KEYS  the limits' names, narrowest first; of one hash slot
-- ARGV  1 the window in ms, 0 for the UTC day; 2 how many are taken; then for each limit how many it lets through
--
-- Returns { place of the limit that refuses for the longest time, 0 when let through,
--           ms until the next is let through (0 while some are left in each), what names of counts end with ('' but for days),
--           then for each limit: left, ms until all have come back or the day ends }

local DAY_MS = 86400000
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local per, n, suffix = tonumber(ARGV[1]), tonumber(ARGV[2]), ''
local daily = per == 0
if daily then
  per = DAY_MS - now_ms % DAY_MS
  suffix = ':' .. string.format('%d', (now_ms - now_ms % DAY_MS) / DAY_MS)
end

-- A day's count, or the instant at which all that was taken will have come back: never further away than the window, for the server's clock may
-- have stepped back.
local held, refuses, wait = {}, 0, 0
for i, key in ipairs(KEYS) do
  local limit, late = tonumber(ARGV[i + 2]), 0
  held[i] = tonumber(redis.call('GET', key .. suffix) or '0')
  if daily then
    if held[i] + n > limit then late = per end
  else
    held[i] = math.min(math.max(held[i], now_ms), now_ms + per)
    late = held[i] + n * per / limit - per - now_ms
  end
  if late > 0.001 and late > wait then refuses, wait = i, late end
end

local reply = { refuses, 0, suffix }
for i, key in ipairs(KEYS) do
  local limit, left, reset = tonumber(ARGV[i + 2]), 0, per
  if daily then
    if refuses == 0 then
      held[i] = held[i] + n
      redis.call('SET', key .. suffix, held[i], 'PX', per + DAY_MS)
    end
    left = math.max(0, limit - held[i])
    if refuses == 0 and left == 0 then wait = per end
  else
    local each = per / limit
    if refuses == 0 then
      held[i] = held[i] + n * each
      redis.call('SET', key, string.format('%.3f', held[i]), 'PX', math.ceil(held[i] - now_ms) + 1)
    end
    reset = held[i] - now_ms
    left = math.max(0, math.floor((per - reset) / each + 0.001))
    if refuses == 0 and left == 0 then wait = math.max(wait, reset + each - per) end
  end
  reply[#reply + 1] = left
  reply[#reply + 1] = math.ceil(reset)
end
reply[2] = math.ceil(wait)
return reply
