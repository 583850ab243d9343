-- name: GetWallet :one
SELECT *
FROM wallets
WHERE address = $1;

-- name: GetWalletOfKey :one
SELECT *
FROM wallets
WHERE key_id = sqlc.arg(key)::uuid;

-- name: LockWallet :one
SELECT *
FROM wallets
WHERE address = $1
FOR UPDATE;

-- name: InsertWallet :one
INSERT INTO wallets (address, account_id, key_id, message)
VALUES ($1, $2, sqlc.arg(key)::uuid, $3)
RETURNING *;

-- name: RebindWallet :one
UPDATE wallets
SET key_id = sqlc.arg(key)::uuid, message = sqlc.arg(message), bound_at = now()
WHERE address = sqlc.arg(address)
RETURNING *;

-- name: BecomeWallet :exec
UPDATE accounts
SET kind = 'wallet'
WHERE id = $1;

-- name: BindKey :one
-- Into the account of its wallet, which may be the one that it is in.
UPDATE keys
SET account_id = sqlc.arg(account), door = 'wallet_bound', daily_units = NULL, version = version + 1
WHERE id = sqlc.arg(id)
RETURNING *;
