-- +goose Up
-- How long answered calls took, by the hour: histograms, one row per bucket that has calls, added up from the meter's buckets in the
-- transaction that adds their usage. The bounds of the buckets are account.LatencyBounds. Kept for 35 days.
CREATE TABLE latency_hours (
    account_id uuid NOT NULL,
    hour       timestamptz NOT NULL,
    key_id     uuid NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    service    text COLLATE "C" NOT NULL,
    class      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    bucket     smallint NOT NULL,
    calls      bigint NOT NULL,
    CONSTRAINT latency_hours_pkey PRIMARY KEY (account_id, hour, key_id, chain, service, class, outcome, bucket),
    CONSTRAINT latency_hours_whole_hour CHECK (hour = date_trunc('hour', hour, 'UTC')),
    CONSTRAINT latency_hours_answered CHECK (outcome IN ('ok', 'hit')),
    CONSTRAINT latency_hours_bucket_not_negative CHECK (bucket >= 0),
    CONSTRAINT latency_hours_calls_positive CHECK (calls > 0)
) WITH (fillfactor = 80);
COMMENT ON TABLE latency_hours IS 'statistics: what a killed process had not handed over is missing here and nowhere else';
CREATE INDEX latency_hours_by_hour ON latency_hours (hour);

-- +goose Down
DROP TABLE latency_hours;
