-- name: SumServices :many
-- Units by service since an hour, of an account or of one key of it. A period is at most 31 days, so older ones hold nothing of the window.
SELECT service, sum(units)::bigint AS units
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32 AND hour >= sqlc.arg(since)
    AND key_id = coalesce(sqlc.narg(key), key_id)
GROUP BY service;

-- name: SumDays :many
-- Usage of an account by UTC day, since an instant.
SELECT
    (date_trunc('day', hour, 'UTC'))::timestamptz AS day,
    coalesce(sum(requests), 0)::bigint AS requests,
    coalesce(sum(units) FILTER (WHERE class = 'standard'), 0)::bigint AS standard,
    coalesce(sum(units) FILTER (WHERE class = 'heavy'), 0)::bigint AS heavy,
    coalesce(sum(units) FILTER (WHERE class NOT IN ('standard', 'heavy')), 0)::bigint AS other,
    coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(requests) FILTER (WHERE outcome NOT IN ('ok', 'hit', 'refund')), 0)::bigint AS refused
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32 AND hour >= sqlc.arg(since)
GROUP BY 1
ORDER BY 1;

-- Usage since an hour, of an account or of some keys of it, is found by its periods: the primary key begins with them, so that rows outside the
-- window are passed over. A period is at most 31 days, so older ones hold nothing of the window, and usage_periods names each that has usage.

-- name: SumUsageGroups :many
-- Usage as a whole, by class, by key, by method and by chain, the largest groups of each. dimension is that of GROUPING: 15 for the whole, 7 for a
-- class, 11 for a key, 13 for a method, 14 for a chain.
WITH lines AS (
    SELECT key_id, chain, method, class, outcome, sum(requests) AS requests, sum(units) AS units
    FROM usage_hours AS h
    WHERE h.account_id = sqlc.arg(account) AND h.hour >= sqlc.arg(since)::timestamptz
        AND h.period = ANY(ARRAY(
            SELECT p.period
            FROM usage_periods AS p
            WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
        ))
        AND (sqlc.narg(keys)::uuid[] IS NULL OR h.key_id = ANY(sqlc.narg(keys)::uuid[]))
        AND (sqlc.arg(only_chain)::text = '' OR h.chain = sqlc.arg(only_chain)::text)
    GROUP BY key_id, chain, method, class, outcome
), sums AS (
    SELECT
        GROUPING(class, key_id, method, chain) AS dimension, class, key_id, method, chain,
        coalesce(sum(requests), 0) AS requests,
        coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund')), 0) AS billable,
        coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0) AS hits,
        coalesce(sum(units), 0) AS units
    FROM lines
    GROUP BY GROUPING SETS ((), (class), (key_id), (method), (chain))
)
SELECT
    dimension::integer AS dimension, coalesce(class, '')::text AS class, coalesce(key_id, '00000000-0000-0000-0000-000000000000')::uuid AS key_id,
    coalesce(method, '')::text AS method, coalesce(chain, '')::text AS chain, requests::bigint AS requests, billable::bigint AS billable,
    hits::bigint AS hits, units::bigint AS units, groups::bigint AS groups
FROM (
    SELECT
        dimension, class, key_id, method, chain, requests, billable, hits, units, count(*) OVER (PARTITION BY dimension) AS groups,
        row_number() OVER (PARTITION BY dimension ORDER BY requests DESC, units DESC, class, key_id, method, chain) AS place
    FROM sums
) AS ranked
WHERE ranked.place <= sqlc.arg(most)::bigint
ORDER BY dimension, place;

-- name: SumUsageSteps :many
-- Usage by steps of time that begin at the first hour.
SELECT
    date_bin(make_interval(secs => sqlc.arg(step_seconds)::bigint), hour, sqlc.arg(since)::timestamptz)::timestamptz AS start,
    coalesce(sum(requests), 0)::bigint AS requests,
    coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund')), 0)::bigint AS billable,
    coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund') AND service = 'utils'), 0)::bigint AS computed,
    coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(units), 0)::bigint AS units,
    coalesce(sum(units) FILTER (WHERE source LIKE 'pack:%'), 0)::bigint AS pack_units
