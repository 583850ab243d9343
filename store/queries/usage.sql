-- name: InsertFlushes :many
-- Enters buckets in the ledger and returns those that were not in it yet. In one order, so that two writers never deadlock.
INSERT INTO usage_flushes (shard, slot, account_id, generation, summed)
SELECT shard, slot, account_id, generation, true
FROM (
    SELECT
        unnest(sqlc.arg(shards)::integer[]) AS shard,
        unnest(sqlc.arg(slots)::timestamptz[]) AS slot,
        unnest(sqlc.arg(accounts)::uuid[]) AS account_id,
        unnest(sqlc.arg(generations)::text[]) AS generation
) AS incoming
ORDER BY slot, account_id, generation
ON CONFLICT DO NOTHING
RETURNING slot, account_id, generation;

-- name: AddUsage :exec
-- Adds lines to their hours, and to the sums of these: by key and day, by account and hour, by account and day. Lines with the same words are added up
-- first: a row is written once per statement, and the rows of each table in one order.
WITH incoming AS MATERIALIZED (
    SELECT
        account_id, period, hour, date_trunc('day', hour, 'UTC') AS day, key_id, agent, chain, service, method, class, outcome, source, tier,
        sum(requests)::bigint AS requests, sum(units)::bigint AS units
    FROM (
        SELECT
            unnest(sqlc.arg(accounts)::uuid[]) AS account_id,
            unnest(sqlc.arg(periods)::date[]) AS period,
            unnest(sqlc.arg(hours)::timestamptz[]) AS hour,
            unnest(sqlc.arg(keys)::uuid[]) AS key_id,
            unnest(sqlc.arg(agents)::text[]) COLLATE "C" AS agent,
            unnest(sqlc.arg(chains)::text[]) COLLATE "C" AS chain,
            unnest(sqlc.arg(services)::text[]) COLLATE "C" AS service,
            unnest(sqlc.arg(methods)::text[]) COLLATE "C" AS method,
            unnest(sqlc.arg(classes)::text[]) COLLATE "C" AS class,
            unnest(sqlc.arg(outcomes)::text[]) COLLATE "C" AS outcome,
            unnest(sqlc.arg(sources)::text[]) COLLATE "C" AS source,
            unnest(sqlc.arg(tiers)::text[]) COLLATE "C" AS tier,
            unnest(sqlc.arg(requests)::bigint[]) AS requests,
            unnest(sqlc.arg(units)::bigint[]) AS units
    ) AS lines
    GROUP BY account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier
    ORDER BY account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier
), hours AS (
    INSERT INTO usage_hours (account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier, requests, units)
    SELECT account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier, requests, units
    FROM incoming
    ON CONFLICT (account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier)
    DO UPDATE SET requests = usage_hours.requests + excluded.requests, units = usage_hours.units + excluded.units
), days AS (
    INSERT INTO usage_days (account_id, period, key_id, day, agent, chain, service, method, class, outcome, source, tier, requests, units)
    SELECT
        account_id, period, key_id, day, agent, chain, service, method, class, outcome, source, tier, sum(requests)::bigint, sum(units)::bigint
    FROM incoming
    GROUP BY account_id, period, key_id, day, agent, chain, service, method, class, outcome, source, tier
    ORDER BY account_id, period, key_id, day, agent, chain, service, method, class, outcome, source, tier
    ON CONFLICT (account_id, period, key_id, day, agent, chain, service, method, class, outcome, source, tier)
    DO UPDATE SET requests = usage_days.requests + excluded.requests, units = usage_days.units + excluded.units
), whole_hours AS (
    INSERT INTO account_hours (account_id, period, hour, chain, service, method, class, outcome, source, tier, requests, units)
    SELECT account_id, period, hour, chain, service, method, class, outcome, source, tier, sum(requests)::bigint, sum(units)::bigint
    FROM incoming
    GROUP BY account_id, period, hour, chain, service, method, class, outcome, source, tier
    ORDER BY account_id, period, hour, chain, service, method, class, outcome, source, tier
    ON CONFLICT (account_id, period, hour, chain, service, method, class, outcome, source, tier)
    DO UPDATE SET requests = account_hours.requests + excluded.requests, units = account_hours.units + excluded.units
)
INSERT INTO account_days (account_id, period, day, chain, service, method, class, outcome, source, tier, requests, units)
SELECT account_id, period, day, chain, service, method, class, outcome, source, tier, sum(requests)::bigint, sum(units)::bigint
FROM incoming
GROUP BY account_id, period, day, chain, service, method, class, outcome, source, tier
ORDER BY account_id, period, day, chain, service, method, class, outcome, source, tier
ON CONFLICT (account_id, period, day, chain, service, method, class, outcome, source, tier)
DO UPDATE SET requests = account_days.requests + excluded.requests, units = account_days.units + excluded.units;

