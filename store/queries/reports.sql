-- Usage since an hour is read out of usage_parts: the hours before from_day, the first midnight not before the window, and the days from there on; hours
-- alone where from_day is the end of time. Sums of the whole account are read, and those by key only for some keys. Rows are found by their periods, with
-- which the primary keys begin: a period is at most 31 days, so older ones hold nothing of the window, and usage_periods names each that has usage.
-- With only_period it is usage of that one alone: the day on which a period begins has usage of the one before, too.

-- name: SumServices :many
-- Units by service, of an account or of some keys of it.
SELECT u.service, sum(u.units)::bigint AS units
FROM usage_parts AS u
WHERE u.account_id = sqlc.arg(account) AND u.by_key = (sqlc.narg(keys)::uuid[] IS NOT NULL)
    AND (
        (u.step = 'hour' AND u.start >= sqlc.arg(since)::timestamptz AND u.start < sqlc.arg(from_day)::timestamptz)
        OR (u.step = 'day' AND u.start >= sqlc.arg(from_day)::timestamptz)
    )
    AND u.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
    ))
    AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
GROUP BY u.service;

-- name: SumDays :many
-- Usage of an account by UTC day, since one; of one period alone, or of all.
SELECT
    day,
    coalesce(sum(requests), 0)::bigint AS requests,
    coalesce(sum(units) FILTER (WHERE class = 'standard'), 0)::bigint AS standard,
    coalesce(sum(units) FILTER (WHERE class = 'heavy'), 0)::bigint AS heavy,
    coalesce(sum(units) FILTER (WHERE class NOT IN ('standard', 'heavy')), 0)::bigint AS other,
    coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(requests) FILTER (WHERE outcome NOT IN ('ok', 'hit', 'refund')), 0)::bigint AS refused
FROM account_days
WHERE account_id = sqlc.arg(account) AND period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32 AND day >= sqlc.arg(since)
    AND (sqlc.narg(only_period)::date IS NULL OR period = sqlc.narg(only_period)::date)
GROUP BY day
ORDER BY day;

-- name: SumUsageGroups :many
-- Usage as a whole, by class, by key, by method and by chain, the largest groups of each. dimension is that of GROUPING: 15 for the whole, 7 for a
-- class, 11 for a key, 13 for a method, 14 for a chain. Keys are told apart by rows of their own, all of one snapshot.
WITH lines AS (
    SELECT u.chain, u.method, u.class, u.outcome, sum(u.requests) AS requests, sum(u.units) AS units
    FROM usage_parts AS u
    WHERE u.account_id = sqlc.arg(account) AND u.by_key = (sqlc.narg(keys)::uuid[] IS NOT NULL)
        AND (
            (u.step = 'hour' AND u.start >= sqlc.arg(since)::timestamptz AND u.start < sqlc.arg(from_day)::timestamptz)
            OR (u.step = 'day' AND u.start >= sqlc.arg(from_day)::timestamptz)
        )
        AND u.period = ANY(ARRAY(
            SELECT p.period
            FROM usage_periods AS p
            WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
                AND (sqlc.narg(only_period)::date IS NULL OR p.period = sqlc.narg(only_period)::date)
        ))
        AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
        AND (sqlc.arg(only_chain)::text = '' OR u.chain = sqlc.arg(only_chain)::text)
    GROUP BY u.chain, u.method, u.class, u.outcome
), lines_of_keys AS (
    SELECT u.key_id, u.outcome, sum(u.requests) AS requests, sum(u.units) AS units
    FROM usage_parts AS u
    WHERE u.account_id = sqlc.arg(account) AND u.by_key = true
        AND (
            (u.step = 'hour' AND u.start >= sqlc.arg(since)::timestamptz AND u.start < sqlc.arg(from_day)::timestamptz)
            OR (u.step = 'day' AND u.start >= sqlc.arg(from_day)::timestamptz)
        )
        AND u.period = ANY(ARRAY(
            SELECT p.period
            FROM usage_periods AS p
            WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
                AND (sqlc.narg(only_period)::date IS NULL OR p.period = sqlc.narg(only_period)::date)
        ))
        AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
        AND (sqlc.arg(only_chain)::text = '' OR u.chain = sqlc.arg(only_chain)::text)
    GROUP BY u.key_id, u.outcome
), sums AS (
    SELECT
        GROUPING(class, method, chain) AS words, class, NULL::uuid AS key_id, method, chain,
        coalesce(sum(requests), 0) AS requests,
        coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund')), 0) AS billable,
        coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0) AS hits,
        coalesce(sum(units), 0) AS units
    FROM lines
    GROUP BY GROUPING SETS ((), (class), (method), (chain))
    UNION ALL
    SELECT
        -1, NULL, key_id, NULL, NULL,
        sum(requests),
        coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund')), 0),
        coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0),
        sum(units)
    FROM lines_of_keys
    GROUP BY key_id
)
SELECT
    dimension::integer AS dimension, coalesce(class, '')::text AS class, coalesce(key_id, '00000000-0000-0000-0000-000000000000')::uuid AS key_id,
    coalesce(method, '')::text AS method, coalesce(chain, '')::text AS chain, requests::bigint AS requests, billable::bigint AS billable,
    hits::bigint AS hits, units::bigint AS units, groups::bigint AS groups
FROM (
    SELECT
        CASE words WHEN 7 THEN 15 WHEN 3 THEN 7 WHEN 5 THEN 13 WHEN 6 THEN 14 ELSE 11 END AS dimension,
        class, key_id, method, chain, requests, billable, hits, units, count(*) OVER (PARTITION BY words) AS groups,
        row_number() OVER (PARTITION BY words ORDER BY requests DESC, units DESC, class, key_id, method, chain) AS place
    FROM sums
) AS ranked
WHERE ranked.place <= sqlc.arg(max_rows)::bigint
ORDER BY dimension, place;

