-- name: AddLatency :exec
-- Adds counts to the histograms of their hours. Those with the same words are added up first: a row is written once per statement, and
-- always in one order.
INSERT INTO latency_hours (account_id, hour, key_id, chain, service, class, outcome, buckets, calls)
SELECT
    account_id, hour, key_id, chain, service, class, outcome,
    array_agg(bucket ORDER BY bucket), array_agg(calls ORDER BY bucket)
FROM (
    SELECT account_id, hour, key_id, chain, service, class, outcome, bucket, sum(calls)::bigint AS calls
    FROM (
        SELECT
            unnest(sqlc.arg(accounts)::uuid[]) AS account_id,
            unnest(sqlc.arg(hours)::timestamptz[]) AS hour,
            unnest(sqlc.arg(keys)::uuid[]) AS key_id,
            unnest(sqlc.arg(chains)::text[]) COLLATE "C" AS chain,
            unnest(sqlc.arg(services)::text[]) COLLATE "C" AS service,
            unnest(sqlc.arg(classes)::text[]) COLLATE "C" AS class,
            unnest(sqlc.arg(outcomes)::text[]) COLLATE "C" AS outcome,
            unnest(sqlc.arg(buckets)::smallint[]) AS bucket,
            unnest(sqlc.arg(calls)::bigint[]) AS calls
    ) AS incoming
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
);

-- name: SumLatency :many
-- Histograms of an account's calls, over all or by key, chain and steps of time that begin at the first hour. The histograms are laid out by a join:
-- laid out in the list of columns, PostgreSQL takes them for a tenth of their rows, and sorts what it should hash.
SELECT
    (CASE WHEN sqlc.arg(by_key)::boolean THEN key_id ELSE '00000000-0000-0000-0000-000000000000' END)::uuid AS key_id,
    (CASE WHEN sqlc.arg(by_chain)::boolean THEN chain ELSE '' END)::text AS chain,
    (CASE
        WHEN sqlc.arg(step_seconds)::bigint > 0
            THEN date_bin(make_interval(secs => sqlc.arg(step_seconds)::bigint), hour, sqlc.arg(since)::timestamptz)
        ELSE sqlc.arg(since)::timestamptz
    END)::timestamptz AS start,
    outcome,
    histogram.bucket::smallint AS bucket,
    sum(histogram.calls)::bigint AS calls
FROM latency_hours
CROSS JOIN LATERAL (SELECT unnest(buckets) AS bucket, unnest(calls) AS calls) AS histogram
WHERE account_id = sqlc.arg(account) AND hour >= sqlc.arg(since)::timestamptz AND hour < sqlc.arg(until)::timestamptz
    AND (sqlc.narg(keys)::uuid[] IS NULL OR key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR chain = sqlc.arg(only_chain)::text)
GROUP BY 1, 2, 3, 4, 5
ORDER BY 3, 2, 1, 4, 5;

-- name: DeleteLatencyBefore :execrows
-- One batch of at most so many rows, so that no lock is held for long.
DELETE FROM latency_hours
WHERE ctid = ANY (ARRAY(
    SELECT old.ctid
    FROM latency_hours AS old
    WHERE old.hour < sqlc.arg(before)
    LIMIT sqlc.arg(most)
    FOR UPDATE SKIP LOCKED
));
