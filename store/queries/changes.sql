-- name: InsertAudit :exec
INSERT INTO audit_log (account_id, key_id, actor, origin, action, reason, before, after)
VALUES (sqlc.arg(account_id), sqlc.narg(key_id), sqlc.arg(actor), sqlc.arg(origin), sqlc.arg(action), sqlc.arg(reason),
    sqlc.arg(before), sqlc.arg(after));

-- name: ListAudit :many
SELECT *
FROM audit_log
WHERE account_id = sqlc.arg(account)
    AND id < sqlc.arg(before)
ORDER BY id DESC
LIMIT sqlc.arg(max_rows);

-- name: QueuePush :exec
INSERT INTO fence_pushes (account_id, key_id, version)
VALUES ($1, $2, $3)
ON CONFLICT (account_id, key_id) DO UPDATE
SET version = greatest(fence_pushes.version, excluded.version), since = now(), due_at = now();

-- name: DonePush :exec
-- A version that was pushed is due again for a while.
UPDATE fence_pushes
SET pushed = greatest(pushed, sqlc.arg(pushed)), due_at = now() + make_interval(secs => sqlc.arg(again_seconds)::double precision)
WHERE account_id = sqlc.arg(account) AND key_id = sqlc.arg(key) AND version <= sqlc.arg(pushed);

-- name: ForgetPushes :exec
DELETE FROM fence_pushes
WHERE pushed >= version AND since < now() - make_interval(secs => sqlc.arg(kept_seconds)::double precision);

-- name: DelayPush :exec
UPDATE fence_pushes
SET due_at = now() + make_interval(secs => sqlc.arg(delay_seconds)::double precision)
WHERE account_id = sqlc.arg(account) AND key_id = sqlc.arg(key);

-- name: ListPushes :many
SELECT account_id, key_id, version, pushed, since
FROM fence_pushes
WHERE due_at <= now() - make_interval(secs => sqlc.arg(older_seconds)::double precision)
ORDER BY due_at, account_id, key_id
LIMIT sqlc.arg(max_rows);

-- name: ListPushesOf :many
SELECT account_id, key_id, version, since
FROM fence_pushes
WHERE account_id = sqlc.arg(account) AND pushed < version
ORDER BY since, key_id;

-- name: ListLastKeyChanges :many
SELECT key_id::uuid AS key_id, max(at)::timestamptz AS at
FROM audit_log
WHERE account_id = sqlc.arg(account) AND key_id IS NOT NULL
GROUP BY key_id;

-- name: ListPushesOfKey :many
-- That the meter has not taken, in whichever account.
SELECT account_id, key_id, version, pushed, since
FROM fence_pushes
WHERE key_id = sqlc.arg(key) AND pushed < version;
