-- Seeds a counter that is missing from what PostgreSQL knows plus what is not flushed yet, never from zero.
--
-- KEYS  1 the counter        {u}:day:<key>:<day> or {u}:per:<account>:<period>
--       2 {u}:dirty   3 {u}:sealed   4 {u}:epoch
-- ARGV  1 epoch      of the shard, read before PostgreSQL was: a flush dropped buckets since when it differs
--       2 figure     thousandths of units that PostgreSQL knows
--       3 account id
--       4 kind       day or period
--       5 key id     kind day: only this key's lines
--       6 match      kind day: days since 1970; kind period: the period's start date
--       7 ttl ms
--       8… buckets of the account which the figure holds already, as <slot>:<account>:<generation>
--
-- Returns 1 when seeded, 0 when the counter was there, -1 when the epoch differs: read PostgreSQL again.

if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if (redis.call('GET', KEYS[4]) or '0') ~= ARGV[1] then return -1 end

local tag, account, by_day = string.sub(KEYS[2], 1, 8), ARGV[3], ARGV[4] == 'day'
local held = {}
for i = 8, #ARGV do held[ARGV[i]] = true end

local sum = tonumber(ARGV[2])
local function add(bucket, slot)
  if by_day and math.floor(tonumber(slot) / 86400) ~= tonumber(ARGV[6]) then return end
  local all = redis.call('HGETALL', bucket)
  for i = 1, #all, 2 do
    local period, key, each = string.match(all[i], '^([^|]*)|[^|]*|[^|]*|([^|]*)|.*|(%d+)$')
    if (by_day and key == ARGV[5]) or (not by_day and period == ARGV[6]) then sum = sum + tonumber(each) * tonumber(all[i + 1]) end
  end
end

for _, member in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local slot, owner = string.match(member, '^(%d+):(.+)$')
  if owner == account then add(tag .. 'b:' .. member, slot) end
end
for _, member in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  local slot, owner = string.match(member, '^(%d+):([^:]+):')
  if owner == account and not held[member] then add(tag .. 's:' .. member, slot) end
end

-- Below zero only when a charge was lost with its bucket and its refund was not.
redis.call('SET', KEYS[1], string.format('%d', math.max(0, sum)), 'PX', ARGV[7])
return 1
