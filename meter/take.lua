-- Takes one from a bounded count of a UTC day, for limits that belong to no account (new keys of a network address).
--
-- KEYS  1 the count's name, without the day
-- ARGV  1 limit
--
-- Returns { 1 when taken or 0, left, ms until the day ends, name of the day's count (to give back) }

local DAY_MS = 86400000
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local left_ms = DAY_MS - now_ms % DAY_MS
local name = KEYS[1] .. ':' .. string.format('%d', (now_ms - now_ms % DAY_MS) / DAY_MS)
local used = tonumber(redis.call('GET', name) or '0')
if used >= tonumber(ARGV[1]) then return { 0, 0, left_ms, name } end
redis.call('SET', name, used + 1, 'PX', left_ms + DAY_MS)
return { 1, tonumber(ARGV[1]) - used - 1, left_ms, name }
