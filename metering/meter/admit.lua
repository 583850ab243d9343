-- Admits or refuses one call by its rate limits and quotas, in one round trip. It evaluates everything first and writes last; a
-- charge and its usage lines are written together, so no crash can separate them. Time is the
-- server's.
--
-- KEYS  1 {u}:cfg:<account>   projection of the account
--       2 {u}:key:<key>       projection of the key
--       3 {u}:win:<account>   rate window: w bucket number, c its count, p count of the bucket before, l length in ms
--       (counters and buckets carry the same hash tag; their names depend on the server's time)
-- ARGV  1 mode      charge  a call that will be relayed
--                   hit     a call answered from the cache: 0 units, counted in the rate window
--                   window  an invalid request: counted in the rate window only
--       2 account id   3 key id
--       4 units           thousandths, not negative
--       5 outcome         window mode: the reason's name; otherwise unused
--       6 line            <key>|<agent>|<chain>|<service>|<method>|<class>|<tier>
--       7 nonce           random; becomes the generation of a bucket that this call opens
--       8 service         as projections and counters name it, c:rpc
--       9 not after       ms since 1970 by the server's clock; a later call returns 5 and changes nothing, because its
--                         sender has given up by then
--      10 mark            field under which the charge is noted, so that one whose reply was lost can be found (refund.lua)
--
-- Returns one string
--       0|<period>|<sources>|<slot>[|<limit>|<left>|<ms>]
--                                                        admitted; what a refund must know. sources is "plan", or source=units,…
--                                                        With a rate window: its limit, how many requests it admits now, and how
--                                                        long until its current bucket ends
--       4|…                                              the same for a plan with premium supply
--       1|<reason>|<limit>|<remaining>|<reset ms>|<also>|<scope>
--                                                        refused; also = other fences that would refuse, as reason or
--                                                        reason:scope, comma-separated; scope = account or key, where both may have the fence
--       2|<period>|<ms since 1970>|<what>,…              a projection (cfg, key) or counter (see below) is missing: load it, retry.
--                                                        Counters are of that period and instant; both are empty for projections
--       3                                                the key moved to another account: load the identity, retry
--       5                                                too late
-- 2, 3 and 5 have changed nothing. A refusal has written its usage line, and counts in the window too, unless the key,
-- the account, the credential's expiry or the window itself refused.
--
-- Counters, each a sum over usage lines. One that no fence in force asks for is not kept (push.lua):
--       {u}:ap:<account>:<period>   u  units drawn from the plan (plan)      c:<service>  units of a capped service (service)
--       {u}:kp:<key>:<period>       u  units of a capped key (key_units)     c:<service>  units of a capped service (key_service)
--       {u}:day:<key>:<day>         units of the UTC day (day)
--       {u}:pk:<account>            <pack> units drawn from it (pack:<pack>)
--
-- Marks of charges, each overwritten by the next charge of its worker:
--       {u}:ran:<10,000 s since 1970>   <mark>  <nonce>|<period>|<slot>|<sources>
--
-- Numbers are doubles, exact up to 2^53. Only %d turns them into text: Lua's own conversion keeps
-- 14 digits, and redis.call's conversion of an argument is slow.

local SLOT_SECONDS = 10
local DAY_MS = 86400000
local MARKS_SECONDS = 30000
local call, format = redis.call, string.format

local mode, account, key_id, units, service = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[8]
local time = call('TIME')
local seconds = tonumber(time[1])
local now_ms = seconds * 1000 + math.floor(tonumber(time[2]) / 1000)
if now_ms > tonumber(ARGV[9]) then return '5' end

-- Evaluate: read the projections. cfg: status, window limit, window ms, period, period end ms,
-- quota, plain; key: status, day's allowance, plain. plain is 1, or 2 with premium supply; 3 and 4
-- when there are further fences. Older programs read an account's as pl, and have windows of a second.
local cfg = call('HMGET', KEYS[1], 'st', 'rl', 'rw', 'p', 'pe', 'q', 'pw')
local key = call('HMGET', KEYS[2], 'st', 'dy', 'pl')
if key[1] == 'moved' then return '3' end
if not cfg[7] or not key[3] then -- every projection has its plain, except those of an older version
  return '2|||' .. (cfg[7] and '' or 'cfg,') .. (key[3] and '' or 'key,')
end

local tag = string.sub(KEYS[1], 1, 8)
local period, period_end, quota, ceiling, turned = cfg[4], tonumber(cfg[5]), tonumber(cfg[6]), nil, nil
if now_ms >= period_end then
  local following = call('HMGET', KEYS[1], 'np', 'ne', 'nq', 'npl', 'nrl', 'nrw')
  period, period_end, quota = following[1], tonumber(following[2]), tonumber(following[3])
  if now_ms >= period_end then return '2|||cfg,' end
  if following[4] then -- another plan takes over with the period: its figures have names that begin with n
    turned, cfg[7], cfg[2], cfg[3] = 'n', following[4], following[5], following[6]
  end
end

-- Most projections have none of the fences below, and plain says so: reading them all anyway takes a
-- sixth of the script's time. cfg_more: soft ceiling, soft limit, soft ms, data, services off, cap
-- of the service, packs. key_more: cap, services off, cap of the service, ms from which a
-- pay-per-call credential is refused, account of a key that may have moved.
local cfg_more, key_more = nil, nil
if (cfg[7] ~= '1' and cfg[7] ~= '2') or service == 'c:data' then
  if turned then
    cfg_more = call('HMGET', KEYS[1], 'nsc', 'nsl', 'nsw', 'nda', 'off', service, 'npk')
  else
    cfg_more = call('HMGET', KEYS[1], 'sc', 'sl', 'sw', 'da', 'off', service, 'pk')
  end
  ceiling = tonumber(cfg_more[1])
end
if key[3] == '3' then
  key_more = call('HMGET', KEYS[2], 'cap', 'off', service, 'xp', 'ac')
  -- accounts of one shard share this name: the projection is the new account's
  if key_more[5] and key_more[5] ~= account then return '3' end
end

-- refused is the verdict: reason, limit, remaining, ms until it opens again, scope. also lists the
-- other fences that would refuse.
local refused, missing, fences = nil, '', nil
local charge = mode == 'charge'
local account_cap, key_cap, key_service_cap, daily
local per_name, kp_name, day_name
local plan_part, draws = units, nil

if key[1] ~= 'active' then
  refused = { 'key_invalid', 0, 0, 0, '' }
elseif cfg[1] ~= 'active' then
  refused = { 'account_suspended', 0, 0, 0, '' }
elseif key_more and key_more[4] and now_ms >= tonumber(key_more[4]) then
  refused = { 'payment_required', 0, 0, 0, '' }
else
  -- The fences, in order of precedence (docs/decisions/0022): each one that refuses is an entry.
  fences = {}
  if mode ~= 'window' then
    local off, key_off = cfg_more and cfg_more[5], key_more and key_more[2]
    if off and string.find(off, service .. ',', 1, true) then fences[1] = { 'service_off', 0, 0, 0, 'account' } end
    if key_off and string.find(key_off, service .. ',', 1, true) then fences[#fences + 1] = { 'service_off', 0, 0, 0, 'key' } end
    if service == 'c:data' and not cfg_more[4] then fences[#fences + 1] = { 'plan_lacks_service', 0, 0, 0, '' } end
  end
  local said, plan_used = fences[1], nil
  if charge then
    daily = tonumber(key[2])
    if cfg_more then account_cap = tonumber(cfg_more[6]) end
    if key_more then key_cap, key_service_cap = tonumber(key_more[1]), tonumber(key_more[3]) end
  end
  if key_cap or key_service_cap then
    kp_name = tag .. 'kp:' .. key_id .. ':' .. period
    local used = call('HMGET', kp_name, 'u', service)
    if key_cap then
      local n = tonumber(used[1])
      if not n then
        missing = 'key_units,'
      elseif n + units > key_cap then
        fences[#fences + 1] = { 'key_budget', key_cap, math.max(0, key_cap - n), period_end - now_ms, 'key' }
      end
    end
    if key_service_cap then
      local n = tonumber(used[2])
      if not n then
        missing = missing .. 'key_service,'
      elseif n + units > key_service_cap then
        fences[#fences + 1] = { 'service_cap', key_service_cap, math.max(0, key_service_cap - n), period_end - now_ms, 'key' }
      end
    end
  end
  if ceiling or (charge and (quota or account_cap)) then
    per_name = tag .. 'ap:' .. account .. ':' .. period
    plan_used = tonumber(call('HGET', per_name, 'u'))
    if account_cap then
      local n = tonumber(call('HGET', per_name, service))
      if not n then
        missing = missing .. 'service,'
      elseif n + units > account_cap then
        fences[#fences + 1] = { 'service_cap', account_cap, math.max(0, account_cap - n), period_end - now_ms, 'account' }
      end
    end
    if (quota or ceiling) and not plan_used then missing = missing .. 'plan,' end
  end
  if daily then
    day_name = tag .. 'day:' .. key_id .. ':' .. format('%d', (now_ms - now_ms % DAY_MS) / DAY_MS)
    local n = tonumber(call('GET', day_name))
    if not n then
      missing = missing .. 'day,'
    elseif n + units > daily then
      fences[#fences + 1] = { 'door_key_day', daily, math.max(0, daily - n), DAY_MS - now_ms % DAY_MS, '' }
    end
  end
  if ceiling and plan_used and plan_used >= ceiling then
    cfg[2], cfg[3] = cfg_more[2], cfg_more[3] -- past the soft ceiling the soft window applies for the rest of the period
  end
  if charge and quota and plan_used and plan_used + units > quota then
    -- What the plan has left, then the packs by expiry: <id>:<units>:<expires ms>,…
    plan_part = math.max(0, quota - plan_used)
    local rest, left, whole, unknown = units - plan_part, plan_part, quota, false
    if cfg_more and cfg_more[7] then
      draws = {}
      for id, size, expires in string.gmatch(cfg_more[7], '([^:,]+):(%d+):(%d+)') do
        if rest == 0 then break end
        if tonumber(expires) > now_ms then
          local n = tonumber(call('HGET', tag .. 'pk:' .. account, id))
          if not n then
            missing, unknown = missing .. 'pack:' .. id .. ',', true
          else
            local holds = math.max(0, tonumber(size) - n)
            local take = math.min(holds, rest)
            left, rest, whole = left + holds, rest - take, whole + tonumber(size)
            if take > 0 then draws[#draws + 1] = { id, take } end
          end
        end
      end
    end
    if rest > 0 and not unknown then fences[#fences + 1] = { 'plan_quota', whole, left, period_end - now_ms, '' } end
  end
  -- A refusal that needs no counter does not wait for one, so fences whose counter is missing are
  -- not among those that also refuse. Only the slower window past a soft ceiling waits.
  if said and not ceiling then missing = '' end
end

-- The sliding window, estimated from two buckets: the share of the previous one that is still
-- inside it, plus the current one. State of another length, from before a change of plan, does not
-- count.
local also, first = '', 2
local limit, per = tonumber(cfg[2]), tonumber(cfg[3])
local window, current, previous, same, counted, saved = 0, 0, 0, false, false, false
local left, ends = nil, nil
if limit and fences and not (ceiling and missing ~= '') then
  local offset, stepped = now_ms % per, false
  window = (now_ms - offset) / per
  local state = call('HMGET', KEYS[3], 'w', 'c', 'p', 'l')
  if state[4] == cfg[3] then
    local w = tonumber(state[1])
    if w >= window then
      -- Later than now: the server's clock stepped back. What was counted is kept, or the step
      -- would open the window again. It counts as the current bucket, or the step would keep the
      -- window closed.
      current, previous, same, stepped = tonumber(state[2]), tonumber(state[3]), w == window, w > window
    elseif w == window - 1 then
      previous = tonumber(state[2])
    end
  end
  left, ends = limit - (previous * (1 - offset / per) + current + 1), per - offset
  counted = left >= 0
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
    refused, missing, first = { 'rate_window', limit, 0, math.max(1, wait), '' }, '', 1
  end
end
if missing ~= '' then return format('2|%s|%d|', period, now_ms) .. missing end
if fences then
  refused = refused or fences[1]
  for i = first, #fences do
    local f = fences[i]
    also = also .. (also == '' and '' or ',') .. f[1] .. (f[5] == '' and '' or ':' .. f[5])
  end
end

-- Write: the usage lines, the counters of what is charged, the window. The lines come first: while
-- Redis Cluster moves the shard, a key that is not here cannot be made, and a new bucket that fails
-- must not leave a charge behind. The counters were read above, so they are here.
local charged, outcome, source, each = charge and not refused, mode, '', '0'
if refused then
  outcome = refused[1]
elseif mode == 'window' then
  outcome = ARGV[5]
elseif charge then
  outcome, source, each = 'ok', 'plan', ARGV[4]
end

-- Usage lines are in the bucket of the current slot. The value of a line counts its calls; its last
-- word is what one of them weighs. The first write gives the bucket its generation and lists it as
-- dirty. What a call draws from further sources is a line that counts units only.
local slot = format('%d', seconds - seconds % SLOT_SECONDS)
local bucket = tag .. 'b:' .. slot .. ':' .. account
local further, lines
if charged and draws and draws[1] then
  each, further, lines = nil, '', {}
  if plan_part > 0 then
    each = format('%d', plan_part)
    further = 'plan=' .. each
  end
  for _, draw in ipairs(draws) do
    local from, part = 'pack:' .. draw[1], format('%d', draw[2])
    further = further .. (further == '' and '' or ',') .. from .. '=' .. part
    if each then
      lines[#lines + 1] = period .. '|ok|' .. from .. '|' .. ARGV[6] .. '|+' .. part
    else
      source, each = from, part
    end
  end
end
-- Before the lines, for the same reason. A mark without its charge does no harm: refund.lua asks
-- only for marks of lost calls, and a call that failed is not lost.
if charged then
  local marks = tag .. 'ran:' .. string.sub(slot, 1, -5)
  if call('HSET', marks, ARGV[10], ARGV[7] .. '|' .. period .. '|' .. slot .. '|' .. (further or source)) == 1 then
    call('EXPIRE', marks, MARKS_SECONDS)
  end
end
if lines then
  for _, line in ipairs(lines) do call('HINCRBY', bucket, line, '1') end
end
local field = period .. '|' .. outcome .. '|' .. source .. '|' .. ARGV[6] .. '|' .. each
if call('HINCRBY', bucket, field, '1') == 1 and call('HSETNX', bucket, 'g', ARGV[7]) == 1 then
  call('ZADD', tag .. 'dirty', slot, slot .. ':' .. account)
end

if charged then
  if kp_name then
    if key_cap then call('HINCRBY', kp_name, 'u', ARGV[4]) end
    if key_service_cap then call('HINCRBY', kp_name, service, ARGV[4]) end
  end
  if per_name then
    if plan_part > 0 and (quota or ceiling) then call('HINCRBY', per_name, 'u', format('%d', plan_part)) end
    if account_cap then call('HINCRBY', per_name, service, ARGV[4]) end
  end
  if day_name then call('INCRBY', day_name, ARGV[4]) end
  if further then
    for _, draw in ipairs(draws) do call('HINCRBY', tag .. 'pk:' .. account, draw[1], format('%d', draw[2])) end
  end
end

if counted and same then
  call('HINCRBY', KEYS[3], 'c', '1')
elseif counted or saved then
  call('HSET', KEYS[3], 'w', format('%d', window), 'c', counted and current + 1 or current, 'p', previous, 'l', cfg[3])
  call('PEXPIRE', KEYS[3], 2 * per)
end

if refused then
  return format('1|%s|%d|%d|%d|%s|%s', refused[1], refused[2], refused[3], math.ceil(refused[4]), also, refused[5])
end
local verdict = (cfg[7] == '1' or cfg[7] == '3') and '0|' or '4|'
if not left then return verdict .. period .. '|' .. (further or source) .. '|' .. slot end
return verdict .. period .. '|' .. (further or source) .. '|' .. slot .. '|' .. cfg[2] .. format('|%d|%d', left, ends) -- %d truncates
