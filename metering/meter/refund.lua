-- Refunds a charged call that the service itself failed to answer: it writes refund lines in the
-- current slot, for the charge's own period and sources, and restores its counters. It is
-- idempotent per request and index.
--
-- KEYS  1 {u}:rf:<request>:<index>    guard
-- ARGV  1 account id   2 key id   3 units (thousandths, not negative)   4 period   5 sources   6 slot
--       7 line         as in admit.lua; period, sources and slot as in its reply
--       8 reason       name of the fault that the client was answered with
--       9 nonce        as in admit.lua
--      10 service      c:rpc
--      only for a call whose reply was lost, which may have been charged (4 to 6 are then ignored):
--      11 mark         of admit.lua
--      12 nonce        of the call
--      13 not after    of the call
--
-- Returns 1 when refunded now, 0 when it was refunded before or nothing was charged; for a lost call also
--         2 when it may still run: retry later
--         3 when it is too long ago to be known

local SLOT_SECONDS = 10
local DAY_SECONDS = 86400
local GUARD_SECONDS = 30000 -- as long as a failed refund is retried; Refund shortens it once the reply has come
local MARKS_STEP = 10000 -- seconds of marks under one name
local MARKS_STEPS = 3 -- names whose marks are all still there: admit.lua keeps each for 30,000 s from its first mark
local account, key, units, period, service = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[10]
local sources, charged_in = ARGV[5], ARGV[6]
local tag = string.sub(KEYS[1], 1, 8)
local time = redis.call('TIME')
local seconds = tonumber(time[1])

if ARGV[11] == '' then
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
  if seconds - tonumber(charged_in) > GUARD_SECONDS then return 3 end -- its guard may have expired
elseif ARGV[11] then
  if seconds * 1000 + math.floor(tonumber(time[2]) / 1000) <= tonumber(ARGV[13]) then return 2 end
  local newest, nonce = math.floor(seconds / MARKS_STEP), nil
  for step = newest, newest - MARKS_STEPS + 1, -1 do
    local marks = tag .. 'ran:' .. string.format('%d', step)
    local mark = redis.call('HGET', marks, ARGV[11])
    if mark then nonce, period, charged_in, sources = string.match(mark, '^([^|]*)|([^|]*)|([^|]*)|(.*)$') end
    if nonce == ARGV[12] then
      redis.call('HDEL', marks, ARGV[11])
      break
    end
  end
  if nonce ~= ARGV[12] then
    -- It may have run up to a second before its deadline.
    local ran = math.floor((tonumber(ARGV[13]) / 1000 - 1) / MARKS_STEP)
    return ran > newest - MARKS_STEPS and 0 or 3
  end
end

local day = math.floor(tonumber(charged_in) / DAY_SECONDS)
if not redis.call('SET', KEYS[1], '1', 'NX', 'EX', GUARD_SECONDS) then return 0 end

-- Never below zero: a counter that was lost and seeded again may not include the charge. A counter
-- that is not kept stays missing.
local function restore(counter, field, part)
  local used = tonumber(redis.call('HGET', counter, field))
  if used then redis.call('HINCRBY', counter, field, string.format('%d', -math.max(0, math.min(part, used)))) end
end
local day_name = tag .. 'day:' .. key .. ':' .. string.format('%d', day)
local day_used = tonumber(redis.call('GET', day_name))
if day_used then redis.call('DECRBY', day_name, string.format('%d', math.max(0, math.min(units, day_used)))) end
restore(tag .. 'ap:' .. account .. ':' .. period, service, units)
restore(tag .. 'kp:' .. key .. ':' .. period, 'u', units)
restore(tag .. 'kp:' .. key .. ':' .. period, service, units)

-- A refund after midnight belongs to the day of its charge: it goes into that day's last slot,
-- under a generation of its own.
local slot = string.format('%d', math.min(seconds - seconds % SLOT_SECONDS, (day + 1) * DAY_SECONDS - SLOT_SECONDS))
local bucket = tag .. 'b:' .. slot .. ':' .. account
if redis.call('HSETNX', bucket, 'g', ARGV[9]) == 1 then
  redis.call('ZADD', tag .. 'dirty', slot, slot .. ':' .. account)
end

-- Each source gets its own part back; the first line also takes back the call.
if sources == 'plan' then sources = 'plan=' .. ARGV[3] end
local form = '|'
for source, part in string.gmatch(sources, '([^=,]+)=(%d+)') do
  local pack = string.match(source, '^pack:(.+)$')
  if pack then
    restore(tag .. 'pk:' .. account, pack, tonumber(part))
  else
    restore(tag .. 'ap:' .. account .. ':' .. period, 'u', tonumber(part))
  end
  redis.call('HINCRBY', bucket, period .. '|refund|' .. source .. '|' .. ARGV[7] .. form .. part, -1)
  form = '|+'
end
redis.call('HINCRBY', bucket, period .. '|' .. ARGV[8] .. '||' .. ARGV[7] .. '|0', 1)
return 1
