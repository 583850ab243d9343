-- Publishes a snapshot of a chain's probes on the board. The generation has its own key, so that it
-- survives the deletion of the snapshot and never goes down when rounds of two workers overlap.
--
-- KEYS  1 {board}:<chain>               the snapshot
--       2 {board}:<chain>:generation    the highest generation ever published
-- ARGV  1 snapshot, JSON
--       2 its generation, a whole number below 2^53
--
-- Returns nothing.

redis.call('SET', KEYS[1], ARGV[1])
if tonumber(ARGV[2]) > tonumber(redis.call('GET', KEYS[2]) or '0') then
  redis.call('SET', KEYS[2], ARGV[2])
end
