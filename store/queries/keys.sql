-- name: InsertKey :one
INSERT INTO keys (id, account_id, digest, prefix, name, door, daily_units)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING id, account_id, digest, prefix, name, door, status, daily_units, version, created_at, revoked_at, last_used_at;

-- name: GetKey :one
SELECT id, account_id, digest, prefix, name, door, status, daily_units, version, created_at, revoked_at, last_used_at
FROM keys
WHERE id = $1;

-- name: ListKeys :many
SELECT id, account_id, digest, prefix, name, door, status, daily_units, version, created_at, revoked_at, last_used_at
FROM keys
WHERE account_id = $1
ORDER BY created_at, id;

-- name: GetIdentity :one
SELECT keys.id AS key_id, keys.account_id, keys.door, accounts.plan
FROM keys
JOIN accounts ON accounts.id = keys.account_id
WHERE keys.digest = $1;

-- name: RevokeKey :one
UPDATE keys
SET status = 'revoked', revoked_at = now(), version = version + 1
WHERE id = $1 AND status = 'active'
RETURNING id, account_id, digest, prefix, name, door, status, daily_units, version, created_at, revoked_at, last_used_at;
