-- Begins the load of a missing projection. Concurrent loads share a token. A change ends it
-- (push.lua), and so does the loss of Redis' data.
--
-- KEYS  1 {u}:ld:<account or key>
-- ARGV  1 random word
--
-- Returns the token.

local KEEP_SECONDS = 60
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', KEEP_SECONDS)
return redis.call('GET', KEYS[1])
