-- name: ListAllowances :many
SELECT id, plan, custom_quota, cycle_anchor, cycle_ends, next_plan, next_plan_from, terms_changed_at
FROM accounts
WHERE id = ANY(sqlc.arg(ids)::uuid[]);

-- name: InsertNotices :exec
-- What was noticed before stays as it is.
INSERT INTO usage_notices (account_id, period, percent, units, allowance)
SELECT account_id, period, percent, units, allowance
FROM (
    SELECT
        unnest(sqlc.arg(accounts)::uuid[]) AS account_id,
        unnest(sqlc.arg(periods)::date[]) AS period,
        unnest(sqlc.arg(percents)::smallint[]) AS percent,
        unnest(sqlc.arg(units)::bigint[]) AS units,
        unnest(sqlc.arg(allowances)::bigint[]) AS allowance
) AS incoming
ORDER BY account_id, period, percent
ON CONFLICT DO NOTHING;

-- name: ListOpenNotices :many
-- Notices that nothing carries yet, and those whose carrier should have ended long ago. Oldest first.
SELECT account_id, period, percent, units, allowance, noticed_at, started_at, delivered_at, result
FROM usage_notices
WHERE result IS NULL
    AND (started_at IS NULL OR started_at < now() - make_interval(secs => sqlc.arg(stale_seconds)::double precision))
ORDER BY noticed_at
LIMIT sqlc.arg(max_rows)::integer;

-- name: StartNotice :exec
UPDATE usage_notices
SET started_at = now()
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period) AND percent = sqlc.arg(percent);

-- name: GetNotice :one
SELECT account_id, period, percent, units, allowance, noticed_at, started_at, delivered_at, result
FROM usage_notices
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period) AND percent = sqlc.arg(percent);

-- name: EndNotice :one
-- The first result stands.
UPDATE usage_notices
SET
    result = coalesce(result, sqlc.arg(result)::text),
    delivered_at = CASE WHEN result IS NULL AND sqlc.arg(delivered)::boolean THEN now() ELSE delivered_at END
WHERE account_id = sqlc.arg(account) AND period = sqlc.arg(period) AND percent = sqlc.arg(percent)
RETURNING result::text;
