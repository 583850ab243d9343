-- +goose Up
-- How long answered calls took, by the hour: histograms, added up from the meter's buckets in the transaction that adds their usage.
-- A row has the buckets of its histogram that have calls, and how many each; their bounds are account.LatencyBounds. Kept for 35 days.
CREATE TABLE latency_hours (
    account_id uuid NOT NULL,
    hour       timestamptz NOT NULL,
    key_id     uuid NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    service    text COLLATE "C" NOT NULL,
    class      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    buckets    smallint[] NOT NULL,
    calls      bigint[] NOT NULL,
    CONSTRAINT latency_hours_pkey PRIMARY KEY (account_id, hour, key_id, chain, service, class, outcome),
    CONSTRAINT latency_hours_whole_hour CHECK (hour = date_trunc('hour', hour, 'UTC')),
    CONSTRAINT latency_hours_answered CHECK (outcome IN ('ok', 'hit')),
    CONSTRAINT latency_hours_pairs CHECK (cardinality(buckets) > 0 AND cardinality(buckets) = cardinality(calls)),
    CONSTRAINT latency_hours_buckets_not_negative CHECK (0 <= ALL (buckets)),
    CONSTRAINT latency_hours_calls_positive CHECK (0 < ALL (calls))
) WITH (fillfactor = 70);
COMMENT ON TABLE latency_hours IS 'statistics: what a killed process had not handed over is missing here and nowhere else';
COMMENT ON COLUMN latency_hours.calls IS 'as many as buckets, in their order';
CREATE INDEX latency_hours_by_hour ON latency_hours (hour);

-- +goose Down
DROP TABLE latency_hours;
