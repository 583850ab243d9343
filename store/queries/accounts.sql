-- name: InsertAccount :one
INSERT INTO accounts (id, kind, plan)
VALUES ($1, $2, $3)
RETURNING *;

-- name: GetAccount :one
SELECT *
FROM accounts
WHERE id = $1;

-- name: LockAccount :one
SELECT *
FROM accounts
WHERE id = $1
FOR UPDATE;

-- name: UpdateAccountLimits :one
UPDATE accounts
SET plan = sqlc.arg(plan), status = sqlc.arg(status), cycle_anchor = sqlc.narg(cycle_anchor), cycle_ends = sqlc.narg(cycle_ends),
    custom_quota = sqlc.narg(custom_quota), custom_rate_limit = sqlc.narg(custom_rate_limit), custom_rate_ms = sqlc.narg(custom_rate_ms),
    services_off = sqlc.arg(services_off), service_caps = sqlc.arg(service_caps), version = version + 1,
    next_plan = sqlc.narg(next_plan), next_plan_from = sqlc.narg(next_plan_from),
    terms_changed_at = CASE
        WHEN ROW(plan, cycle_anchor, cycle_ends, custom_quota) IS DISTINCT FROM ROW(
            sqlc.arg(plan)::text, sqlc.narg(cycle_anchor)::timestamptz, sqlc.narg(cycle_ends)::timestamptz, sqlc.narg(custom_quota)::bigint
        ) THEN clock_timestamp()
        ELSE terms_changed_at
    END
WHERE id = sqlc.arg(id)
RETURNING *;

-- name: ListAccountsAfter :many
SELECT *
FROM accounts
WHERE id > sqlc.arg(after)
ORDER BY id
LIMIT sqlc.arg(max_rows);

-- name: BumpAccount :one
UPDATE accounts
SET version = version + 1
WHERE id = $1
RETURNING *;

-- name: Clock :one
SELECT clock_timestamp()::timestamptz;
