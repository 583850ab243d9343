-- name: AddLostCalls :many
-- No more than so many are kept. The nonces that found no room; one that is there already is no further one.
WITH given AS (
    SELECT
        unnest(sqlc.arg(nonces)::text[]) AS nonce,
        unnest(sqlc.arg(accounts)::uuid[]) AS account_id,
        unnest(sqlc.arg(keys)::uuid[]) AS key_id,
        unnest(sqlc.arg(units)::bigint[]) AS units,
        unnest(sqlc.arg(services)::text[]) AS service,
        unnest(sqlc.arg(lines)::text[]) AS line,
        unnest(sqlc.arg(marks)::text[]) AS mark,
        unnest(sqlc.arg(not_after)::timestamptz[]) AS not_after,
        unnest(sqlc.arg(periods)::text[]) AS period,
        unnest(sqlc.arg(sources)::text[]) AS sources,
        unnest(sqlc.arg(slots)::text[]) AS slot,
        unnest(sqlc.arg(reasons)::text[]) AS reason
),
further AS (
    SELECT given.* FROM given WHERE NOT EXISTS (SELECT FROM lost_calls WHERE lost_calls.nonce = given.nonce)
),
room AS (
    SELECT (SELECT count(*) FROM lost_calls) + (SELECT count(*) FROM further) <= sqlc.arg(max_lost)::bigint AS is_left
),
added AS (
    INSERT INTO lost_calls (nonce, account_id, key_id, units, service, line, mark, not_after, period, sources, slot, reason)
    SELECT nonce, account_id, key_id, units, service, line, mark, not_after, period, sources, slot, reason
    FROM further
    WHERE (SELECT is_left FROM room)
    ON CONFLICT DO NOTHING
)
SELECT nonce::text FROM further WHERE NOT (SELECT is_left FROM room);

-- name: ListLostCalls :many
-- A page after one, oldest first.
SELECT nonce, account_id, key_id, units, service, line, mark, not_after, lost_at, period, sources, slot, reason
FROM lost_calls
WHERE (lost_at, nonce) > (sqlc.arg(after)::timestamptz, sqlc.arg(after_nonce)::text)
ORDER BY lost_at, nonce
LIMIT sqlc.arg(max_rows);

-- name: DeleteLostCall :execrows
DELETE FROM lost_calls
WHERE nonce = sqlc.arg(nonce);

-- name: CountLostCalls :one
SELECT count(*) FROM lost_calls;
