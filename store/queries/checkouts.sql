-- name: LockOffer :exec
-- One checkout of an offer at a time is counted, so that its seats are not given twice.
SELECT pg_advisory_xact_lock(hashtextextended('offer/' || sqlc.arg(offer)::text, 0));

-- name: CountSeats :one
-- Seats that are sold, or held by an open checkout.
SELECT count(*)
FROM checkouts
WHERE item = sqlc.arg(offer)::text AND item = 'founding' AND state IN ('open', 'paid');

-- name: CountOpenCheckouts :one
-- Of packs, or of plans; and of one item.
SELECT count(*) FILTER (WHERE starts_with(item, 'pack_') = sqlc.arg(packs)::boolean) AS alike, count(*) FILTER (WHERE item = sqlc.arg(item)) AS same
FROM checkouts
WHERE account_id = sqlc.arg(account) AND state = 'open';

-- name: InsertCheckout :one
INSERT INTO checkouts (id, account_id, item, country, opened_at, expires_at, tax_evidence)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING *;

-- name: SetCheckoutSession :execrows
UPDATE checkouts
SET session = sqlc.arg(session)::text
WHERE id = sqlc.arg(id) AND (session IS NULL OR session = sqlc.arg(session)::text);

-- name: GetCheckout :one
SELECT *
FROM checkouts
WHERE id = $1;

-- name: GetCheckoutBySession :one
SELECT *
FROM checkouts
WHERE session = sqlc.arg(session)::text;

-- name: EndCheckout :one
-- Once ended it stays as it ended, save that money for one that was thought expired or failed may come after all, and go back.
UPDATE checkouts
SET state = sqlc.arg(state), ended_at = coalesce(ended_at, sqlc.arg(at))
WHERE id = sqlc.arg(id) AND (
    state = 'open' OR (state IN ('expired', 'failed') AND sqlc.arg(state) IN ('paid', 'refunded')) OR (state = 'paid' AND sqlc.arg(state) = 'refunded')
)
RETURNING *;

-- name: ListCheckouts :many
SELECT *
FROM checkouts
WHERE account_id = sqlc.arg(account)
ORDER BY opened_at DESC
LIMIT sqlc.arg(max_rows);

-- name: ListOpenCheckouts :many
-- Those that are open although they expired before an instant, oldest first, after the given one.
SELECT *
FROM checkouts
WHERE state = 'open' AND expires_at < sqlc.arg(before) AND (expires_at, id) > (sqlc.arg(after_expiry)::timestamptz, sqlc.arg(after)::uuid)
ORDER BY expires_at, id
LIMIT sqlc.arg(max_rows);
