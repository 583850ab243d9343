-- Puts a projection of an account or a key in force. It replaces one of an earlier epoch of the
-- record, and within an epoch one of a lower version. So an old load that arrives late never
-- overwrites a newer change, and a restored record, whose versions start lower again, replaces what
-- the lost one had put there. A projection without an epoch is of epoch 0. The same version of an
-- account also replaces itself when its periods end later, because periods pass without a change.
--
-- Only a load puts a projection where there is none. It reads the record before it pushes, and a
-- change in between ends its token (load.lua). So a stale read is not put in force after Redis lost
-- its data or the projection was deleted, when no version is left to compare with. A change replaces a
-- projection; where there is none it does nothing, and nobody is admitted until the projection is
-- loaded.
--
-- KEYS  1 {u}:cfg:<account> or {u}:key:<key>
--       2 {u}:ld:<account or key>   token of running loads
--       3… counters that belong to the projection: those that it does not ask for are deleted, as nothing updates them
-- ARGV  1 version   2 end of the current period in ms since 1970, 0 for a key   3 token of the load, empty for a change
--       4 counters that it asks for, as ,u,c:rpc, — one list for all of KEYS 3…, or one for each with ; between
--       5 epoch   6… field, value, …; the first field is one that older versions' projections lack
--
-- A projection expires some days after its last push, and is loaded again with the next call.
--
-- Returns 1 when put in force; 0 when what is there is as new or newer, or when a change finds
-- nothing; and -1 when the token has ended: load again.

local KEEP_SECONDS = 3 * 86400
if ARGV[3] == '' then
  redis.call('DEL', KEYS[2])
elseif redis.call('GET', KEYS[2]) ~= ARGV[3] then
  return -1
end
local there = redis.call('HMGET', KEYS[1], 'v', 'pe', ARGV[6], 'e')
if not there[3] then there = {} end -- an older version's, which admit.lua does not read
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
