-- +goose Up
-- What was refused or failed is a small part of an account's calls, and its newest ones are asked for, of all its keys or of an agent's. The key is in the
-- index, last, so that calls of other keys are passed over without a look at their rows. class "management" costs no units and stands in no usage; a client
-- that went away is no failure. While it is built nothing is written into calls: docs/operations/upgrade.md says for how long. Behind a lock that waits every writer
-- queues, so this gives up soon, and the migration is run again.
SET LOCAL lock_timeout = '3s';
CREATE INDEX calls_failed ON calls (account_id, started_at DESC, key_id)
    WHERE outcome NOT IN ('ok', 'hit', 'client_gone') AND class <> 'management';

-- +goose Down
SET LOCAL lock_timeout = '3s';
DROP INDEX calls_failed;
