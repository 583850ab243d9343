-- name: LockStatements :exec
-- Whoever closes periods of these accounts does so alone until its transaction ends. In one order, so that two never deadlock.
SELECT pg_advisory_xact_lock(locks.number)
FROM (
    SELECT hashtextextended('statements of ' || id::text, 0) AS number
    FROM unnest(sqlc.arg(accounts)::uuid[]) AS id
    ORDER BY number
) AS locks;

-- name: GetStatement :one
SELECT account_id, period, starts_at, ends_at, content, content_hash, frozen_at
FROM statements
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period);

-- name: ListStatementContents :many
SELECT s.account_id, s.period, s.content, s.content_hash
FROM (
    SELECT unnest(sqlc.arg(accounts)::uuid[]) AS account_id, unnest(sqlc.arg(periods)::date[]) AS period
) AS wanted
JOIN statements AS s ON s.account_id = wanted.account_id AND s.period = wanted.period;

-- name: ListStatementHeads :many
SELECT account_id, period, starts_at, ends_at, requests, units
FROM statements
WHERE account_id = ANY(sqlc.arg(accounts)::uuid[]) AND ends_at > sqlc.arg(since)
ORDER BY account_id, period;

-- name: ListUnstatedUsage :many
-- Periods with usage and without a statement.
SELECT p.account_id, p.period
FROM usage_periods AS p
WHERE p.account_id = ANY(sqlc.arg(accounts)::uuid[])
    AND NOT EXISTS (SELECT FROM statements AS s WHERE s.account_id = p.account_id AND s.period = p.period)
ORDER BY p.account_id, p.period;

-- name: ListLateUsage :many
-- Closed periods whose usage is not what their statements and the adjustments since say. A flush that began before the statement was frozen may
-- be committed after it, so what was written an hour before counts too.
SELECT p.account_id, p.period
FROM usage_periods AS p
JOIN statements AS s ON s.account_id = p.account_id AND s.period = p.period
LEFT JOIN LATERAL (
    SELECT sum(a.requests) AS requests, sum(a.billable) AS billable, sum(a.refunded) AS refunded, sum(a.units) AS units
    FROM statement_adjustments AS a
    WHERE a.account_id = s.account_id AND a.period = s.period
) AS told ON true
WHERE p.account_id = ANY(sqlc.arg(accounts)::uuid[]) AND p.updated_at > s.frozen_at - interval '1 hour'
    AND ROW(p.requests, p.billable, p.refunded, p.units) <> ROW(
        s.requests + coalesce(told.requests, 0), s.billable + coalesce(told.billable, 0), s.refunded + coalesce(told.refunded, 0),
        s.units + coalesce(told.units, 0)
    )
ORDER BY p.account_id, p.period;

-- name: ListEndedPeriodsOf :many
SELECT account_id, period, starts_at, ends_at, plan, cut_at
FROM ended_periods
WHERE account_id = ANY(sqlc.arg(accounts)::uuid[])
ORDER BY account_id, period;

-- name: ListPlansAt :many
-- The plans that accounts had at instants from which they have another one since: as the audit log has it before the first change after.
SELECT wanted.account_id::uuid AS account_id, wanted.at::timestamptz AS at, changed.plan
FROM (
    SELECT unnest(sqlc.arg(accounts)::uuid[]) AS account_id, unnest(sqlc.arg(instants)::timestamptz[]) AS at
) AS wanted
CROSS JOIN LATERAL (
    SELECT (l.before ->> 'plan')::text AS plan
    FROM audit_log AS l
    WHERE l.account_id = wanted.account_id AND l.key_id IS NULL AND l.at >= wanted.at AND l.before ->> 'plan' IS NOT NULL
    ORDER BY l.id
    LIMIT 1
) AS changed;

-- name: SumStatementLines :many
-- Usage of periods by key, chain and class. What was refused at one of the limits is apart, by its name. What is frozen
-- is compiled from the hours, which are what all sums of them are proven by. Rows are added up by their words first, so that what becomes of a word is
-- asked once for each, not for each row: half the time.
SELECT wanted.account_id::uuid AS account_id, wanted.period::date AS period, lines.*
FROM (
    SELECT unnest(sqlc.arg(accounts)::uuid[]) AS account_id, unnest(sqlc.arg(periods)::date[]) AS period
) AS wanted
CROSS JOIN LATERAL (
    SELECT
        h.key_id, h.agent, h.chain, h.class,
        (CASE WHEN h.outcome = ANY(sqlc.arg(limits)::text[]) THEN h.outcome ELSE '' END)::text AS limited,
        sum(h.requests)::bigint AS requests,
        coalesce(sum(h.requests) FILTER (WHERE h.outcome IN ('ok', 'refund')), 0)::bigint AS billable,
        coalesce(sum(h.requests) FILTER (WHERE h.outcome = 'hit'), 0)::bigint AS hits,
        coalesce(sum(h.requests) FILTER (WHERE h.outcome NOT IN ('ok', 'refund', 'hit')), 0)::bigint AS refused,
        coalesce(-sum(h.requests) FILTER (WHERE h.outcome = 'refund'), 0)::bigint AS refunded,
        sum(h.units)::bigint AS units,
        coalesce(sum(h.units) FILTER (WHERE h.source = 'plan'), 0)::bigint AS plan_units,
        coalesce(sum(h.units) FILTER (WHERE h.source LIKE 'pack:%'), 0)::bigint AS pack_units
    FROM (
        SELECT u.key_id, u.agent, u.chain, u.class, u.outcome, u.source, sum(u.requests) AS requests, sum(u.units) AS units
        FROM usage_hours AS u
        WHERE u.account_id = wanted.account_id AND u.period = wanted.period
        GROUP BY u.key_id, u.agent, u.chain, u.class, u.outcome, u.source
    ) AS h
    GROUP BY 1, 2, 3, 4, 5
) AS lines;

