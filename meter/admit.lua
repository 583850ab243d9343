-- Admits one call, or refuses it, in one round trip. Everything is evaluated first and mutated last; a charge and its usage line
-- are written together, so no crash can separate them. Time is the server's.
--
-- KEYS  1 {u}:cfg:<account>   projection of the account
--       2 {u}:key:<key>       projection of the key
--       3 {u}:win:<account>   rate window: bucket number, count in it, count in the one before, length
--       (day, period and bucket keys carry the same hash tag; their names depend on the server's time)
-- ARGV  1 mode      charge  a call that will be relayed
--                   hit     a call answered from the cache: 0 units, counts in the rate window
--                   window  a request that is wrong in itself: counts in the rate window only
--       2 account id      3 key id
--       4 units           thousandths, not negative
--       5 outcome         window mode: the reason's name; otherwise unused
--       6 line            <key>|<agent>|<chain>|<service>|<method>|<class>|<tier>
--       7 nonce           random; becomes the generation of a bucket that this call opens
--
-- Returns one string
--       0|<period>|<source>|<day>                        admitted; what a refund needs to know
--       1|<reason>|<limit>|<remaining>|<reset ms>|<also> refused; also = other fences that would refuse, comma-separated
--       2|<what>,…                                       a projection or counter is missing (cfg, key, day, period): load, repeat
--       3                                                the key moved to another account: load the identity, repeat
-- A missing or moved call has changed nothing. A refused one has written its usage line; it counts in the window too, unless the key,
-- the account or the window itself refused.
--
-- Numbers are doubles, exact up to 2^53. They become text through %d alone: Lua's own conversion keeps 14 digits.

local SLOT_SECONDS = 10
local DAY_MS = 86400000
local call, format = redis.call, string.format

local mode, account, key_id, units = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local time = call('TIME')
local seconds = tonumber(time[1])
local now_ms = seconds * 1000 + math.floor(tonumber(time[2]) / 1000)

-- Evaluate: what is known of the account and the key.
-- cfg: status, window limit, window ms, period, period end ms, quota
local cfg = call('HMGET', KEYS[1], 'st', 'rl', 'rw', 'p', 'pe', 'q')
local key = call('HMGET', KEYS[2], 'st', 'dy')
if key[1] == 'moved' then return '3' end
if not cfg[1] or not key[1] then
  return '2|' .. (cfg[1] and '' or 'cfg,') .. (key[1] and '' or 'key,')
end

local tag = string.sub(KEYS[1], 1, 8)
local period, period_end, quota = cfg[4], tonumber(cfg[5]), tonumber(cfg[6])
if now_ms >= period_end then
  local following = call('HMGET', KEYS[1], 'np', 'ne', 'nq')
  period, period_end, quota = following[1], tonumber(following[2]), tonumber(following[3])
  if now_ms >= period_end then return '2|cfg,' end
end

-- The fences, in the order in which they refuse; a further fence joins as one more entry: reason, what is missing without its
-- counter, limit, ms until it opens again. Their counters are read in one command.
local day, fences, names = '', nil, nil
local daily = tonumber(key[2])
if mode == 'charge' and (daily >= 0 or quota >= 0) then
  fences, names = {}, {}
  if daily >= 0 then
    day = format('%d', (now_ms - now_ms % DAY_MS) / DAY_MS)
    fences[1] = { 'door_key_day', 'day', daily, DAY_MS - now_ms % DAY_MS }
    names[1] = tag .. 'day:' .. key_id .. ':' .. day
  end
  if quota >= 0 then
    fences[#fences + 1] = { 'plan_quota', 'period', quota, period_end - now_ms }
    names[#names + 1] = tag .. 'per:' .. account .. ':' .. period
  end
end

-- refused is the verdict: reason, limit, remaining, ms until it opens again, other fences that would refuse.
local refused, missing, blocking = nil, '', ''
if key[1] ~= 'active' then
  refused = { 'key_invalid', 0, 0, 0, '' }
elseif cfg[1] ~= 'active' then
  refused = { 'account_suspended', 0, 0, 0, '' }
elseif fences then
  -- What each fence says: the first that refuses speaks, and names the others.
  local values = call('MGET', unpack(names))
  for i, f in ipairs(fences) do
    local used = tonumber(values[i])
    if not used then
      missing = missing .. f[2] .. ','
    elseif used + units > f[3] then
      if refused then
        refused[5] = refused[5] .. (refused[5] == '' and '' or ',') .. f[1]
      else
        refused = { f[1], f[3], math.max(0, f[3] - used), f[4], '' }
      end
      blocking = blocking .. (blocking == '' and '' or ',') .. f[1]
    end
  end
end

-- The sliding window, estimated from two buckets: the share of the previous one that still lies inside it, and the current one.
-- State of another length, from before a change of plan, does not count.
local limit, per = tonumber(cfg[2]), tonumber(cfg[3])
local window, current, previous, same, counted, saved = 0, 0, 0, false, false, false
if limit >= 0 and key[1] == 'active' and cfg[1] == 'active' then
  local offset, stepped = now_ms % per, false
  window = (now_ms - offset) / per
  local state = call('HMGET', KEYS[3], 'w', 'c', 'p', 'l')
  if state[4] == cfg[3] then
    local w = tonumber(state[1])
    if w >= window then
      -- Later than now: the server's clock stepped back. What was counted stays counted, or the step would open the window again;
      -- it counts from here on, or the step would keep it closed.
      current, previous, same, stepped = tonumber(state[2]), tonumber(state[3]), w == window, w > window
    elseif w == window - 1 then
      previous = tonumber(state[2])
    end
  end
  counted = previous * (1 - offset / per) + current + 1 <= limit
  saved = stepped and not counted
  if not counted then
    local wait
    if limit < 1 then
      wait = per
    elseif current + 1 > limit then
      wait = per - offset + per * math.max(0, 1 - (limit - 1) / current)
    else
      wait = per * (1 - (limit - 1 - current) / previous) - offset
    end
    refused, missing = { 'rate_window', limit, 0, math.max(1, wait), blocking }, ''
  end
end
if missing ~= '' then return '2|' .. missing end

-- Mutate: the window, the counters of what is charged, the usage line.
if counted and same then
  call('HINCRBY', KEYS[3], 'c', 1)
elseif counted or saved then
  call('HSET', KEYS[3], 'w', format('%d', window), 'c', counted and current + 1 or current, 'p', previous, 'l', cfg[3])
  call('PEXPIRE', KEYS[3], 2 * per)
end

local outcome, source = mode, ''
if refused then
  outcome = refused[1]
elseif mode == 'window' then
  outcome = ARGV[5]
elseif mode == 'charge' then
  outcome, source = 'ok', 'plan'
  if names then
    for _, name in ipairs(names) do call('INCRBY', name, ARGV[4]) end
  end
end

-- Usage lines live in the bucket of the current slot; each counts its calls, and ends in what one of them weighs. The first write gives
-- the bucket its generation and lists it as dirty.
local slot = format('%d', seconds - seconds % SLOT_SECONDS)
local bucket = tag .. 'b:' .. slot .. ':' .. account
local field = period .. '|' .. outcome .. '|' .. source .. '|' .. ARGV[6] .. '|' .. (outcome == 'ok' and ARGV[4] or '0')
if call('HINCRBY', bucket, field, 1) == 1 and call('HSETNX', bucket, 'g', ARGV[7]) == 1 then
  call('ZADD', tag .. 'dirty', slot, slot .. ':' .. account)
end

if refused then return format('1|%s|%d|%d|%d|%s', refused[1], refused[2], refused[3], math.ceil(refused[4]), refused[5]) end
return '0|' .. period .. '|' .. source .. '|' .. day
