-- name: AddPeriods :many
-- Adds to the totals of periods and returns what was drawn from the plan so far. In one order, so that two writers never deadlock.
INSERT INTO usage_periods (
    account_id, period, requests, billable, hits, refused, refunded, units, plan_units, pack_units
)
SELECT account_id, period, requests, billable, hits, refused, refunded, units, plan_units, pack_units
FROM (
    SELECT
        unnest(sqlc.arg(accounts)::uuid[]) AS account_id,
        unnest(sqlc.arg(periods)::date[]) AS period,
        unnest(sqlc.arg(requests)::bigint[]) AS requests,
        unnest(sqlc.arg(billable)::bigint[]) AS billable,
        unnest(sqlc.arg(hits)::bigint[]) AS hits,
        unnest(sqlc.arg(refused)::bigint[]) AS refused,
        unnest(sqlc.arg(refunded)::bigint[]) AS refunded,
        unnest(sqlc.arg(units)::bigint[]) AS units,
        unnest(sqlc.arg(plan_units)::bigint[]) AS plan_units,
        unnest(sqlc.arg(pack_units)::bigint[]) AS pack_units
) AS incoming
ORDER BY account_id, period
ON CONFLICT (account_id, period) DO UPDATE SET
    requests = usage_periods.requests + excluded.requests,
    billable = usage_periods.billable + excluded.billable,
    hits = usage_periods.hits + excluded.hits,
    refused = usage_periods.refused + excluded.refused,
    refunded = usage_periods.refunded + excluded.refunded,
    units = usage_periods.units + excluded.units,
    plan_units = usage_periods.plan_units + excluded.plan_units,
    pack_units = usage_periods.pack_units + excluded.pack_units,
    updated_at = now()
RETURNING account_id, period, plan_units;

-- name: GetPeriod :one
SELECT requests, billable, hits, refused, refunded, units, plan_units, pack_units
FROM usage_periods
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period);

-- name: SumHoursOfPeriod :one
-- The same figures as GetPeriod, out of the hours.
SELECT
    coalesce(sum(requests), 0)::bigint AS requests,
    coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund')), 0)::bigint AS billable,
    coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(requests) FILTER (WHERE outcome NOT IN ('ok', 'refund', 'hit')), 0)::bigint AS refused,
    coalesce(-sum(requests) FILTER (WHERE outcome = 'refund'), 0)::bigint AS refunded,
    coalesce(sum(units), 0)::bigint AS units,
    coalesce(sum(units) FILTER (WHERE source = 'plan'), 0)::bigint AS plan_units,
    coalesce(sum(units) FILTER (WHERE source LIKE 'pack:%'), 0)::bigint AS pack_units
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period);

-- name: SumSourcesOfPeriod :many
SELECT source, sum(requests)::bigint AS requests, sum(units)::bigint AS units
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period)
GROUP BY source
ORDER BY source;

-- name: ListPeriods :many
-- Pairs that either book has, after the given one. The first query steps from pair to pair through the index of usage_hours, however many
-- hours lie between them.
WITH RECURSIVE hours AS (
    (
        SELECT h.account_id, h.period
        FROM usage_hours AS h
        WHERE (h.account_id, h.period) > (sqlc.arg(after_account)::uuid, sqlc.arg(after_period)::date)
        ORDER BY h.account_id, h.period
        LIMIT 1
    )
    UNION ALL
    SELECT n.account_id, n.period
    FROM hours
    CROSS JOIN LATERAL (
        SELECT h.account_id, h.period
        FROM usage_hours AS h
        WHERE (h.account_id, h.period) > (hours.account_id, hours.period)
        ORDER BY h.account_id, h.period
        LIMIT 1
    ) AS n
)
SELECT both_books.account_id, both_books.period
FROM (
    (SELECT hours.account_id, hours.period FROM hours LIMIT sqlc.arg(max_rows)::integer)
    UNION
    (
        SELECT p.account_id, p.period
        FROM usage_periods AS p
        WHERE (p.account_id, p.period) > (sqlc.arg(after_account)::uuid, sqlc.arg(after_period)::date)
        ORDER BY p.account_id, p.period
        LIMIT sqlc.arg(max_rows)::integer
    )
) AS both_books
ORDER BY both_books.account_id, both_books.period
LIMIT sqlc.arg(max_rows)::integer;

-- name: SumWordsOfPeriod :one
-- Units of a period, added up by key, chain and class, and how many such groups there are.
SELECT count(*) AS word_groups, coalesce(sum(grouped.units), 0)::bigint AS units
FROM (
    SELECT sum(units) AS units
    FROM usage_hours
    WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period)
    GROUP BY key_id, chain, class
) AS grouped;

-- name: GetImpossibleLine :one
-- A line that no call can have left: only a refund takes back, and it never gives; a hit or a refusal costs nothing.
SELECT account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier, requests, units
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period)
    AND (
        (outcome = 'refund' AND (requests > 0 OR units > 0))
        OR (outcome <> 'refund' AND (requests < 0 OR units < 0))
        OR (outcome NOT IN ('ok', 'refund') AND units <> 0)
    )
ORDER BY account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier
LIMIT 1;

-- name: GetOverRefund :one
-- Words for which more was given back than was charged, with both.
SELECT
    key_id, agent, chain, service, method, class, source, tier,
    coalesce(sum(requests) FILTER (WHERE outcome = 'ok'), 0)::bigint AS charged_requests,
    coalesce(sum(units) FILTER (WHERE outcome = 'ok'), 0)::bigint AS charged_units,
    coalesce(-sum(requests) FILTER (WHERE outcome = 'refund'), 0)::bigint AS refunded_requests,
    coalesce(-sum(units) FILTER (WHERE outcome = 'refund'), 0)::bigint AS refunded_units
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period) AND outcome IN ('ok', 'refund')
GROUP BY key_id, agent, chain, service, method, class, source, tier
HAVING sum(requests) < 0 OR sum(units) < 0
ORDER BY key_id, agent, chain, service, method, class, source, tier
LIMIT 1;
