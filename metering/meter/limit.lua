-- Takes one or more from rate limits that belong to no account: for example sign-ins of an address,
-- of its area and of everybody. When one limit refuses, none is used. A limit allows a number at
-- once, refilled evenly over the window (generic cell rate algorithm, ITU-T I.371): one number is
-- the whole state, and the wait is exact. Or it allows a number per UTC day.
--
-- KEYS  the limits' names, narrowest first; all in one hash slot
-- ARGV  1 the window in ms, 0 for the UTC day   2 how many to take   3… for each limit, how many it allows
--
-- Returns { position of the limit with the longest wait, 0 when allowed,
--           ms until the next is allowed (0 while some are left in each), suffix of the names of daily counts (else ''),
--           then for each limit: left, ms until it is full again or the day ends }

local DAY_MS = 86400000
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local per, n, suffix = tonumber(ARGV[1]), tonumber(ARGV[2]), ''
local daily = per == 0
if daily then
  per = DAY_MS - now_ms % DAY_MS
  suffix = ':' .. string.format('%d', (now_ms - now_ms % DAY_MS) / DAY_MS)
end

-- The day's count, or the instant at which the limit is full again: never further away than the
-- window, because the server's clock may have stepped back.
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