-- name: SumUsageSteps :many
-- Usage by steps of time that begin at the first hour. Steps that are no whole days take the hours alone.
SELECT
    date_bin(make_interval(secs => sqlc.arg(step_seconds)::bigint), u.start, sqlc.arg(since)::timestamptz)::timestamptz AS start,
    coalesce(sum(u.requests), 0)::bigint AS requests,
    coalesce(sum(u.requests) FILTER (WHERE u.outcome IN ('ok', 'refund')), 0)::bigint AS billable,
    coalesce(sum(u.requests) FILTER (WHERE u.outcome IN ('ok', 'refund') AND u.service = 'utils'), 0)::bigint AS computed,
    coalesce(sum(u.requests) FILTER (WHERE u.outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(u.units), 0)::bigint AS units,
    coalesce(sum(u.units) FILTER (WHERE u.source LIKE 'pack:%'), 0)::bigint AS pack_units
FROM usage_parts AS u
WHERE u.account_id = sqlc.arg(account) AND u.by_key = (sqlc.narg(keys)::uuid[] IS NOT NULL)
    AND (
        (u.step = 'hour' AND u.start >= sqlc.arg(since)::timestamptz AND u.start < sqlc.arg(from_day)::timestamptz)
        OR (u.step = 'day' AND u.start >= sqlc.arg(from_day)::timestamptz)
    )
    AND u.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
            AND (sqlc.narg(only_period)::date IS NULL OR p.period = sqlc.narg(only_period)::date)
    ))
    AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR u.chain = sqlc.arg(only_chain)::text)
GROUP BY 1
ORDER BY 1;

-- name: SumFailureGroups :many
-- What was refused or failed, by reason and by chain and method, the largest groups of each. dimension is that of GROUPING: 3 for a reason, 4 for a
-- method on a chain.
WITH lines AS (
    SELECT u.chain, u.method, u.outcome, sum(u.requests) AS requests
    FROM usage_parts AS u
    WHERE u.account_id = sqlc.arg(account) AND u.by_key = (sqlc.narg(keys)::uuid[] IS NOT NULL)
        AND (
            (u.step = 'hour' AND u.start >= sqlc.arg(since)::timestamptz AND u.start < sqlc.arg(from_day)::timestamptz)
            OR (u.step = 'day' AND u.start >= sqlc.arg(from_day)::timestamptz)
        )
        AND u.period = ANY(ARRAY(
            SELECT p.period
            FROM usage_periods AS p
            WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
                AND (sqlc.narg(only_period)::date IS NULL OR p.period = sqlc.narg(only_period)::date)
        ))
        AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
        AND (sqlc.arg(only_chain)::text = '' OR u.chain = sqlc.arg(only_chain)::text)
        AND u.outcome NOT IN ('ok', 'hit', 'refund')
    GROUP BY u.chain, u.method, u.outcome
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
WHERE ranked.place <= sqlc.arg(max_rows)::bigint
ORDER BY dimension, place;

-- name: SumFailureSteps :many
-- What was refused or failed, by steps of time as those of SumUsageSteps, of these methods on their chains.
SELECT
    date_bin(make_interval(secs => sqlc.arg(step_seconds)::bigint), u.start, sqlc.arg(since)::timestamptz)::timestamptz AS start,
    u.chain, u.method, sum(u.requests)::bigint AS requests
FROM usage_parts AS u
WHERE u.account_id = sqlc.arg(account) AND u.by_key = (sqlc.narg(keys)::uuid[] IS NOT NULL)
    AND (
        (u.step = 'hour' AND u.start >= sqlc.arg(since)::timestamptz AND u.start < sqlc.arg(from_day)::timestamptz)
        OR (u.step = 'day' AND u.start >= sqlc.arg(from_day)::timestamptz)
    )
    AND u.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
            AND (sqlc.narg(only_period)::date IS NULL OR p.period = sqlc.narg(only_period)::date)
    ))
    AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR u.chain = sqlc.arg(only_chain)::text)
    AND u.outcome NOT IN ('ok', 'hit', 'refund')
    AND (u.chain, u.method) IN (SELECT unnest(sqlc.arg(chains)::text[]), unnest(sqlc.arg(methods)::text[]))
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3;

-- name: SumAnswered :many
-- What was answered by upstreams and by the cache, by the words that say what a call weighs.
SELECT
    u.service, u.method, u.class, u.tier,
    coalesce(sum(u.requests) FILTER (WHERE u.outcome IN ('ok', 'refund')), 0)::bigint AS billable,
    coalesce(sum(u.requests) FILTER (WHERE u.outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(u.units), 0)::bigint AS units
FROM usage_parts AS u
WHERE u.account_id = sqlc.arg(account) AND u.by_key = (sqlc.narg(keys)::uuid[] IS NOT NULL)
    AND (
        (u.step = 'hour' AND u.start >= sqlc.arg(since)::timestamptz AND u.start < sqlc.arg(from_day)::timestamptz)
        OR (u.step = 'day' AND u.start >= sqlc.arg(from_day)::timestamptz)
    )
    AND u.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
            AND (sqlc.narg(only_period)::date IS NULL OR p.period = sqlc.narg(only_period)::date)
    ))
    AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR u.chain = sqlc.arg(only_chain)::text)
    AND u.outcome IN ('ok', 'refund', 'hit')
GROUP BY u.service, u.method, u.class, u.tier
ORDER BY hits DESC, billable DESC, u.service, u.method, u.class, u.tier;
