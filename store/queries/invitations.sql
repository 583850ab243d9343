-- name: CountOpenInvitations :one
SELECT count(*)
FROM invitations
WHERE account_id = sqlc.arg(account_id) AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > sqlc.arg(at)::timestamptz;

-- name: IsMemberByEmail :one
SELECT EXISTS (
    SELECT 1
    FROM members
    JOIN users ON users.id = members.user_id
    WHERE members.account_id = sqlc.arg(account_id) AND users.email_key = sqlc.arg(email_key)
);

-- name: ReplaceInvitation :exec
UPDATE invitations
SET revoked_at = sqlc.arg(at)::timestamptz
WHERE account_id = sqlc.arg(account_id) AND email_key = sqlc.arg(email_key) AND accepted_at IS NULL AND revoked_at IS NULL;

-- name: InsertInvitation :exec
INSERT INTO invitations (id, account_id, email, email_key, role, invited_by, link_digest, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: ListOpenInvitations :many
SELECT invitations.id, invitations.email, invitations.email_key, invitations.role, invitations.created_at, invitations.expires_at, users.email AS invited_by
FROM invitations
JOIN users ON users.id = invitations.invited_by
WHERE invitations.account_id = sqlc.arg(account_id) AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > sqlc.arg(at)::timestamptz
ORDER BY invitations.created_at, invitations.id
LIMIT sqlc.arg(max_rows);

-- name: RevokeInvitation :one
UPDATE invitations
SET revoked_at = sqlc.arg(at)::timestamptz
WHERE id = sqlc.arg(id) AND account_id = sqlc.arg(account_id) AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > sqlc.arg(at)::timestamptz
RETURNING email, role;

-- name: RevokeInvitationsBy :exec
UPDATE invitations
SET revoked_at = sqlc.arg(at)::timestamptz
WHERE account_id = sqlc.arg(account_id) AND invited_by = sqlc.arg(invited_by) AND accepted_at IS NULL AND revoked_at IS NULL;

-- name: GetInvitationByLink :one
SELECT invitations.id, invitations.account_id, accounts.name AS account_name, invitations.email, invitations.email_key, invitations.role, invitations.created_at, invitations.expires_at, users.email AS invited_by
FROM invitations
JOIN users ON users.id = invitations.invited_by
JOIN accounts ON accounts.id = invitations.account_id
WHERE invitations.link_digest = sqlc.arg(link_digest) AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > sqlc.arg(at)::timestamptz;

-- name: AcceptInvitation :one
UPDATE invitations
SET accepted_at = sqlc.arg(at)::timestamptz
WHERE link_digest = sqlc.arg(link_digest) AND accepted_at IS NULL AND revoked_at IS NULL AND expires_at > sqlc.arg(at)::timestamptz
RETURNING id;

-- name: DeletePastInvitations :execrows
DELETE FROM invitations
WHERE id IN (SELECT past.id FROM invitations AS past WHERE past.expires_at < sqlc.arg(before) ORDER BY past.expires_at LIMIT sqlc.arg(max_rows));
