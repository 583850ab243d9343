-- +goose Up
-- One row per call, for 30 days. Nothing references accounts or keys: a record must never fail to land. There are no parameters,
-- results, keys or addresses in here. Text compares by bytes, which is what equality needs and faster than a locale.
CREATE TABLE calls (
    request_id     uuid NOT NULL,
    batch_index    integer NOT NULL DEFAULT 0,
    started_at     timestamptz NOT NULL,
    account_id     uuid,
    key_id         uuid,
    chain          text COLLATE "C" NOT NULL,
    service        text COLLATE "C" NOT NULL,
    method         text COLLATE "C" NOT NULL,
    class          text COLLATE "C" NOT NULL,
    tier           text COLLATE "C" NOT NULL,
    outcome        text COLLATE "C" NOT NULL,
    http_status    smallint NOT NULL,
    units          bigint NOT NULL,
    upstream       text COLLATE "C" NOT NULL,
    attempts       smallint NOT NULL,
    duration_us    bigint NOT NULL,
    request_bytes  bigint NOT NULL,
    response_bytes bigint NOT NULL,
    CONSTRAINT calls_pkey PRIMARY KEY (request_id, batch_index, started_at),
    CONSTRAINT calls_tier_known CHECK (tier IN ('', 'cheap', 'balanced', 'fast')),
    CONSTRAINT calls_outcome_named CHECK (outcome <> ''),
    CONSTRAINT calls_figures_not_negative CHECK (
        batch_index >= 0 AND http_status >= 0 AND units >= 0 AND attempts >= 0
        AND duration_us >= 0 AND request_bytes >= 0 AND response_bytes >= 0)
) PARTITION BY RANGE (started_at);
COMMENT ON COLUMN calls.units IS 'thousandths of units charged';
COMMENT ON COLUMN calls.batch_index IS 'place in the batch, 0 for a single request';
COMMENT ON COLUMN calls.outcome IS 'ok, hit, or the name of a fault reason';
CREATE INDEX calls_by_account ON calls (account_id, started_at);

-- Catches every call whose day has no partition yet. The upkeep moves its rows when it makes the day's partition.
CREATE TABLE calls_default PARTITION OF calls DEFAULT;

-- +goose Down
DROP TABLE calls;
