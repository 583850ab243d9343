-- Admits one call, or refuses it, in one round trip. Everything is evaluated first and mutated last; a charge and its usage line
-- are written together, so no crash can separate them. Time is the server's.
--
-- KEYS  1 {u}:cfg:<account>   projection of the account
--       2 {u}:key:<key>       projection of the key
--       3 {u}:win:<account>   rate window
--       (day, period and bucket keys carry the same hash tag; their names depend on the server's time)
-- ARGV  1 mode      charge  a call that will be relayed
--                   hit     a call answered from the cache: 0 units, counts in the rate window
--                   window  a request that is wrong in itself: counts in the rate window only
--       2 account id      3 key id
--       4 units           thousandths
--       5 outcome         window mode: the reason's name; otherwise unused
--       6 line            <key>|<agent>|<chain>|<service>|<method>|<class>|<tier>
--       7 nonce           random; becomes the generation of a bucket that this call opens
--
-- Returns one string
--       0|<period>|<source>|<day>                        admitted; what a refund needs to know
--       1|<reason>|<limit>|<remaining>|<reset ms>|<also> refused; also = other fences that would refuse, comma-separated
--       2|<what>,…                                       a projection or counter is missing (cfg, key, day, period): load, repeat
--       3                                                the key moved to another account: load the identity, repeat
-- A missing or moved call has changed nothing. A refused one has written its usage line; when it was not the window that
-- refused, it counts in the window too.

local SLOT_SECONDS = 10
local DAY_MS = 86400000

local mode, account, key_id, units = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local tag = string.sub(KEYS[1], 1, 8)
local time = redis.call('TIME')
local seconds = tonumber(time[1])
local now_ms = seconds * 1000 + math.floor(tonumber(time[2]) / 1000)

-- Evaluate: what is known of the account and the key.
-- cfg: status, window limit, window ms, period, period end ms, quota, next period, next end ms, next quota
local cfg = redis.call('HMGET', KEYS[1], 'st', 'rl', 'rw', 'p', 'pe', 'q', 'np', 'ne', 'nq')
local key = redis.call('HMGET', KEYS[2], 'st', 'dy')
if not cfg[1] or not key[1] then
  return '2|' .. (cfg[1] and '' or 'cfg,') .. (key[1] and '' or 'key,')
end
if key[1] == 'moved' then return '3' end

local period, period_end, quota = cfg[4], tonumber(cfg[5]), tonumber(cfg[6])
if now_ms >= period_end then
  period, period_end, quota = cfg[7], tonumber(cfg[8]), tonumber(cfg[9])
  if now_ms >= period_end then return '2|cfg,' end
end

-- Usage lines live in the bucket of the current slot. The first write gives the bucket its generation and lists it as dirty.
local function record(outcome, source, n, u)
  local slot = seconds - seconds % SLOT_SECONDS
  local member = slot .. ':' .. account
  local bucket = tag .. 'b:' .. member
  local field = period .. '|' .. outcome .. '|' .. source .. '|' .. ARGV[6]
  if redis.call('HINCRBY', bucket, field .. '|n', n) == n then
    if redis.call('HSETNX', bucket, 'g', ARGV[7]) == 1 then
      redis.call('ZADD', tag .. 'dirty', slot, member)
    end
  end
  if u ~= 0 then redis.call('HINCRBY', bucket, field .. '|u', u) end
end

local function refuse(reason, limit, remaining, reset_ms, also)
  record(reason, '', 1, 0)
  return table.concat({ '1', reason, limit, remaining, math.ceil(reset_ms), also or '' }, '|')
end

if key[1] ~= 'active' then return refuse('key_invalid', 0, 0, 0) end
if cfg[1] ~= 'active' then return refuse('account_suspended', 0, 0, 0) end

-- The sliding window, estimated from two buckets: the share of the previous one that still lies inside it, and the current one.
local limit, per = tonumber(cfg[2]), tonumber(cfg[3])
local window, current, previous
if limit >= 0 then
  local offset = now_ms % per
  window, current, previous = (now_ms - offset) / per, 0, 0
  local state = redis.call('GET', KEYS[3])
  if state then
    local w, c, p = string.match(state, '^(%d+):(%d+):(%d+)$')
    w = tonumber(w)
    if w == window then
      current, previous = tonumber(c), tonumber(p)
    elseif w == window - 1 then
      previous = tonumber(c)
    elseif w > window then
      -- The server's clock stepped back: hold on to the later bucket, or the step would open the window again.
      window, current, previous = w, tonumber(c), tonumber(p)
      offset = 0
    end
  end
  local estimate = previous * (1 - offset / per) + current
  if estimate + 1 > limit then
    local wait
    if current + 1 > limit then
      wait = per - offset + per * math.max(0, 1 - (limit - 1) / current)
    else
      wait = per * (1 - (limit - 1 - current) / previous) - offset
    end
    return refuse('rate_window', limit, 0, math.max(1, wait))
  end
end

local function count_in_window()
  if limit >= 0 then
    redis.call('SET', KEYS[3], string.format('%d:%d:%d', window, current + 1, previous), 'PX', 2 * per)
  end
end

if mode == 'window' then
  count_in_window()
  record(ARGV[5], '', 1, 0)
  return '0|' .. period .. '||'
end
if mode == 'hit' then
  count_in_window()
  record('hit', '', 1, 0)
  return '0|' .. period .. '||'
end

-- The fences, in the order in which they refuse; a further fence joins as one more entry.
local day = ''
local fences, missing, refused = {}, '', nil
local daily = tonumber(key[2])
if daily >= 0 then
  day = tostring((now_ms - now_ms % DAY_MS) / DAY_MS)
  fences[#fences + 1] = { 'door_key_day', 'day', tag .. 'day:' .. key_id .. ':' .. day, daily, DAY_MS - now_ms % DAY_MS, 2 * DAY_MS }
end
if quota >= 0 then
  fences[#fences + 1] = { 'plan_quota', 'period', tag .. 'per:' .. account .. ':' .. period, quota, period_end - now_ms,
    period_end - now_ms + 40 * DAY_MS }
end
for _, f in ipairs(fences) do
  local used = tonumber(redis.call('GET', f[3]))
  if not used then
    missing = missing .. f[2] .. ','
  elseif used + units > f[4] then
    if not refused then
      refused = { f[1], f[4], math.max(0, f[4] - used), f[5], '' }
    else
      refused[5] = refused[5] .. (refused[5] == '' and '' or ',') .. f[1]
    end
  end
end
if missing ~= '' then return '2|' .. missing end

-- Mutate.
count_in_window()
if refused then return refuse(unpack(refused)) end
for _, f in ipairs(fences) do
  if redis.call('INCRBY', f[3], units) == units then redis.call('PEXPIRE', f[3], f[6]) end
end
record('ok', 'plan', 1, units)
return '0|' .. period .. '|plan|' .. day
