-- Divides the rates of upstreams among the processes of the gateway. A rate is a token bucket that holds
-- one lease's worth of calls, of which processes hold tokens for the length of a lease. Tokens that processes hold
-- count as being in the bucket, so that no window of time has more calls than the rate and one full bucket.
--
-- The rate in force is the declared one, or a lower one that the provider's refusals led to. Without a declared rate,
-- refusals make one, which is forgotten when they end.
--
-- KEYS  {board}:<chain>:rate:<upstream>, each a hash: level (tokens that nobody holds), at (time of that level), rate (in
--       force, if lowered), lowered, hold, closed (times; the last is when the provider said that its plan is used up, 0
--       if it is not), and by process "held demand seen"; times are microseconds
-- ARGV  1 lease      microseconds
--       2 presence   microseconds for which a process that is not heard of counts as one
--       and for each key: process (its name), rate (declared calls a second, 0 for none), held (tokens of the process, negative if it spent
--       some in advance), demand (calls a second that it was asked for), hungry (1 if it refused one), refused
--       (milliseconds that the provider asked to wait when it refused one for its rate, -1 if it refused none, -2 if it
--       said that the plan is used up), answered (1 if it answered one)
--
-- Returns for each key: tokens that the process gets, negative for those that it gives back; processes; rate in force
--         in thousandths, 0 for none; 1 while the provider's plan is used up

local WINDOW = 1000000 -- microseconds in which refusals lower a rate once
local DECREASE = 0.7 -- what they leave of it
local FLOOR = 0.05 -- of the declared rate, below which it is not lowered; one call a second without one
local QUIET = 5000000 -- microseconds without a refusal after which answers raise it
local INCREASE = 0.005 -- by so much of the declared rate a second
local GROWTH = 0.03 -- without a declared rate, by so much of itself a second: few calls may have come when it was made
local FORGET = 600000000 -- microseconds without a refusal after which a rate that was not declared is forgotten
local LONGEST = 300000000 -- microseconds that a provider can ask to wait
local TRIAL = 60000000 -- microseconds between two calls to a provider whose plan is used up
local IDLE = 0.05 -- share of the rate that is divided among all, so that a first call finds a token
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local lease, presence = tonumber(ARGV[1]), tonumber(ARGV[2])
local reply = {}

for i, key in ipairs(KEYS) do
  local arg = 7 * i - 3
  local process = ARGV[arg - 1]
  local declared, held, demand = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
  local hungry, refused, answered = ARGV[arg + 3] == '1', tonumber(ARGV[arg + 4]), ARGV[arg + 5] == '1'
  local state = { level = 1, at = now, rate = declared, lowered = 0, hold = 0, closed = 0 }
  local holders = {}
  local known = redis.call('HGETALL', key)
  for j = 1, #known, 2 do
    if state[known[j]] then
      state[known[j]] = tonumber(known[j + 1])
    else
      holders[known[j]] = known[j + 1]
    end
  end
  for _, time in ipairs({ 'at', 'lowered', 'closed' }) do
    state[time] = math.min(now, state[time]) -- this server's clock may have been set back
  end
  if state.hold > now + LONGEST then
    state.hold = 0
  end

  local out, others, total = 0, {}, demand
  for name, value in pairs(holders) do
    local h, d, seen = string.match(value, '^(%S+) (%S+) (%S+)$')
    local age = math.max(0, now - tonumber(seen))
    if tonumber(seen) - now > presence then -- this server's clock was set back
      age = presence
    end
    if age < lease then
      out = out + tonumber(h)
    end
    if age >= presence then
      redis.call('HDEL', key, name)
    elseif name ~= process then
      if age >= lease and state.rate > 0 then
        d = 0
      end
      others[#others + 1] = { tonumber(d), age }
      total = total + tonumber(d)
    end
  end
  local processes = #others + 1

  local lower = declared > 0 and state.rate < declared or declared == 0 and state.rate > 0
  if refused == -2 then
    state.closed, state.hold = now, now + TRIAL
  elseif answered and state.closed > 0 and now - state.closed >= QUIET then
    state.closed, state.hold = 0, 0
  end
  if refused >= 0 then
    state.hold = math.max(state.hold, now + math.min(1000 * refused, LONGEST))
    if now - state.lowered >= WINDOW then
      local floor = declared > 0 and declared * FLOOR or 1
      local came = state.rate > 0 and math.min(state.rate, total) or total
      state.rate = math.max(floor, came * DECREASE)
      state.lowered, lower = now, true
    end
  elseif declared == 0 and now - state.lowered >= FORGET then
    state.rate, lower = 0, false
  elseif lower and answered and now - state.lowered >= QUIET then
    local step = declared > 0 and declared * INCREASE or state.rate * GROWTH
    state.rate = state.rate + step * (now - state.at) / 1000000
  end
  if declared > 0 and state.rate >= declared then
    state.rate, lower = declared, false
  end

  local rate = state.rate
  local room = math.max(1, rate * lease / 1000000) -- of the bucket
  local level = math.max(0, math.min(room - out, state.level + rate * (now - state.at) / 1000000))

  -- what the others are due since they were here last
  local idle = IDLE * rate / processes
  total = total + idle * processes
  local due = 0
  for _, other in ipairs(others) do
    due = due + math.min(other[1], rate * other[1] / total) * math.min(other[2], lease) / 1000000
  end

  local target = math.floor(room * (demand + idle) / total + 0.5)
  if target < 1 and (hungry or held > 0 and 2 * (demand + idle) * processes >= total) then
    target = 1 -- of a small rate, the only token stays with one that is not asked much less than the others
  end
  if state.closed > 0 and now >= state.hold and hungry then
    target, level, due, state.hold = held + 1, 1, 0, now + TRIAL
  elseif now < state.hold or rate == 0 or state.closed > 0 then
    target = 0
  end
  local tokens = target - held
  if tokens > 0 then
    tokens = math.max(0, math.min(tokens, math.floor(level) - math.floor(due)))
  end
  redis.call('HSET', key, 'level', string.format('%.6f', level - tokens), 'at', string.format('%.0f', now), process,
    string.format('%d %.6f %.0f', held + tokens, demand, now), 'lowered', string.format('%.0f', state.lowered), 'hold',
    string.format('%.0f', state.hold), 'closed', string.format('%.0f', state.closed))
  if lower then
    redis.call('HSET', key, 'rate', string.format('%.6f', rate))
  else
    redis.call('HDEL', key, 'rate')
  end
  redis.call('PEXPIRE', key, 86400000)
  reply[#reply + 1] = tokens
  reply[#reply + 1] = processes
  reply[#reply + 1] = math.floor(rate * 1000 + 0.5)
  reply[#reply + 1] = state.closed > 0 and 1 or 0
end
return reply
