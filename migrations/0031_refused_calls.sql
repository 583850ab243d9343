-- +goose Up
-- How many refused calls have no record of their own, by the hour: after the first few of a minute, refusals of a key for a reason are added up. Each
-- process (recorder) writes its own rows, whose figures only grow, so that a write that is repeated counts nothing twice. Kept as long as the calls are.
CREATE TABLE refused_calls (
    account_id uuid NOT NULL,
    hour       timestamptz NOT NULL,
    key_id     uuid NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    management boolean NOT NULL,
    recorder   uuid NOT NULL,
    calls      bigint NOT NULL,
    CONSTRAINT refused_calls_pkey PRIMARY KEY (account_id, hour, key_id, outcome, management, recorder),
    CONSTRAINT refused_calls_positive CHECK (calls > 0)
);
COMMENT ON COLUMN refused_calls.account_id IS 'zero, as the key, of what was beyond the bounds of a process, and of callers without a key';
COMMENT ON COLUMN refused_calls.management IS 'whether the calls were of the class management, which stands in no usage';
COMMENT ON COLUMN refused_calls.outcome IS 'the name of a fault reason';
CREATE INDEX refused_calls_by_age ON refused_calls (hour);

-- +goose Down
DROP TABLE refused_calls;