-- name: SumPlan :one
-- Units that an account's period drew from its plan, out of the totals.
SELECT coalesce(sum(plan_units), 0)::bigint AS units
FROM usage_periods
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period);

-- name: SumPeriod :many
-- Units of an account's period by service and source.
SELECT service, source, sum(units)::bigint AS units
FROM account_days
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period)
GROUP BY service, source;

-- name: SumPeriodOfKeys :many
-- As SumPeriod, of these keys, each apart: the index passes over the others' rows.
SELECT key_id, service, source, sum(units)::bigint AS units
FROM usage_days
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period) AND key_id = ANY(sqlc.arg(keys)::uuid[])
GROUP BY key_id, service, source;

-- name: SumPacks :many
SELECT source, sum(units)::bigint AS units
FROM account_days
WHERE account_id = sqlc.arg(account) AND source = ANY(sqlc.arg(sources)::text[]) AND source LIKE 'pack:%'
GROUP BY source;

-- name: SumKeyDay :one
SELECT coalesce(sum(units), 0)::bigint AS units
FROM usage_hours
WHERE key_id = sqlc.arg(key) AND account_id = sqlc.arg(account) AND hour >= sqlc.arg(day_start) AND hour < sqlc.arg(day_end);

-- name: ListFlushes :many
-- Buckets of an account that the meter may still hold: it drops what lies before its shard's watermark before that is recorded.
SELECT slot, generation
FROM usage_flushes
WHERE account_id = sqlc.arg(account)
    AND slot >= coalesce(
        (SELECT w.watermark - make_interval(secs => sqlc.arg(behind_seconds)::double precision) FROM usage_watermarks AS w WHERE w.shard = sqlc.arg(shard)),
        '-infinity'
    )
    AND flushed_at >= now() - make_interval(secs => sqlc.arg(within_seconds)::double precision)
ORDER BY slot, generation;

-- name: ListUsage :many
SELECT account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier, requests, units
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period)
ORDER BY account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier;

-- name: CountFlushesBefore :one
SELECT count(*)
FROM usage_flushes
WHERE slot < $1;

-- name: DeleteDefaultFlushesBefore :execrows
DELETE FROM usage_flushes_default
WHERE slot < $1;

-- name: SaveWatermarks :exec
INSERT INTO usage_watermarks (shard, watermark)
SELECT shard, watermark
FROM (
    SELECT
        unnest(sqlc.arg(shards)::integer[]) AS shard,
        unnest(sqlc.arg(watermarks)::timestamptz[]) AS watermark
) AS incoming
ORDER BY shard
ON CONFLICT (shard) DO UPDATE SET watermark = excluded.watermark, updated_at = now();

-- name: GetWatermark :one
SELECT watermark
FROM usage_watermarks
WHERE shard = $1;

-- name: GetUsageWatermark :one
SELECT count(*) AS shards, coalesce(min(watermark), 'epoch')::timestamptz AS watermark
FROM usage_watermarks;
