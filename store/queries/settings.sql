-- name: GetSettings :one
SELECT *
FROM account_settings
WHERE account_id = $1;

-- name: PutSettings :exec
INSERT INTO account_settings (account_id, notify_usage_80, notify_usage_100, notify_incidents, time_zone, insights)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (account_id) DO UPDATE
SET notify_usage_80 = excluded.notify_usage_80, notify_usage_100 = excluded.notify_usage_100, notify_incidents = excluded.notify_incidents,
    time_zone = excluded.time_zone, insights = excluded.insights, updated_at = now();

-- name: SetAccountName :exec
UPDATE accounts
SET name = sqlc.arg(name)
WHERE id = sqlc.arg(id);
