-- Exchanges the heads of a chain between processes: takes over those that the caller knows, and
-- returns what all know. Heads have the time of this server, so that processes need no common clock.
--
-- KEYS  1 {board}:<chain>:told:<chain id>   hash: epoch, and by kind "head@microseconds head@microseconds …", lowest first
-- ARGV  1 epoch    of the caller; a higher one replaces everything
--       2 wait     microseconds after which every process knows a head
--       3 kind     4 head that the caller knows, 0 for none   5 head that its clients were told; and so on
--
-- Returns the epoch, then for each kind "head@age head@age …": the last head that every process knows, and
--         all after it, with their ages in microseconds

local SPACING = 20000 -- microseconds between two heads of a kind; the caller tries again
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local epoch, wait = tonumber(ARGV[1]), tonumber(ARGV[2])
local known = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '-1')
if epoch > known then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
  known = epoch
end

local reply = { string.format('%.0f', known) }
for i = 3, #ARGV, 3 do
  local kind, head, told = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local list, changed = {}, false
  for n, at in string.gmatch(redis.call('HGET', KEYS[1], kind) or '', '(%d+)@(%d+)') do
    at = tonumber(at)
    if at > now then -- this server's clock was set back
      at, changed = now, true
    end
    list[#list + 1] = { tonumber(n), at }
  end
  if epoch == known then
    local last = list[#list]
    if told > 0 and (not last or told > last[1]) then -- lost with data of this server, or told without it
      list, changed = { { told, 0 } }, true
      last = list[1]
    end
    if head > 0 and (not last or (head > last[1] and now - last[2] >= SPACING)) then
      list[#list + 1] = { head, now }
      changed = true
    end
  end
  while #list > 1 and now - list[2][2] >= wait do
    table.remove(list, 1)
  end
  local stored, shown = {}, {}
  for j, entry in ipairs(list) do
    stored[j] = string.format('%.0f@%.0f', entry[1], entry[2])
    shown[j] = string.format('%.0f@%.0f', entry[1], now - entry[2])
  end
  if changed then
    redis.call('HSET', KEYS[1], kind, table.concat(stored, ' '))
  end
  reply[#reply + 1] = table.concat(shown, ' ')
end
return reply
