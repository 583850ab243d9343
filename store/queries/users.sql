-- name: UpsertUser :one
-- The row stays locked, so that two sign-ins of a new person make one account.
INSERT INTO users (id, email, email_key, created_at, last_signed_in_at)
VALUES (sqlc.arg(id), sqlc.arg(email), sqlc.arg(email_key), sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz)
ON CONFLICT (email_key) DO UPDATE
SET last_signed_in_at = greatest(users.last_signed_in_at, excluded.last_signed_in_at)
RETURNING id;

-- name: LatestMembership :one
SELECT account_id
FROM members
WHERE user_id = $1
ORDER BY last_used_at DESC, account_id
LIMIT 1;

-- name: InsertMember :execrows
INSERT INTO members (account_id, user_id, role, joined_at, last_used_at)
VALUES (sqlc.arg(account_id), sqlc.arg(user_id), sqlc.arg(role), sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz)
ON CONFLICT ON CONSTRAINT members_pkey DO NOTHING;

-- name: UseMembership :execrows
UPDATE members
SET last_used_at = greatest(last_used_at, sqlc.arg(at))
WHERE account_id = sqlc.arg(account_id) AND user_id = sqlc.arg(user_id);

-- name: ListMembers :many
SELECT members.user_id, users.email, users.email_key, members.role, members.joined_at, users.last_signed_in_at
FROM members
JOIN users ON users.id = members.user_id
WHERE members.account_id = sqlc.arg(account_id)
ORDER BY members.joined_at, members.user_id
LIMIT sqlc.arg(max_rows);

-- name: GetMember :one
SELECT members.role, users.email
FROM members
JOIN users ON users.id = members.user_id
WHERE members.account_id = sqlc.arg(account_id) AND members.user_id = sqlc.arg(user_id);

-- name: CountMembers :one
SELECT count(*) AS members, count(*) FILTER (WHERE role = 'owner') AS owners
FROM members
WHERE account_id = $1;

-- name: SetMemberRole :exec
UPDATE members
SET role = sqlc.arg(role)
WHERE account_id = sqlc.arg(account_id) AND user_id = sqlc.arg(user_id);

-- name: DeleteMember :exec
DELETE FROM members
WHERE account_id = sqlc.arg(account_id) AND user_id = sqlc.arg(user_id);

-- name: ListMemberships :many
SELECT members.account_id, accounts.name, members.role, members.last_used_at
FROM members
JOIN accounts ON accounts.id = members.account_id
WHERE members.user_id = sqlc.arg(user_id)
ORDER BY members.joined_at, members.account_id
LIMIT sqlc.arg(max_rows);

-- name: LockPeople :one
-- Changes of who belongs to an account wait for each other, and for nothing else.
SELECT id
FROM accounts
WHERE id = $1 AND kind = 'owner'
FOR NO KEY UPDATE;

-- name: ListEmails :many
SELECT id, email
FROM users
WHERE id = ANY(sqlc.arg(ids)::uuid[]);