FROM usage_hours AS h
WHERE h.account_id = sqlc.arg(account) AND h.hour >= sqlc.arg(since)::timestamptz
    AND h.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
    ))
    AND (sqlc.narg(keys)::uuid[] IS NULL OR h.key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR h.chain = sqlc.arg(only_chain)::text)
GROUP BY 1
ORDER BY 1;

-- name: SumFailureGroups :many
-- What was refused or failed, by reason and by chain and method, the largest groups of each. dimension is that of GROUPING: 3 for a reason, 4 for a
-- method on a chain.
WITH lines AS (
    SELECT chain, method, outcome, sum(requests) AS requests
    FROM usage_hours AS h
    WHERE h.account_id = sqlc.arg(account) AND h.hour >= sqlc.arg(since)::timestamptz
        AND h.period = ANY(ARRAY(
            SELECT p.period
            FROM usage_periods AS p
            WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
        ))
        AND (sqlc.narg(keys)::uuid[] IS NULL OR h.key_id = ANY(sqlc.narg(keys)::uuid[]))
        AND (sqlc.arg(only_chain)::text = '' OR h.chain = sqlc.arg(only_chain)::text)
        AND outcome NOT IN ('ok', 'hit', 'refund')
    GROUP BY chain, method, outcome
), sums AS (
    SELECT GROUPING(outcome, chain, method) AS dimension, outcome, chain, method, sum(requests) AS requests
    FROM lines
    GROUP BY GROUPING SETS ((outcome), (chain, method))
)
SELECT
    dimension::integer AS dimension, coalesce(outcome, '')::text AS outcome, coalesce(chain, '')::text AS chain, coalesce(method, '')::text AS method,
    requests::bigint AS requests, groups::bigint AS groups
FROM (
    SELECT
        dimension, outcome, chain, method, requests, count(*) OVER (PARTITION BY dimension) AS groups,
        row_number() OVER (PARTITION BY dimension ORDER BY requests DESC, outcome, chain, method) AS place
    FROM sums
) AS ranked
WHERE ranked.place <= sqlc.arg(most)::bigint
ORDER BY dimension, place;

-- name: SumFailureSteps :many
-- What was refused or failed, by steps of time that begin at the first hour, of these methods on their chains.
SELECT
    date_bin(make_interval(secs => sqlc.arg(step_seconds)::bigint), hour, sqlc.arg(since)::timestamptz)::timestamptz AS start,
    chain, method, sum(requests)::bigint AS requests
FROM usage_hours AS h
WHERE h.account_id = sqlc.arg(account) AND h.hour >= sqlc.arg(since)::timestamptz
    AND h.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
    ))
    AND (sqlc.narg(keys)::uuid[] IS NULL OR h.key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR h.chain = sqlc.arg(only_chain)::text)
    AND outcome NOT IN ('ok', 'hit', 'refund')
    AND (chain, method) IN (SELECT unnest(sqlc.arg(chains)::text[]), unnest(sqlc.arg(methods)::text[]))
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3;

-- name: SumAnswered :many
-- What was answered by upstreams and by the cache, by the words that say what a call weighs.
SELECT
    service, method, class, tier,
    coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund')), 0)::bigint AS billable,
    coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(units), 0)::bigint AS units
FROM usage_hours AS h
WHERE h.account_id = sqlc.arg(account) AND h.hour >= sqlc.arg(since)::timestamptz
    AND h.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
    ))
    AND (sqlc.narg(keys)::uuid[] IS NULL OR h.key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR h.chain = sqlc.arg(only_chain)::text)
    AND outcome IN ('ok', 'refund', 'hit')
GROUP BY service, method, class, tier
ORDER BY hits DESC, billable DESC, service, method, class, tier;
