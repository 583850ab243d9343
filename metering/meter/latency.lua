-- Adds how long answered calls took to the open usage buckets of the current slot, for some
-- accounts of one shard. They are statistics: no charge depends on them. The client never retries,
-- so a lost reply counts at most once. Time is the server's.
--
-- KEYS  1 {u}:dirty
-- ARGV  1 nonce   as in admit.lua
--       2… pairs of an account id and its counts, "<line> <calls>" separated by blanks, where a line is
--          <key>|<chain>|<service>|<class>|<outcome>|<bucket of the histogram>
--
-- A count is the field "l|<line>" of a usage bucket. No usage line begins with "l|": it begins with a date.
-- Returns the slot.

local SLOT_SECONDS = 10
local call = redis.call

local seconds = tonumber(call('TIME')[1])
local slot = string.format('%d', seconds - seconds % SLOT_SECONDS)
local tag = string.sub(KEYS[1], 1, 8)

for i = 2, #ARGV, 2 do
  local account = ARGV[i]
  local bucket = tag .. 'b:' .. slot .. ':' .. account
  -- The first write gives the bucket its generation and lists it as dirty, as in admit.lua.
  if call('HSETNX', bucket, 'g', ARGV[1]) == 1 then call('ZADD', KEYS[1], slot, slot .. ':' .. account) end
  for line, calls in string.gmatch(ARGV[i + 1], '(%S+) (%d+)') do
    call('HINCRBY', bucket, 'l|' .. line, calls)
  end
end
return slot
