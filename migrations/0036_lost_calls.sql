-- +goose Up
-- Calls that were answered "not relayed" because the meter's reply was lost, until somebody knows whether they were charged and has given that
-- back. A process writes them before it answers, so that another one finds them when it dies.
CREATE TABLE lost_calls (
    nonce      text COLLATE "C" NOT NULL,
    account_id uuid NOT NULL,
    key_id     uuid NOT NULL,
    units      bigint NOT NULL,
    service    text COLLATE "C" NOT NULL,
    line       text COLLATE "C" NOT NULL,
    mark       text COLLATE "C" NOT NULL,
    not_after  timestamptz NOT NULL,
    lost_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT lost_calls_pkey PRIMARY KEY (nonce),
    CONSTRAINT lost_calls_units_not_negative CHECK (units >= 0)
);
COMMENT ON COLUMN lost_calls.nonce IS 'of the admission, by which the meter knows it';
COMMENT ON COLUMN lost_calls.units IS 'thousandths of units';
COMMENT ON COLUMN lost_calls.not_after IS 'by the clock of Redis: the admission can run no later';
CREATE INDEX lost_calls_by_age ON lost_calls (lost_at);

-- +goose Down
DROP TABLE lost_calls;
