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
