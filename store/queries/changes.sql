-- name: InsertAudit :exec
INSERT INTO audit_log (account_id, key_id, actor, origin, action, reason, before, after)
VALUES (sqlc.arg(account_id), sqlc.narg(key_id), sqlc.arg(actor), sqlc.arg(origin), sqlc.arg(action), sqlc.arg(reason),
    sqlc.arg(before), sqlc.arg(after));

-- name: ListAudit :many
SELECT *
FROM audit_log
WHERE account_id = sqlc.arg(account)
ORDER BY id DESC
LIMIT sqlc.arg(most);

-- name: QueuePush :exec
INSERT INTO fence_pushes (account_id, key_id, version)
VALUES ($1, $2, $3)
ON CONFLICT (account_id, key_id) DO UPDATE SET version = greatest(fence_pushes.version, excluded.version);

-- name: DonePush :exec
DELETE FROM fence_pushes
WHERE account_id = $1 AND key_id = $2 AND version <= $3;

-- name: ListPushes :many
SELECT account_id, key_id, version, since
FROM fence_pushes
WHERE since <= now() - make_interval(secs => sqlc.arg(older_seconds)::double precision)
ORDER BY since, account_id, key_id
LIMIT sqlc.arg(most);
