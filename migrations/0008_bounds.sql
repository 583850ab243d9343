-- +goose Up
-- A pack holds at most what the meter counts exactly, however many there are (account.MaxCap).
ALTER TABLE packs
    DROP CONSTRAINT packs_units_positive,
    ADD CONSTRAINT packs_units_bounded CHECK (units BETWEEN 1 AND 1000000000000000);

-- Notices are of the terms under which a period was used.
ALTER TABLE accounts ADD COLUMN terms_changed_at timestamptz;
COMMENT ON COLUMN accounts.terms_changed_at IS 'when the plan, its custom quota or the cycle changed last; null for never';

-- Buckets of an account that the meter may still hold are found by their slots.
DROP INDEX usage_flushes_by_account;
CREATE INDEX usage_flushes_by_account ON usage_flushes (account_id, slot);

-- +goose Down
DROP INDEX usage_flushes_by_account;
CREATE INDEX usage_flushes_by_account ON usage_flushes (account_id, flushed_at);
ALTER TABLE accounts DROP COLUMN terms_changed_at;
ALTER TABLE packs
    DROP CONSTRAINT packs_units_bounded,
    ADD CONSTRAINT packs_units_positive CHECK (units > 0);
