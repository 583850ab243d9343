-- Deletes what the records of earlier epochs put here. A projection stays when it is of this epoch
-- or a later one. Any other key, a counter or the token of a load, is deleted: it is made again
-- from the record.
--
-- KEYS  1 a key of an account's shard
-- ARGV  1 epoch
--
-- Returns 1 when the key was deleted, 0 when it stays or was not there.

if string.find(KEYS[1], ':cfg:', 1, true) or string.find(KEYS[1], ':key:', 1, true) then
  local epoch = redis.call('HGET', KEYS[1], 'e')
  if tonumber(epoch or '0') >= tonumber(ARGV[1]) then return 0 end
end
return redis.call('DEL', KEYS[1])
