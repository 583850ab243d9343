-- Adds what a process spent to the monthly budgets of upstreams.
--
-- KEYS  {board}:<chain>:budget:<upstream>, each a hash: period (its first day), spent (units), told (percent of the last
--       warning), and by process its units that are in spent
-- ARGV  for each key: process (its name); period, as 2026-11-01; units of the budget; units that the process spent since its start; those
--       of them whose addition it knows of; units that PostgreSQL has for the period, -1 if it was not asked
--
-- Returns for each key: spent, -1 if it is not known and PostgreSQL must be asked; percent that the process is to warn of,
--         0 for none

local LASTS = 62 * 86400 -- seconds after which a budget that nobody spends is forgotten
local reply = {}

for i, key in ipairs(KEYS) do
  local arg = 6 * i - 4
  local process = ARGV[arg - 1]
  local period, units, total = ARGV[arg], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
  local known = redis.call('HMGET', key, 'period', 'spent', 'told', process)
  local spent, told = tonumber(known[2]), tonumber(known[3] or '0')
  local news = total - math.min(total, tonumber(known[4] or ARGV[arg + 3]))
  if not spent and tonumber(ARGV[arg + 4]) >= 0 then
    spent = tonumber(ARGV[arg + 4])
  elseif spent and period > known[1] then
    redis.call('DEL', key)
    spent, told = 0, 0
  end
  local warning = 0
  if spent then
    spent = spent + news
    if spent >= units then
      warning = 100
    elseif 5 * spent >= 4 * units then
      warning = 80
    end
    if warning < told then
      told = warning -- the budget was raised
    end
    redis.call('HSET', key, 'period', known[1] and known[1] > period and known[1] or period, 'spent',
      string.format('%.0f', spent), 'told', math.max(told, warning), process, string.format('%.0f', total))
    redis.call('EXPIRE', key, LASTS)
  end
  reply[#reply + 1] = spent and string.format('%.0f', spent) or '-1'
  reply[#reply + 1] = warning > told and warning or 0
end
return reply
