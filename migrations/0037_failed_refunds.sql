-- +goose Up
-- A charge that could not be given back stands in the same list. What was charged is known of it, so it has no mark.
ALTER TABLE lost_calls
    ADD COLUMN period text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN sources text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN slot text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN reason text COLLATE "C" NOT NULL DEFAULT '';
COMMENT ON COLUMN lost_calls.slot IS 'of the charge, seconds since 1970 by the clock of Redis';
COMMENT ON COLUMN lost_calls.reason IS 'name of the fault that the client was answered with; empty where only the mark can tell whether there was a charge';

-- +goose Down
ALTER TABLE lost_calls DROP COLUMN period, DROP COLUMN sources, DROP COLUMN slot, DROP COLUMN reason;
