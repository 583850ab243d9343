-- Settles a charged call whose answer the service itself failed to give: a refund line in the current slot, for the charge's own
-- period, and its counters restored. Once per call: repeating it changes nothing.
--
-- KEYS  1 {u}:rf:<request>    guard
-- ARGV  1 account id   2 key id   3 units (thousandths, not negative)   4 period   5 source   6 day (days since 1970, or empty)
--       7 line         as in admit.lua
--       8 reason       name of the fault that the client was answered with
--       9 nonce        as in admit.lua
--
-- Returns 1 when refunded now, 0 when it was before.

local SLOT_SECONDS = 10
local GUARD_SECONDS = 300 -- long after the last repeat, soon enough for an outage not to fill the memory
if not redis.call('SET', KEYS[1], '1', 'NX', 'EX', GUARD_SECONDS) then return 0 end

local account, units, period = ARGV[1], tonumber(ARGV[3]), ARGV[4]
local tag = string.sub(KEYS[1], 1, 8)
-- Never below zero: a counter that was lost and seeded anew may not know the charge, and then owes nothing.
local function restore(counter)
  local used = tonumber(redis.call('GET', counter))
  if used then redis.call('DECRBY', counter, string.format('%d', math.max(0, math.min(units, used)))) end
end
if ARGV[6] ~= '' then restore(tag .. 'day:' .. ARGV[2] .. ':' .. ARGV[6]) end
restore(tag .. 'per:' .. account .. ':' .. period)

local seconds = tonumber(redis.call('TIME')[1])
local slot = seconds - seconds % SLOT_SECONDS
-- A refund after midnight belongs to the day of its charge: it goes into that day's last slot, under a generation of its own.
if ARGV[6] ~= '' then slot = math.min(slot, (tonumber(ARGV[6]) + 1) * 86400 - SLOT_SECONDS) end
slot = string.format('%d', slot)
local bucket = tag .. 'b:' .. slot .. ':' .. account
if redis.call('HSETNX', bucket, 'g', ARGV[9]) == 1 then
  redis.call('ZADD', tag .. 'dirty', slot, slot .. ':' .. account)
end
redis.call('HINCRBY', bucket, period .. '|refund|' .. ARGV[5] .. '|' .. ARGV[7] .. '|' .. ARGV[3], -1)
redis.call('HINCRBY', bucket, period .. '|' .. ARGV[8] .. '||' .. ARGV[7] .. '|0', 1)
return 1
