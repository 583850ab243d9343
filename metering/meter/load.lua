-- Begins the load of a projection that is missing. Loads under way at the same time share a token; a change ends it (push.lua), and so does a
-- wiped Redis.
--
-- KEYS  1 {u}:ld:<account or key>
-- ARGV  1 random word
--
-- Returns the token.

local KEEP_SECONDS = 60
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', KEEP_SECONDS)
return redis.call('GET', KEYS[1])
