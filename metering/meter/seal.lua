-- Seals the buckets of a shard whose slot ended more than two seconds ago. A sealed bucket has
-- another name, so nothing is added to it any more. A slot that comes again after a step of the
-- clock opens a new bucket with a generation of its own.
--
-- KEYS  1 {u}:dirty   2 {u}:sealed
-- ARGV  1 all    1 seals open slots as well (before a meter without persistence is stopped)
--       2 limit  how many to seal, and how many to list, at most
--
-- Returns { now (seconds since 1970), oldest open slot or -1, member, … }, oldest first,
-- with member = <slot>:<account>:<generation>.

local SLOT_SECONDS = 10
-- After a failover the new master may still have a recorded bucket open. PostgreSQL would refuse
-- what is added to it as a duplicate, so the slot must be over by the new master's clock too: this
-- is the allowed clock skew.
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
