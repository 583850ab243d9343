-- name: CountFeedback :one
SELECT count(*)
FROM feedback
WHERE account_id = sqlc.arg(account);

-- name: InsertFeedback :one
INSERT INTO feedback (id, account_id, key_id, user_id, agent_id, scope_id, kind, title, body, chain, channel, created_at)
VALUES (
    sqlc.arg(id), sqlc.arg(account), sqlc.narg(key), sqlc.narg(user_id), sqlc.narg(agent), sqlc.narg(scope), sqlc.arg(kind), sqlc.arg(title), sqlc.arg(body), sqlc.arg(chain),
    sqlc.arg(channel), sqlc.arg(at)
)
RETURNING *;

-- name: ListFeedback :many
-- Newest first, before an id; ids are in the order of time.
SELECT *
FROM feedback
WHERE account_id = sqlc.arg(account) AND id < sqlc.arg(before) AND status = coalesce(sqlc.narg(status), status)
    AND (sqlc.narg(scope)::uuid IS NULL OR scope_id = sqlc.narg(scope))
ORDER BY id DESC
LIMIT sqlc.arg(max_rows);

-- name: AnswerFeedback :one
UPDATE feedback
SET status = sqlc.arg(status), reply = sqlc.arg(reply), answers = answers + 1, answered_at = sqlc.arg(at)::timestamptz
WHERE id = sqlc.arg(id)
RETURNING *;

-- name: InsertWish :exec
INSERT INTO wishlist (id, items, email, channel, created_at)
VALUES (sqlc.arg(id), sqlc.arg(items), sqlc.arg(email), sqlc.arg(channel), sqlc.arg(at));
