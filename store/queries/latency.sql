-- name: AddLatency :exec
-- Adds counts to the histograms of their hours, and of the sums of these: by key and day, by account and hour, by account and day. Those with the same words
-- are added up first: a row is written once per statement, and the rows of each table in one order.
WITH incoming AS MATERIALIZED (
    SELECT
        unnest(sqlc.arg(accounts)::uuid[]) AS account_id,
        unnest(sqlc.arg(hours)::timestamptz[]) AS hour,
        date_trunc('day', unnest(sqlc.arg(hours)::timestamptz[]), 'UTC') AS day,
        unnest(sqlc.arg(keys)::uuid[]) AS key_id,
        unnest(sqlc.arg(chains)::text[]) COLLATE "C" AS chain,
        unnest(sqlc.arg(services)::text[]) COLLATE "C" AS service,
        unnest(sqlc.arg(classes)::text[]) COLLATE "C" AS class,
        unnest(sqlc.arg(outcomes)::text[]) COLLATE "C" AS outcome,
        unnest(sqlc.arg(buckets)::smallint[]) AS bucket,
        unnest(sqlc.arg(calls)::bigint[]) AS calls
), hours AS (
    INSERT INTO latency_hours (account_id, hour, key_id, chain, service, class, outcome, buckets, calls)
    SELECT account_id, hour, key_id, chain, service, class, outcome, array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
    FROM (
        SELECT account_id, hour, key_id, chain, service, class, outcome, bucket, sum(calls)::bigint AS calls
        FROM incoming
        GROUP BY account_id, hour, key_id, chain, service, class, outcome, bucket
    ) AS counts
    GROUP BY account_id, hour, key_id, chain, service, class, outcome
    ORDER BY account_id, hour, key_id, chain, service, class, outcome
    ON CONFLICT (account_id, hour, key_id, chain, service, class, outcome)
    DO UPDATE SET (buckets, calls) = (
        SELECT array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
        FROM (
            SELECT bucket, sum(calls)::bigint AS calls
            FROM (
                SELECT unnest(latency_hours.buckets) AS bucket, unnest(latency_hours.calls) AS calls
                UNION ALL
                SELECT unnest(excluded.buckets), unnest(excluded.calls)
            ) AS both_histograms
            GROUP BY bucket
        ) AS merged
    )
), days AS (
    INSERT INTO latency_days (account_id, key_id, day, chain, service, class, outcome, buckets, calls)
    SELECT account_id, key_id, day, chain, service, class, outcome, array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
    FROM (
        SELECT account_id, key_id, day, chain, service, class, outcome, bucket, sum(calls)::bigint AS calls
        FROM incoming
        GROUP BY account_id, key_id, day, chain, service, class, outcome, bucket
    ) AS counts
    GROUP BY account_id, key_id, day, chain, service, class, outcome
    ORDER BY account_id, key_id, day, chain, service, class, outcome
    ON CONFLICT (account_id, key_id, day, chain, service, class, outcome)
    DO UPDATE SET (buckets, calls) = (
        SELECT array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
        FROM (
            SELECT bucket, sum(calls)::bigint AS calls
            FROM (
                SELECT unnest(latency_days.buckets) AS bucket, unnest(latency_days.calls) AS calls
                UNION ALL
                SELECT unnest(excluded.buckets), unnest(excluded.calls)
            ) AS both_histograms
            GROUP BY bucket
        ) AS merged
    )
), whole_hours AS (
    INSERT INTO account_latency_hours (account_id, hour, chain, outcome, buckets, calls)
    SELECT account_id, hour, chain, outcome, array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
    FROM (
        SELECT account_id, hour, chain, outcome, bucket, sum(calls)::bigint AS calls
        FROM incoming
        GROUP BY account_id, hour, chain, outcome, bucket
    ) AS counts
    GROUP BY account_id, hour, chain, outcome
    ORDER BY account_id, hour, chain, outcome
    ON CONFLICT (account_id, hour, chain, outcome)
    DO UPDATE SET (buckets, calls) = (
        SELECT array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
        FROM (
            SELECT bucket, sum(calls)::bigint AS calls
            FROM (
                SELECT unnest(account_latency_hours.buckets) AS bucket, unnest(account_latency_hours.calls) AS calls
                UNION ALL
                SELECT unnest(excluded.buckets), unnest(excluded.calls)
            ) AS both_histograms
            GROUP BY bucket
        ) AS merged
    )
)
INSERT INTO account_latency_days (account_id, day, chain, outcome, buckets, calls)
SELECT account_id, day, chain, outcome, array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
FROM (
    SELECT account_id, day, chain, outcome, bucket, sum(calls)::bigint AS calls
    FROM incoming
    GROUP BY account_id, day, chain, outcome, bucket
) AS counts
GROUP BY account_id, day, chain, outcome
ORDER BY account_id, day, chain, outcome
ON CONFLICT (account_id, day, chain, outcome)
DO UPDATE SET (buckets, calls) = (
    SELECT array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
    FROM (
        SELECT bucket, sum(calls)::bigint AS calls
        FROM (
            SELECT unnest(account_latency_days.buckets) AS bucket, unnest(account_latency_days.calls) AS calls
            UNION ALL
            SELECT unnest(excluded.buckets), unnest(excluded.calls)
        ) AS both_histograms
        GROUP BY bucket
    ) AS merged
);

