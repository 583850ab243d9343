-- name: InsertKey :one
INSERT INTO keys (id, account_id, digest, prefix, name, door, daily_units, monthly_cap, claim_digest, agent_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, sqlc.narg(monthly_cap), sqlc.narg(claim_digest), sqlc.narg(agent_id))
RETURNING *;

-- name: GetKey :one
SELECT *
FROM keys
WHERE id = $1;

-- name: LockKey :one
-- within is the account that the author may change keys of; null for all.
SELECT *
FROM keys
WHERE id = sqlc.arg(id) AND account_id = coalesce(sqlc.narg(within), account_id)
FOR UPDATE;

-- name: GetKeyOf :one
SELECT *
FROM keys
WHERE id = sqlc.arg(id) AND account_id = sqlc.arg(account);

-- name: CountActiveKeys :one
SELECT count(*)
FROM keys
WHERE account_id = $1 AND status = 'active';

-- name: ListLastUses :many
-- The hour in which each key of an account was used last, as far as usage is recorded.
SELECT keys.id AS key_id, used.hour::timestamptz AS hour
FROM keys
CROSS JOIN LATERAL (
    SELECT usage_hours.hour
    FROM usage_hours
    WHERE usage_hours.key_id = keys.id AND usage_hours.account_id = keys.account_id
    ORDER BY usage_hours.hour DESC
    LIMIT 1
) AS used
WHERE keys.account_id = $1;

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

-- name: UpdateKeyLimits :one
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
LIMIT sqlc.arg(max_rows);

-- name: ListKeysOfAgent :many
SELECT id
FROM keys
WHERE account_id = sqlc.arg(account) AND agent_id = sqlc.arg(agent)::uuid;
