-- name: LockAddress :exec
-- What is done with an address of the waitlist is done one after the other, also while it is not on it.
SELECT pg_advisory_xact_lock(hashtextextended('waitlist/' || sqlc.arg(email_key)::text, 0));

-- name: JoinWaitlist :execrows
INSERT INTO waitlist (email_key, email, qualifier, source, product_updates, channel, joined_at)
VALUES (sqlc.arg(email_key), sqlc.arg(email), sqlc.arg(qualifier), sqlc.arg(source), sqlc.arg(product_updates), sqlc.arg(channel), sqlc.arg(at))
ON CONFLICT (email_key) DO NOTHING;

-- name: ConfirmWaiting :one
-- Confirms an address, and puts it on the list where it is not on it.
INSERT INTO waitlist (email_key, email, qualifier, source, product_updates, channel, joined_at, confirmed_at)
VALUES (
    sqlc.arg(email_key), sqlc.arg(email), sqlc.arg(qualifier), sqlc.arg(source), sqlc.arg(product_updates), sqlc.arg(channel), sqlc.arg(at)::timestamptz,
    sqlc.arg(at)::timestamptz
)
ON CONFLICT (email_key) DO UPDATE
SET confirmed_at = coalesce(waitlist.confirmed_at, excluded.confirmed_at), product_updates = excluded.product_updates
RETURNING *;

-- name: InviteWaiting :one
UPDATE waitlist
SET invited_at = sqlc.arg(at)::timestamptz
WHERE email_key = sqlc.arg(email_key)
RETURNING *;

-- name: DropWaiting :execrows
DELETE FROM waitlist
WHERE email_key = sqlc.arg(email_key);

-- name: NoteLeft :execrows
INSERT INTO confirmations (email_digest, about, at, left_at)
VALUES (sqlc.arg(email_digest), 'waitlist', sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz)
ON CONFLICT ON CONSTRAINT confirmations_pkey DO UPDATE
SET left_at = excluded.left_at
WHERE confirmations.left_at IS NULL;

-- name: NoteReturned :exec
UPDATE confirmations
SET left_at = NULL
WHERE email_digest = sqlc.arg(email_digest) AND about = 'waitlist';

-- name: HasLeft :one
SELECT EXISTS (SELECT FROM confirmations WHERE email_digest = sqlc.arg(email_digest) AND about = 'waitlist' AND left_at IS NOT NULL);

-- name: ListWaitlist :many
-- Newest first, before an instant and, in it, an address. Each status is one walk down its index.
SELECT w.*
FROM unnest(sqlc.arg(statuses)::text[]) AS s (status)
CROSS JOIN LATERAL (
    SELECT *
    FROM waitlist AS c
    WHERE c.status = s.status AND (c.joined_at, c.email_key) < (sqlc.arg(before)::timestamptz, sqlc.arg(before_key)::text)
    ORDER BY c.joined_at DESC, c.email_key DESC
    LIMIT sqlc.arg(max_rows)::integer
) AS w
ORDER BY w.joined_at DESC, w.email_key DESC
LIMIT sqlc.arg(max_rows)::integer;

-- name: GetWaiting :one
SELECT *
FROM waitlist
WHERE email_key = sqlc.arg(email_key);

-- name: DeleteUnconfirmed :execrows
-- Takes addresses off the list that nobody confirmed since an instant, the oldest first. One that is confirmed meanwhile stays.
DELETE FROM waitlist
WHERE email_key IN (
    SELECT email_key
    FROM waitlist
    WHERE status = 'waiting' AND joined_at < sqlc.arg(before)::timestamptz
    ORDER BY joined_at
    LIMIT sqlc.arg(max_rows)::integer
    FOR UPDATE SKIP LOCKED
);

-- name: DeleteDeclinedWishes :execrows
-- Deletes wishes that were declined before an instant, the oldest first.
DELETE FROM wishlist
WHERE id IN (
    SELECT id
    FROM wishlist
    WHERE status = 'declined' AND answered_at < sqlc.arg(before)::timestamptz
    ORDER BY id
    LIMIT sqlc.arg(max_rows)::integer
    FOR UPDATE SKIP LOCKED
);
