-- name: ClaimAgent :one
INSERT INTO agents (id, account_id, address, name, claimed_via, message)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (account_id, address) DO UPDATE
SET name = excluded.name, claimed_via = excluded.claimed_via, message = excluded.message, claimed_at = now()
RETURNING *;

-- name: CountOtherAgents :one
SELECT count(*)
FROM agents
WHERE account_id = sqlc.arg(account) AND address <> sqlc.arg(address);

-- name: LockKeyOfAgent :one
SELECT *
FROM keys
WHERE agent_id = sqlc.arg(agent)::uuid AND status = 'active'
FOR UPDATE;

-- name: GetAgent :one
SELECT *
FROM agents
WHERE id = $1 AND account_id = $2;

-- name: ListAgents :many
SELECT *
FROM agents
WHERE account_id = $1
ORDER BY claimed_at, id;

-- name: ListAgentKeys :many
-- Those that work.
SELECT *
FROM keys
WHERE account_id = $1 AND agent_id IS NOT NULL AND status = 'active';

-- name: ListAdoptedKeys :many
-- Keys that work and came to an account by their claim codes, in the order in which they came.
SELECT sqlc.embed(k), a.adopted_at
FROM keys AS k
JOIN adoptions AS a ON a.key_id = k.id
WHERE k.account_id = $1 AND k.door = 'owner_adopted' AND k.agent_id IS NULL AND k.status = 'active'
ORDER BY a.adopted_at, k.id;

-- name: GetKeyBefore :one
-- That ended in the transaction which made another one of its agent.
SELECT id
FROM keys
WHERE account_id = sqlc.arg(account) AND agent_id = sqlc.arg(agent)::uuid AND id <> sqlc.arg(key) AND revoked_at = sqlc.arg(made_at)::timestamptz
LIMIT 1;
