-- Says whose Redis this is and which epoch of the record its projections are of; says it of a caller when nobody did.
--
-- KEYS  1 {deployment}
-- ARGV  1 id of the caller's deployment   2 epoch that the projections are of now; 0 to ask only
--
-- Returns { id of the deployment, epoch }. The epoch never falls, and is another deployment's when the id is.

redis.call('HSETNX', KEYS[1], 'id', ARGV[1])
local owner = redis.call('HGET', KEYS[1], 'id')
local epoch = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '0')
if owner == ARGV[1] and tonumber(ARGV[2]) > epoch then
  redis.call('HSET', KEYS[1], 'epoch', ARGV[2])
  epoch = tonumber(ARGV[2])
end
return { owner, epoch }
