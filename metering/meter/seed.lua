-- Seeds missing counters with what PostgreSQL knows plus what is not flushed yet, never from zero.
-- Or, for an audit, returns what they should be and changes nothing.
--
-- KEYS  1 {u}:cfg:<account>   2 {u}:key:<key>   3 {u}:dirty   4 {u}:sealed   5 {u}:epoch
--       6… the counters, one for each description in ARGV
-- ARGV  1 epoch      of the shard, read before PostgreSQL: if it differs now, a flush has dropped buckets since
--       2 account id
--       3 version of the account's projection, 4 of the key's, under which these counters were chosen; empty for any
--       5 audit      1 to return what the counters should be
--       6 n          number of counters, then 8 arguments for each:
--           field, empty for a plain string      thousandths of units that PostgreSQL knows      ttl ms
--           day since 1970      period      source      key      service      whose lines count; empty for all
--       … buckets of the account that the figures include already, as <slot>:<account>:<generation>
--
-- Returns { 1 } when every counter is there now, { 0 } when the epoch or a version differs: read
-- again. For an audit { 1, 1 when it is kept or 0, value, what it should be, … }; a value that is
-- no number is returned as -1.

local SLOT_SECONDS = 10
local call, format = redis.call, string.format
local epoch = call('GET', KEYS[5])
local versions = { call('HGET', KEYS[1], 'v') or '', call('HGET', KEYS[2], 'v') or '' }
if epoch ~= ARGV[1] then return { 0 } end
if (ARGV[3] ~= '' and versions[1] ~= ARGV[3]) or (ARGV[4] ~= '' and versions[2] ~= ARGV[4]) then return { 0 } end

local tag, account, audit, n = string.sub(KEYS[3], 1, 8), ARGV[2], ARGV[5] == '1', tonumber(ARGV[6])
local counters = {}
for i = 1, n do
  local at = 6 + (i - 1) * 8
  counters[i] = {
    name = KEYS[5 + i], field = ARGV[at + 1], sum = tonumber(ARGV[at + 2]), ttl = ARGV[at + 3],
    day = tonumber(ARGV[at + 4]), period = ARGV[at + 5], source = ARGV[at + 6], key = ARGV[at + 7], service = ARGV[at + 8],
  }
end
local held = {}
for i = 6 + n * 8 + 1, #ARGV do held[ARGV[i]] = true end

-- The words of a line: period, outcome, source, key, agent, chain, service, method, class, tier,
-- units of one call.
local LINE = '^([^|]*)|[^|]*|([^|]*)|([^|]*)|[^|]*|[^|]*|([^|]*)|[^|]*|[^|]*|[^|]*|%+?(%d+)$'
local function add(bucket, slot)
  local day = math.floor(tonumber(slot) / 86400)
  local all = call('HGETALL', bucket)
  for i = 1, #all, 2 do
    local period, source, key, service, each = string.match(all[i], LINE)
    if each and each ~= '0' then
      local units = tonumber(each) * tonumber(all[i + 1])
      for _, c in ipairs(counters) do
        if (not c.day or c.day == day) and (c.period == '' or c.period == period) and (c.source == '' or c.source == source)
          and (c.key == '' or c.key == key) and (c.service == '' or c.service == service) then
          c.sum = c.sum + units
        end
      end
    end
  end
end

-- The account's open buckets, by name: the dirty list holds those of all accounts of the shard.
-- After a failover a bucket that is recorded already may still be open.
local function add_open(slot)
  local member = format('%d:%s', slot, account)
  local generation = call('HGET', tag .. 'b:' .. member, 'g')
  if generation and not held[member .. ':' .. generation] then add(tag .. 'b:' .. member, slot) end
end
local oldest, newest = call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2], call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
if oldest and (newest - oldest) / SLOT_SECONDS <= call('ZCARD', KEYS[3]) then
  for slot = tonumber(oldest), tonumber(newest), SLOT_SECONDS do add_open(slot) end
elseif oldest then -- few buckets, far apart
  for _, member in ipairs(call('ZRANGE', KEYS[3], 0, -1)) do
    local slot, owner = string.match(member, '^(%d+):(.+)$')
    if owner == account then add_open(tonumber(slot)) end
  end
end
for _, member in ipairs(call('ZRANGE', KEYS[4], 0, -1)) do
  local slot, owner = string.match(member, '^(%d+):([^:]+):')
  if owner == account and not held[member] then add(tag .. 's:' .. member, slot) end
end

local reply = { 1 }
for _, c in ipairs(counters) do
  local value
  if c.field == '' then value = call('GET', c.name) else value = call('HGET', c.name, c.field) end
  -- Below zero only when a charge was lost with its bucket and its refund was not.
  local should = format('%d', math.max(0, c.sum))
  if audit then
    reply[#reply + 1] = value and 1 or 0
    reply[#reply + 1] = value and tonumber(value) or -1
    reply[#reply + 1] = tonumber(should)
  elseif not value then
    if c.field == '' then call('SET', c.name, should) else call('HSET', c.name, c.field, should) end
    if call('PTTL', c.name) < tonumber(c.ttl) then call('PEXPIRE', c.name, c.ttl) end
  end
end
return reply
