-- +goose Up
-- Sums of latency_hours, as those of usage_hours and written beside them: by UTC day with the same words, and by hour and by day of a whole account
-- without its keys. Kept as long as the hours.
SET LOCAL lock_timeout = '3s';
LOCK TABLE latency_hours IN SHARE ROW EXCLUSIVE MODE;

CREATE TABLE latency_days (
    account_id uuid NOT NULL,
    key_id     uuid NOT NULL,
    day        timestamptz NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    service    text COLLATE "C" NOT NULL,
    class      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    buckets    smallint[] NOT NULL,
    calls      bigint[] NOT NULL,
    CONSTRAINT latency_days_pkey PRIMARY KEY (account_id, key_id, day, chain, service, class, outcome),
    CONSTRAINT latency_days_whole_day CHECK (day = date_trunc('day', day, 'UTC')),
    CONSTRAINT latency_days_pairs CHECK (cardinality(buckets) > 0 AND cardinality(buckets) = cardinality(calls))
) WITH (fillfactor = 70);
COMMENT ON COLUMN latency_days.calls IS 'as many as buckets, in their order';
CREATE INDEX latency_days_by_day ON latency_days (day);

INSERT INTO latency_days
SELECT
    account_id, key_id, day, chain, service, class, outcome, array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
FROM (
    SELECT
        h.account_id, h.key_id, date_trunc('day', h.hour, 'UTC') AS day, h.chain, h.service, h.class, h.outcome, histogram.bucket,
        sum(histogram.calls)::bigint AS calls
    FROM latency_hours AS h
    CROSS JOIN LATERAL (SELECT unnest(h.buckets) AS bucket, unnest(h.calls) AS calls) AS histogram
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
) AS counts
GROUP BY account_id, key_id, day, chain, service, class, outcome
ORDER BY account_id, day, key_id;

CREATE TABLE account_latency_hours (
    account_id uuid NOT NULL,
    hour       timestamptz NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    buckets    smallint[] NOT NULL,
    calls      bigint[] NOT NULL,
    CONSTRAINT account_latency_hours_pkey PRIMARY KEY (account_id, hour, chain, outcome),
    CONSTRAINT account_latency_hours_whole_hour CHECK (hour = date_trunc('hour', hour, 'UTC')),
    CONSTRAINT account_latency_hours_pairs CHECK (cardinality(buckets) > 0 AND cardinality(buckets) = cardinality(calls))
) WITH (fillfactor = 70);
CREATE INDEX account_latency_hours_by_hour ON account_latency_hours (hour);

INSERT INTO account_latency_hours
SELECT account_id, hour, chain, outcome, array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
FROM (
    SELECT h.account_id, h.hour, h.chain, h.outcome, histogram.bucket, sum(histogram.calls)::bigint AS calls
    FROM latency_hours AS h
    CROSS JOIN LATERAL (SELECT unnest(h.buckets) AS bucket, unnest(h.calls) AS calls) AS histogram
    GROUP BY 1, 2, 3, 4, 5
) AS counts
GROUP BY account_id, hour, chain, outcome
ORDER BY account_id, hour;

CREATE TABLE account_latency_days (
    account_id uuid NOT NULL,
    day        timestamptz NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    buckets    smallint[] NOT NULL,
    calls      bigint[] NOT NULL,
    CONSTRAINT account_latency_days_pkey PRIMARY KEY (account_id, day, chain, outcome),
    CONSTRAINT account_latency_days_whole_day CHECK (day = date_trunc('day', day, 'UTC')),
    CONSTRAINT account_latency_days_pairs CHECK (cardinality(buckets) > 0 AND cardinality(buckets) = cardinality(calls))
) WITH (fillfactor = 70);
CREATE INDEX account_latency_days_by_day ON account_latency_days (day);

INSERT INTO account_latency_days
SELECT account_id, day, chain, outcome, array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
FROM (
    SELECT h.account_id, date_trunc('day', h.hour, 'UTC') AS day, h.chain, h.outcome, histogram.bucket, sum(histogram.calls)::bigint AS calls
    FROM account_latency_hours AS h
    CROSS JOIN LATERAL (SELECT unnest(h.buckets) AS bucket, unnest(h.calls) AS calls) AS histogram
    GROUP BY 1, 2, 3, 4, 5
) AS counts
GROUP BY account_id, day, chain, outcome
ORDER BY account_id, day;

-- The four as one, as usage_parts.
CREATE VIEW latency_parts AS
SELECT true AS by_key, 'hour'::text AS step, account_id, hour AS start, key_id, chain, outcome, buckets, calls
FROM latency_hours
UNION ALL
SELECT true, 'day'::text, account_id, day, key_id, chain, outcome, buckets, calls
FROM latency_days
UNION ALL
SELECT false, 'hour'::text, account_id, hour, '00000000-0000-0000-0000-000000000000'::uuid, chain, outcome, buckets, calls
FROM account_latency_hours
UNION ALL
SELECT false, 'day'::text, account_id, day, '00000000-0000-0000-0000-000000000000'::uuid, chain, outcome, buckets, calls
FROM account_latency_days;

-- +goose Down
SET LOCAL lock_timeout = '3s';
DROP VIEW latency_parts;
DROP TABLE account_latency_days;
DROP TABLE account_latency_hours;
DROP TABLE latency_days;
