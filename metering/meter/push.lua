-- Puts a projection of an account or a key in force. Only a later epoch of the record replaces another, and within one only a higher version,
-- so an old load that arrives late never overwrites a newer change, and a record that was restored, whose versions begin lower again, replaces
-- what the lost one said. A projection without an epoch is of the first, 0. The one exception is time: the same version of an account replaces itself when its periods end
-- later, for they run out although nothing changed.
--
-- Only a load puts a projection where none is. It reads the record and pushes then, and a change in between ends its token (load.lua): what
-- it read is not put in force after Redis was wiped, or the projection forgotten, when nothing tells its version from a newer one. A change
-- finds what it replaces, or nothing, which admits nobody until it is loaded.
--
-- KEYS  1 {u}:cfg:<account> or {u}:key:<key>
--       2 {u}:ld:<account or key>   token of loads under way
--       3… counters that belong to the projection: those that it does not ask for go, because nobody counts in them any more
-- ARGV  1 version   2 end of the current period in ms, 0 for a key   3 token of the load, empty for a change
--       4 counters that it asks for, as ,u,c:rpc, and where the counters of KEYS differ in that, one list for each, with ; between
--       5 epoch   6… field, value, …
--
-- A projection that is not pushed for some days is forgotten, and loaded again with the next call.
--
-- Returns 1 when put in force, 0 when what is there is as new or newer, or a change finds nothing; -1 when the token has ended: load again.

local KEEP_SECONDS = 3 * 86400
if ARGV[3] == '' then
  redis.call('DEL', KEYS[2])
elseif redis.call('GET', KEYS[2]) ~= ARGV[3] then
  return -1
end
local there = redis.call('HMGET', KEYS[1], 'v', 'pe', 'pl', 'e')
if not there[3] then there = {} end -- an older program's, which admit.lua does not read
if not there[1] and ARGV[3] == '' then return 0 end
if there[1] then
  local epoch, held, given = tonumber(there[4] or '0'), tonumber(there[1]), tonumber(ARGV[1])
  if epoch > tonumber(ARGV[5]) then return 0 end
  if epoch == tonumber(ARGV[5]) and (held > given or (held == given and tonumber(there[2] or '0') >= tonumber(ARGV[2]))) then return 0 end
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'v', ARGV[1], unpack(ARGV, 6))
if ARGV[5] ~= '0' then redis.call('HSET', KEYS[1], 'e', ARGV[5]) end
redis.call('EXPIRE', KEYS[1], KEEP_SECONDS)
local lists = {}
for list in string.gmatch(ARGV[4], '[^;]+') do lists[#lists + 1] = list end
for i = 3, #KEYS do
  local asked = lists[i - 2] or lists[1]
  if redis.call('TYPE', KEYS[i]).ok == 'hash' then
    for _, field in ipairs(redis.call('HKEYS', KEYS[i])) do
      if not string.find(asked, ',' .. field .. ',', 1, true) then redis.call('HDEL', KEYS[i], field) end
    end
  elseif not string.find(asked, ',day,', 1, true) then
    redis.call('DEL', KEYS[i])
  end
end
return 1
