-- name: InsertPack :one
INSERT INTO packs (id, account_id, kind, units, origin, granted_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (origin) DO NOTHING
RETURNING *;

-- name: HasPassed :one
SELECT (sqlc.arg(at)::timestamptz <= now())::boolean;

-- name: GetPackByOrigin :one
SELECT *
FROM packs
WHERE origin = $1;

-- name: ListPacks :many
-- In the order in which they are drawn.
SELECT *
FROM packs
WHERE account_id = $1
ORDER BY expires_at, id;

-- name: LockPackByOrigin :one
SELECT *
FROM packs
WHERE origin = $1
FOR UPDATE;

-- name: VoidPack :one
-- What is left is drawn no more from now on; one that expired before stays as it was.
UPDATE packs
SET voided_at = sqlc.arg(at), void_reason = sqlc.arg(reason), expires_at = least(expires_at, sqlc.arg(at))
WHERE id = sqlc.arg(id)
RETURNING *;