-- name: SumLatency :many
-- Histograms of an account's calls, over all or by key, chain and steps of time that begin at the first hour; from_day is as in reports.sql. The histograms
-- are laid out by a join: laid out in the list of columns, PostgreSQL takes them for a tenth of their rows, and sorts what it should hash.
SELECT
    (CASE WHEN sqlc.arg(by_key)::boolean THEN key_id ELSE '00000000-0000-0000-0000-000000000000' END)::uuid AS key_id,
    (CASE WHEN sqlc.arg(by_chain)::boolean THEN chain ELSE '' END)::text AS chain,
    (CASE
        WHEN sqlc.arg(step_seconds)::bigint > 0
            THEN date_bin(make_interval(secs => sqlc.arg(step_seconds)::bigint), start, sqlc.arg(since)::timestamptz)
        ELSE sqlc.arg(since)::timestamptz
    END)::timestamptz AS start,
    outcome,
    histogram.bucket::smallint AS bucket,
    sum(histogram.calls)::bigint AS calls
FROM latency_parts
CROSS JOIN LATERAL (SELECT unnest(buckets) AS bucket, unnest(calls) AS calls) AS histogram
WHERE account_id = sqlc.arg(account) AND by_key = (sqlc.arg(by_key)::boolean OR sqlc.narg(keys)::uuid[] IS NOT NULL)
    AND (
        (step = 'day' AND start >= sqlc.arg(from_day)::timestamptz AND start < sqlc.arg(to_day)::timestamptz)
        OR (step = 'hour' AND start >= sqlc.arg(since)::timestamptz AND start < least(sqlc.arg(from_day)::timestamptz, sqlc.arg(until)::timestamptz))
        OR (step = 'hour' AND start >= sqlc.arg(to_day)::timestamptz AND start < sqlc.arg(until)::timestamptz)
    )
    AND (sqlc.narg(keys)::uuid[] IS NULL OR key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR chain = sqlc.arg(only_chain)::text)
GROUP BY 1, 2, 3, 4, 5
ORDER BY 3, 2, 1, 4, 5;

-- Latencies are deleted in batches of at most so many rows, so that no lock is held for long.

-- name: DeleteLatencyHoursBefore :execrows
DELETE FROM latency_hours
WHERE ctid = ANY (ARRAY(
    SELECT old.ctid
    FROM latency_hours AS old
    WHERE old.hour < sqlc.arg(before)
    LIMIT sqlc.arg(max_rows)
    FOR UPDATE SKIP LOCKED
));

-- name: DeleteLatencyDaysBefore :execrows
DELETE FROM latency_days
WHERE ctid = ANY (ARRAY(
    SELECT old.ctid
    FROM latency_days AS old
    WHERE old.day < sqlc.arg(before)
    LIMIT sqlc.arg(max_rows)
    FOR UPDATE SKIP LOCKED
));

-- name: DeleteAccountLatencyHoursBefore :execrows
DELETE FROM account_latency_hours
WHERE ctid = ANY (ARRAY(
    SELECT old.ctid
    FROM account_latency_hours AS old
    WHERE old.hour < sqlc.arg(before)
    LIMIT sqlc.arg(max_rows)
    FOR UPDATE SKIP LOCKED
));

-- name: DeleteAccountLatencyDaysBefore :execrows
DELETE FROM account_latency_days
WHERE ctid = ANY (ARRAY(
    SELECT old.ctid
    FROM account_latency_days AS old
    WHERE old.day < sqlc.arg(before)
    LIMIT sqlc.arg(max_rows)
    FOR UPDATE SKIP LOCKED
));
