-- Seals the buckets of a shard whose slot was over two seconds ago: a sealed bucket has another name, so nothing is added to it any more. A slot
-- that comes back after a step of the clock opens a new bucket with a generation of its own.
--
-- KEYS  1 {u}:dirty   2 {u}:sealed
-- ARGV  1 all    1 seals open slots as well (before a meter that keeps nothing is stopped)
--       2 limit  how many to seal and list at most
--
-- Returns { now (seconds), oldest open slot or -1, member, … } with member = <slot>:<account>:<generation>, oldest first.

local SLOT_SECONDS = 10
-- A replica that takes over may have the bucket still, open, and write into it what no ledger will let in a second time; unless the slot is
-- over by its clock as well. So clocks may be this far apart.
local DELAY_SECONDS = 2
local now = tonumber(redis.call('TIME')[1])
local last = ARGV[1] == '1' and '+inf' or tostring(now - SLOT_SECONDS - DELAY_SECONDS)
local tag = string.sub(KEYS[1], 1, 8)

for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', last, 'LIMIT', 0, ARGV[2])) do
  local bucket = tag .. 'b:' .. member
  local generation = redis.call('HGET', bucket, 'g')
  if generation then
    local sealed = member .. ':' .. generation
    redis.call('RENAME', bucket, tag .. 's:' .. sealed)
    redis.call('ZADD', KEYS[2], string.match(member, '^%d+'), sealed)
  end
  redis.call('ZREM', KEYS[1], member)
end

local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local reply = { now, oldest[2] and tonumber(oldest[2]) or -1 }
for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, tonumber(ARGV[2]) - 1)) do
  reply[#reply + 1] = member
end
return reply
