-- +goose Up
-- What was refused or failed is a small part of an account's calls, and its newest ones are asked for. class "management" costs no units and stands in
-- no usage; a client that went away is no failure.
CREATE INDEX calls_failed ON calls (account_id, started_at DESC)
    WHERE outcome NOT IN ('ok', 'hit', 'client_gone') AND class <> 'management';

-- +goose Down
DROP INDEX calls_failed;
