-- name: InsertStripeEvent :execrows
INSERT INTO stripe_events (id, type, api_version, object, customer, session, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO NOTHING;

-- name: MarkStripeEvent :execrows
UPDATE stripe_events
SET processed_at = now(), result = sqlc.arg(result)::text
WHERE id = sqlc.arg(id) AND processed_at IS NULL;

-- name: ListOpenStripeEvents :many
SELECT *
FROM stripe_events
WHERE processed_at IS NULL AND received_at < now() - make_interval(secs => sqlc.arg(older_seconds)::double precision)
ORDER BY received_at, id
LIMIT sqlc.arg(max_rows);

-- name: DeleteStripeEvents :execrows
-- Those that were processed long ago, in batches.
DELETE FROM stripe_events
WHERE id IN (
    SELECT e.id
    FROM stripe_events AS e
    WHERE e.received_at < sqlc.arg(before) AND e.processed_at IS NOT NULL
    ORDER BY e.received_at
    LIMIT sqlc.arg(max_rows)
);
