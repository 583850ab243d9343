-- name: InsertAccount :one
INSERT INTO accounts (id, kind, plan)
VALUES ($1, $2, $3)
RETURNING id, kind, plan, status, version, created_at;

-- name: GetAccount :one
SELECT id, kind, plan, status, version, created_at
FROM accounts
WHERE id = $1;

-- name: SetAccountStatus :one
UPDATE accounts
SET status = sqlc.arg(status), version = version + 1
WHERE id = sqlc.arg(id) AND status <> sqlc.arg(status)
RETURNING id, kind, plan, status, version, created_at;

-- name: SetAccountPlan :one
UPDATE accounts
SET plan = sqlc.arg(plan), version = version + 1
WHERE id = sqlc.arg(id) AND plan <> sqlc.arg(plan)
RETURNING id, kind, plan, status, version, created_at;
