-- Divides the rates of upstreams among the processes of the gateway. A rate is a token bucket that holds
-- one lease's worth of calls, of which processes hold tokens for the length of a lease. Tokens that processes hold
-- count as being in the bucket, so that no window of time has more calls than the rate and one full bucket.
--
-- KEYS  {board}:<chain>:rate:<upstream>, each a hash: level (tokens that nobody holds), at (microseconds, of that
--       level), and by process "held demand seen"
-- ARGV  1 process    its name
--       2 lease      microseconds
--       3 presence   microseconds for which a process that is not heard of counts as one
--       and for each key: rate (calls a second), held (tokens of the process, negative if it spent some in advance),
--       demand (calls a second that it was asked for), hungry (1 if it refused one)
--
-- Returns for each key: tokens that the process gets, negative for those that it gives back; processes

local IDLE = 0.05 -- share of the rate that is divided among all, so that a first call finds a token
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local process, lease, presence = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local reply = {}

for i, key in ipairs(KEYS) do
  local arg = 4 * i
  local rate, held = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1])
  local demand, hungry = tonumber(ARGV[arg + 2]), ARGV[arg + 3] == '1'
  local room = math.max(1, rate * lease / 1000000) -- of the bucket
  local level, at, out = 1, now, 0 -- a new bucket holds one token, because processes may hold those of a lost one
  local others, total = {}, demand
  local known = redis.call('HGETALL', key)
  for j = 1, #known, 2 do
    local field, value = known[j], known[j + 1]
    if field == 'level' then
      level = tonumber(value)
    elseif field == 'at' then
      at = math.min(now, tonumber(value)) -- this server's clock may have been set back
    else
      local h, d, seen = string.match(value, '^(%S+) (%S+) (%S+)$')
      local age = math.max(0, now - tonumber(seen))
      if age < lease then
        out = out + tonumber(h)
      end
      if age >= presence then
        redis.call('HDEL', key, field)
      elseif field ~= process then
        if age >= lease then
          d = 0
        end
        others[#others + 1] = { tonumber(d), age }
        total = total + tonumber(d)
      end
    end
  end
  local processes = #others + 1
  level = math.max(0, math.min(room - out, level + rate * (now - at) / 1000000))

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
  local tokens = target - held
  if tokens > 0 then
    tokens = math.max(0, math.min(tokens, math.floor(level) - math.floor(due)))
  end
  redis.call('HSET', key, 'level', string.format('%.6f', level - tokens), 'at', string.format('%.0f', now), process,
    string.format('%d %.6f %.0f', held + tokens, demand, now))
  redis.call('PEXPIRE', key, 86400000)
  reply[#reply + 1] = tokens
  reply[#reply + 1] = processes
end
return reply