-- name: SumLiveLines :many
-- As SumStatementLines out of the days, for what is shown of a period and not kept.
SELECT wanted.account_id::uuid AS account_id, wanted.period::date AS period, lines.*
FROM (
    SELECT unnest(sqlc.arg(accounts)::uuid[]) AS account_id, unnest(sqlc.arg(periods)::date[]) AS period
) AS wanted
CROSS JOIN LATERAL (
    SELECT
        h.key_id, h.agent, h.chain, h.class,
        (CASE WHEN h.outcome = ANY(sqlc.arg(limits)::text[]) THEN h.outcome ELSE '' END)::text AS limited,
        sum(h.requests)::bigint AS requests,
        coalesce(sum(h.requests) FILTER (WHERE h.outcome IN ('ok', 'refund')), 0)::bigint AS billable,
        coalesce(sum(h.requests) FILTER (WHERE h.outcome = 'hit'), 0)::bigint AS hits,
        coalesce(sum(h.requests) FILTER (WHERE h.outcome NOT IN ('ok', 'refund', 'hit')), 0)::bigint AS refused,
        coalesce(-sum(h.requests) FILTER (WHERE h.outcome = 'refund'), 0)::bigint AS refunded,
        sum(h.units)::bigint AS units,
        coalesce(sum(h.units) FILTER (WHERE h.source = 'plan'), 0)::bigint AS plan_units,
        coalesce(sum(h.units) FILTER (WHERE h.source LIKE 'pack:%'), 0)::bigint AS pack_units
    FROM (
        SELECT u.key_id, u.agent, u.chain, u.class, u.outcome, u.source, sum(u.requests) AS requests, sum(u.units) AS units
        FROM usage_days AS u
        WHERE u.account_id = wanted.account_id AND u.period = wanted.period
        GROUP BY u.key_id, u.agent, u.chain, u.class, u.outcome, u.source
    ) AS h
    GROUP BY 1, 2, 3, 4, 5
) AS lines;

-- name: ListStatementKeys :many
SELECT k.id, k.account_id, k.prefix, k.name, k.door, coalesce(a.name, '')::text AS agent_name
FROM keys AS k
LEFT JOIN agents AS a ON a.id = k.agent_id
WHERE k.id = ANY(sqlc.arg(keys)::uuid[]);

-- name: ListUntoldInvoices :many
-- Invoices created before an instant of their account that no statement tells of yet, oldest first.
SELECT
    i.id, i.account_id, i.number, i.status, i.reason, i.currency, i.net, i.vat, i.total, i.paid, i.created_at, i.paid_at, i.period_start,
    i.period_end
FROM (
    SELECT unnest(sqlc.arg(accounts)::uuid[]) AS account_id, unnest(sqlc.arg(before)::timestamptz[]) AS before
) AS wanted
JOIN invoices AS i ON i.account_id = wanted.account_id AND i.created_at < wanted.before
WHERE NOT EXISTS (SELECT FROM statement_invoices AS t WHERE t.invoice = i.id)
ORDER BY i.account_id, i.created_at, i.id;

-- name: ListAdjustmentsOf :many
SELECT a.account_id, a.period, a.stated_in, a.content
FROM (
    SELECT unnest(sqlc.arg(accounts)::uuid[]) AS account_id, unnest(sqlc.arg(periods)::date[]) AS period
) AS wanted
JOIN statement_adjustments AS a ON a.account_id = wanted.account_id AND a.period = wanted.period
ORDER BY a.account_id, a.period, a.stated_in;

