-- name: InsertKey :one
INSERT INTO keys (id, account_id, digest, prefix, name, door, daily_units, monthly_cap, claim_digest, agent_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, sqlc.narg(monthly_cap), sqlc.narg(claim_digest), sqlc.narg(agent_id))
RETURNING *;

-- name: GetKey :one
SELECT *
FROM keys
WHERE id = $1;

-- name: LockKey :one
SELECT *
FROM keys
WHERE id = $1
FOR UPDATE;

-- name: ListKeys :many
SELECT *
FROM keys
WHERE account_id = $1
ORDER BY created_at, id;

-- name: GetIdentity :one
SELECT keys.id AS key_id, keys.account_id, keys.door, keys.agent_id, accounts.plan
FROM keys
JOIN accounts ON accounts.id = keys.account_id
WHERE keys.digest = $1;

-- name: UpdateKeyFences :one
UPDATE keys
SET status = sqlc.arg(status), revoked_at = CASE WHEN sqlc.arg(status) = 'revoked' THEN coalesce(revoked_at, now()) END,
    monthly_cap = sqlc.narg(monthly_cap), services_off = sqlc.arg(services_off), service_caps = sqlc.arg(service_caps), version = version + 1
WHERE id = sqlc.arg(id)
RETURNING *;

-- name: ListKeysByPrefix :many
SELECT *
FROM keys
WHERE prefix = sqlc.arg(prefix)
ORDER BY created_at, id
LIMIT sqlc.arg(most);
