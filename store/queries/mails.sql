-- name: InsertMail :execrows
-- One mail for a reason. What exceeds the number of mails of a kind that one recipient gets in a day, or gets about one account, is recorded as given up. Those that were
-- given up do not count: nobody got them, and they would keep a recipient from mails for as long as somebody causes more.
WITH crowd AS (
    SELECT count(*) >= sqlc.arg(max_of_recipient)::integer
        OR count(*) FILTER (WHERE account_id = sqlc.narg(account_id)::uuid) >= sqlc.arg(max_of_account)::integer AS full
    FROM mails
    WHERE recipient_digest = sqlc.arg(recipient_digest)::bytea AND kind = sqlc.arg(kind)::text AND failed_at IS NULL
        AND created_at > now() - interval '1 day'
)
INSERT INTO mails (id, reason, kind, account_id, recipient_digest, recipient, payload, expires_at, failed_at, last_error)
SELECT
    sqlc.arg(id)::uuid, sqlc.arg(reason)::text, sqlc.arg(kind)::text, sqlc.narg(account_id)::uuid, sqlc.arg(recipient_digest)::bytea,
    CASE WHEN NOT crowd.full THEN sqlc.arg(recipient)::bytea END, CASE WHEN NOT crowd.full THEN sqlc.arg(payload)::bytea END,
    sqlc.arg(expires_at)::timestamptz, CASE WHEN crowd.full THEN now() END, CASE WHEN crowd.full THEN sqlc.arg(full_class)::text END
FROM crowd
ON CONFLICT ON CONSTRAINT mails_reason_once DO NOTHING;

-- name: ClaimMails :many
-- Those that end soonest come first, so that links for signing in never wait behind news.
UPDATE mails
SET attempts = attempts + 1, due_at = now() + make_interval(secs => sqlc.arg(lease_seconds)::double precision)
WHERE id IN (
    SELECT id FROM mails
    WHERE sent_at IS NULL AND failed_at IS NULL AND due_at <= now() AND expires_at > now()
    ORDER BY expires_at
    LIMIT sqlc.arg(max_rows)::integer
    FOR UPDATE SKIP LOCKED
)
RETURNING id, kind, recipient, payload, attempts, created_at, expires_at;

-- name: EndMail :execrows
-- It was sent, whoever holds the lease by now and whether or not it was given up meanwhile.
UPDATE mails
SET sent_at = now(), failed_at = NULL, last_error = NULL, recipient = NULL, payload = NULL
WHERE id = sqlc.arg(id) AND sent_at IS NULL;

-- name: RetryMail :execrows
UPDATE mails
SET
    due_at = least(expires_at, now() + make_interval(secs => sqlc.arg(after_seconds)::double precision)),
    last_error = sqlc.arg(class)::text
WHERE id = sqlc.arg(id) AND attempts = sqlc.arg(attempts) AND sent_at IS NULL AND failed_at IS NULL;

-- name: GiveUpMail :execrows
UPDATE mails
SET failed_at = now(), last_error = sqlc.arg(class)::text, recipient = NULL, payload = NULL
WHERE id = sqlc.arg(id) AND attempts = sqlc.arg(attempts) AND sent_at IS NULL AND failed_at IS NULL;

-- name: ExpireMails :many
-- One under way is left to whoever holds its lease.
UPDATE mails
SET failed_at = now(), last_error = coalesce(last_error, sqlc.arg(class)::text), recipient = NULL, payload = NULL
WHERE id IN (
    SELECT id FROM mails
    WHERE sent_at IS NULL AND failed_at IS NULL AND expires_at <= now() AND due_at <= now()
    ORDER BY expires_at
    LIMIT sqlc.arg(max_rows)::integer
    FOR UPDATE SKIP LOCKED
)
RETURNING kind;

-- name: CountOpenMails :many
SELECT kind, count(*) AS waiting, min(created_at)::timestamptz AS oldest
FROM mails
WHERE sent_at IS NULL AND failed_at IS NULL
GROUP BY kind;

-- name: ForgetMails :execrows
DELETE FROM mails
WHERE id IN (
    SELECT id FROM mails
    WHERE created_at < sqlc.arg(before)::timestamptz AND (sent_at IS NOT NULL OR failed_at IS NOT NULL)
    ORDER BY created_at
    LIMIT sqlc.arg(max_rows)::integer
);

-- name: FindMail :one
SELECT id, reason, kind, account_id, recipient_digest, recipient, payload, created_at, expires_at, due_at, attempts, sent_at, failed_at, last_error
FROM mails
WHERE reason = sqlc.arg(reason);
