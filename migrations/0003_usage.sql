-- +goose Up
-- Usage by the hour, added up from the meter's buckets. Refunds are negative lines, so a row may be negative too. Nothing references
-- accounts or keys: usage that was charged must never fail to land.
CREATE TABLE usage_hours (
    account_id uuid NOT NULL,
    period     date NOT NULL,
    hour       timestamptz NOT NULL,
    key_id     uuid NOT NULL,
    agent      text COLLATE "C" NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    service    text COLLATE "C" NOT NULL,
    method     text COLLATE "C" NOT NULL,
    class      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    source     text COLLATE "C" NOT NULL,
    tier       text COLLATE "C" NOT NULL,
    requests   bigint NOT NULL,
    units      bigint NOT NULL,
    CONSTRAINT usage_hours_pkey PRIMARY KEY
        (account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier),
    CONSTRAINT usage_hours_whole_hour CHECK (hour = date_trunc('hour', hour, 'UTC')),
    CONSTRAINT usage_hours_outcome_named CHECK (outcome <> ''),
    CONSTRAINT usage_hours_tier_known CHECK (tier IN ('', 'cheap', 'balanced', 'fast'))
) WITH (fillfactor = 80);
COMMENT ON COLUMN usage_hours.units IS 'thousandths of units';
CREATE INDEX usage_hours_by_key ON usage_hours (key_id, hour);

-- Which buckets are in usage_hours. A bucket that comes again is not added again.
CREATE TABLE usage_flushes (
    shard      integer NOT NULL,
    slot       timestamptz NOT NULL,
    account_id uuid NOT NULL,
    generation text COLLATE "C" NOT NULL,
    flushed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT usage_flushes_pkey PRIMARY KEY (slot, account_id, generation),
    CONSTRAINT usage_flushes_shard_not_negative CHECK (shard >= 0),
    CONSTRAINT usage_flushes_generation_named CHECK (generation <> '')
);
CREATE INDEX usage_flushes_by_account ON usage_flushes (account_id, flushed_at);

CREATE TABLE usage_watermarks (
    shard      integer PRIMARY KEY,
    watermark  timestamptz NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT usage_watermarks_shard_not_negative CHECK (shard >= 0)
) WITH (fillfactor = 50);
COMMENT ON COLUMN usage_watermarks.watermark IS 'usage of the shard before this instant of the meter''s clock is in usage_hours';

-- +goose Down
DROP TABLE usage_watermarks;
DROP TABLE usage_flushes;
DROP TABLE usage_hours;
