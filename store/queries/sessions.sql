-- name: InsertSession :exec
INSERT INTO sessions (digest, id, user_id, account_id, network, user_agent, created_at, last_seen_at, expires_at)
VALUES (sqlc.arg(digest), sqlc.arg(id), sqlc.arg(user_id), sqlc.arg(account_id), sqlc.arg(network), sqlc.arg(user_agent),
    sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz, sqlc.arg(expires_at));

-- name: FindSession :one
-- Notes that the session was seen, at most once a minute, and gives it with what its pages need.
WITH seen AS (
    UPDATE sessions
    SET last_seen_at = sqlc.arg(at)::timestamptz,
        expires_at = least(created_at + make_interval(secs => sqlc.arg(longest_seconds)::double precision), sqlc.arg(renewed_until)::timestamptz)
    WHERE digest = sqlc.arg(digest) AND ended_at IS NULL AND sessions.expires_at > sqlc.arg(at)::timestamptz
        AND last_seen_at <= sqlc.arg(seen_before)::timestamptz
)
SELECT sessions.id, sessions.user_id, sessions.account_id, sessions.created_at, users.email, users.email_key, members.role,
    accounts.name, accounts.plan, accounts.status, coalesce(suspension.reason, '') AS suspended_for,
    EXISTS (SELECT FROM staff WHERE staff.user_id = sessions.user_id) AS staff
FROM sessions
JOIN users ON users.id = sessions.user_id
JOIN members ON members.account_id = sessions.account_id AND members.user_id = sessions.user_id
JOIN accounts ON accounts.id = sessions.account_id
LEFT JOIN LATERAL (
    SELECT audit_log.reason
    FROM audit_log
    WHERE accounts.status = 'suspended' AND audit_log.account_id = accounts.id AND audit_log.action = 'suspend_account'
    ORDER BY audit_log.id DESC
    LIMIT 1
) AS suspension ON true
WHERE sessions.digest = sqlc.arg(digest) AND sessions.ended_at IS NULL AND sessions.expires_at > sqlc.arg(at)::timestamptz;

-- name: EndSessionByDigest :execrows
UPDATE sessions
SET ended_at = sqlc.arg(at)::timestamptz
WHERE digest = sqlc.arg(digest) AND ended_at IS NULL;

-- name: EndSessionOfUser :execrows
UPDATE sessions
SET ended_at = sqlc.arg(at)::timestamptz
WHERE id = sqlc.arg(id) AND user_id = sqlc.arg(user_id) AND ended_at IS NULL AND expires_at > sqlc.arg(at)::timestamptz;

-- name: EndSessionsOfUser :execrows
UPDATE sessions
SET ended_at = sqlc.arg(at)::timestamptz
WHERE user_id = sqlc.arg(user_id) AND ended_at IS NULL;

-- name: EndSessionsOfMember :execrows
UPDATE sessions
SET ended_at = sqlc.arg(at)::timestamptz
WHERE user_id = sqlc.arg(user_id) AND account_id = sqlc.arg(account_id) AND ended_at IS NULL;

-- name: ListSessionsOfUser :many
SELECT id, account_id, network, user_agent, created_at, last_seen_at, expires_at
FROM sessions
WHERE user_id = sqlc.arg(user_id) AND ended_at IS NULL AND expires_at > sqlc.arg(at)::timestamptz
ORDER BY last_seen_at DESC, id
LIMIT sqlc.arg(max_rows);

-- name: MoveSession :execrows
-- Only to an account of which the user is a member.
UPDATE sessions
SET account_id = sqlc.arg(to_account)
WHERE sessions.id = sqlc.arg(id) AND sessions.user_id = sqlc.arg(user_id) AND ended_at IS NULL AND expires_at > sqlc.arg(at)::timestamptz
    AND EXISTS (SELECT 1 FROM members WHERE members.account_id = sqlc.arg(to_account) AND members.user_id = sqlc.arg(user_id));

-- name: EndOldestSessions :exec
-- Keeps the newest sessions of a user.
UPDATE sessions
SET ended_at = sqlc.arg(at)::timestamptz
WHERE digest IN (
    SELECT old.digest
    FROM sessions AS old
    WHERE old.user_id = sqlc.arg(user_id) AND old.ended_at IS NULL
    ORDER BY old.last_seen_at DESC, old.created_at DESC
    OFFSET sqlc.arg(keep)
);

-- name: DeletePastSessions :execrows
DELETE FROM sessions
WHERE digest IN (SELECT past.digest FROM sessions AS past WHERE past.expires_at < sqlc.arg(before) ORDER BY past.expires_at LIMIT sqlc.arg(max_rows));
