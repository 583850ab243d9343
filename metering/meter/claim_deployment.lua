-- Returns which deployment owns this Redis and the epoch of the record that its projections are of.
-- Marks it as the caller's when it has no owner.
--
-- KEYS  1 {deployment}
-- ARGV  1 id of the caller's deployment   2 epoch that the projections are of now; 0 to read only
--
-- Returns { id of the owner, epoch }. The epoch never decreases. When the id is another
-- deployment's, so is the epoch.

redis.call('HSETNX', KEYS[1], 'id', ARGV[1])
local owner = redis.call('HGET', KEYS[1], 'id')
local epoch = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0')
if owner == ARGV[1] and tonumber(ARGV[2]) > epoch then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[2])
  epoch = tonumber(ARGV[2])
end
return { owner, epoch }
