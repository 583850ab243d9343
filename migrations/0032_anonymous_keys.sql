-- +goose Up
-- Anonymous keys that nobody uses are swept by the daily upkeep, page by page in the order of their ids. While the index is built nothing is written into
-- keys; behind a lock that waits every writer queues, so this gives up soon, and the migration is run again.
SET LOCAL lock_timeout = '3s';
CREATE INDEX keys_anonymous ON keys (id) WHERE door = 'public';

-- +goose Down
SET LOCAL lock_timeout = '3s';
DROP INDEX keys_anonymous;