-- name: InsertStatements :exec
INSERT INTO statements (
    account_id, period, starts_at, ends_at, requests, billable, hits, refused, refunded, units, plan_units, pack_units, content, content_hash
)
SELECT
    unnest(sqlc.arg(accounts)::uuid[]), unnest(sqlc.arg(periods)::date[]), unnest(sqlc.arg(starts)::timestamptz[]),
    unnest(sqlc.arg(ends)::timestamptz[]), unnest(sqlc.arg(requests)::bigint[]), unnest(sqlc.arg(billable)::bigint[]),
    unnest(sqlc.arg(hits)::bigint[]), unnest(sqlc.arg(refused)::bigint[]), unnest(sqlc.arg(refunded)::bigint[]),
    unnest(sqlc.arg(units)::bigint[]), unnest(sqlc.arg(plan_units)::bigint[]), unnest(sqlc.arg(pack_units)::bigint[]),
    unnest(sqlc.arg(contents)::bytea[]), unnest(sqlc.arg(hashes)::bytea[]);

-- name: MarkStated :exec
-- Periods that have a statement now. In the order in which flushes take their rows, so that two never deadlock.
UPDATE usage_periods AS p
SET stated = true
FROM (
    SELECT u.account_id, u.period
    FROM usage_periods AS u
    JOIN (
        SELECT unnest(sqlc.arg(accounts)::uuid[]) AS account_id, unnest(sqlc.arg(periods)::date[]) AS period
    ) AS frozen ON frozen.account_id = u.account_id AND frozen.period = u.period
    ORDER BY u.account_id, u.period
    FOR UPDATE OF u
) AS held
WHERE p.account_id = held.account_id AND p.period = held.period;

-- name: InsertAdjustments :exec
INSERT INTO statement_adjustments (
    account_id, period, stated_in, requests, billable, hits, refused, refunded, units, plan_units, pack_units, content
)
SELECT
    unnest(sqlc.arg(accounts)::uuid[]), unnest(sqlc.arg(periods)::date[]), unnest(sqlc.arg(stated_in)::date[]),
    unnest(sqlc.arg(requests)::bigint[]), unnest(sqlc.arg(billable)::bigint[]), unnest(sqlc.arg(hits)::bigint[]),
    unnest(sqlc.arg(refused)::bigint[]), unnest(sqlc.arg(refunded)::bigint[]), unnest(sqlc.arg(units)::bigint[]),
    unnest(sqlc.arg(plan_units)::bigint[]), unnest(sqlc.arg(pack_units)::bigint[]), unnest(sqlc.arg(contents)::bytea[]);

-- name: InsertToldInvoices :exec
INSERT INTO statement_invoices (invoice, account_id, period)
SELECT unnest(sqlc.arg(invoices)::text[]), unnest(sqlc.arg(accounts)::uuid[]), unnest(sqlc.arg(periods)::date[]);

-- name: ListWatermarks :many
SELECT shard, watermark
FROM usage_watermarks;

-- name: GetStatementEvidence :one
-- What was told of a closed period: by its statement, and with the adjustments since; what its content says; and whether usage was recorded after
-- the account's newest statement, which the next one adjusts. A flush that began before may be committed after it; a period's own usage is recorded
-- five minutes before its statement is frozen.
SELECT
    (s.requests + coalesce(a.requests, 0))::bigint AS requests,
    (s.billable + coalesce(a.billable, 0))::bigint AS billable,
    (s.hits + coalesce(a.hits, 0))::bigint AS hits,
    (s.refused + coalesce(a.refused, 0))::bigint AS refused,
    (s.refunded + coalesce(a.refunded, 0))::bigint AS refunded,
    (s.units + coalesce(a.units, 0))::bigint AS units,
    (s.plan_units + coalesce(a.plan_units, 0))::bigint AS plan_units,
    (s.pack_units + coalesce(a.pack_units, 0))::bigint AS pack_units,
    s.requests AS frozen_requests, s.units AS frozen_units,
    coalesce((convert_from(s.content, 'UTF8')::jsonb -> 'totals' ->> 'requests')::bigint, 0)::bigint AS content_requests,
    coalesce(((convert_from(s.content, 'UTF8')::jsonb -> 'totals' ->> 'units')::numeric * 1000)::bigint, 0)::bigint AS content_units,
    EXISTS (
        SELECT
        FROM usage_periods AS p
        WHERE p.account_id = s.account_id AND p.period = s.period AND p.updated_at > (
            SELECT max(n.frozen_at) - interval '4 minutes'
            FROM statements AS n
            WHERE n.account_id = s.account_id
        )
    ) AS pending
FROM statements AS s
LEFT JOIN LATERAL (
    SELECT
        sum(t.requests) AS requests, sum(t.billable) AS billable, sum(t.hits) AS hits, sum(t.refused) AS refused, sum(t.refunded) AS refunded,
        sum(t.units) AS units, sum(t.plan_units) AS plan_units, sum(t.pack_units) AS pack_units
    FROM statement_adjustments AS t
    WHERE t.account_id = s.account_id AND t.period = s.period
) AS a ON true
WHERE s.account_id = sqlc.arg(account) AND s.period = sqlc.arg(period);
