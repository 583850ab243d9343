-- name: InsertDeskLine :exec
INSERT INTO desk_log (at, account_id, subject, actor, origin, action, before, after, form_id, form_digest)
VALUES (
    sqlc.arg(at), sqlc.narg(account), sqlc.arg(subject), sqlc.arg(actor), sqlc.arg(origin), sqlc.arg(action), sqlc.arg(before), sqlc.arg(after), sqlc.narg(form),
    sqlc.narg(form_digest)
);

-- name: FindSentForm :one
-- What was done with a form of an account that was sent before.
SELECT subject, action, form_digest::bytea AS form_digest
FROM desk_log
WHERE account_id = sqlc.arg(account)::uuid AND form_id = sqlc.arg(form)::uuid;

-- name: ListDeskLines :many
-- What was done about a subject, newest first.
SELECT at, account_id, subject, actor, origin, action, before, after
FROM desk_log
WHERE subject = sqlc.arg(subject)
ORDER BY id DESC
LIMIT sqlc.arg(max_rows);

-- name: ListTicketReaders :many
-- Whom mails about something of an account go to: the user who filed it, while they belong to the account, else its owners.
SELECT m.user_id, u.email, u.email_key, coalesce(s.time_zone, '') AS time_zone
FROM members AS m
JOIN users AS u ON u.id = m.user_id
LEFT JOIN account_settings AS s ON s.account_id = m.account_id
WHERE m.account_id = sqlc.arg(account) AND CASE
        WHEN EXISTS (SELECT FROM members AS f WHERE f.account_id = sqlc.arg(account) AND f.user_id = sqlc.narg(filer)::uuid) THEN m.user_id = sqlc.narg(filer)::uuid
        ELSE m.role = 'owner'
    END
ORDER BY m.joined_at, m.user_id
LIMIT sqlc.arg(max_rows);

-- name: ListDeskTickets :many
-- Tickets of all accounts, newest first, below a number. Each status and priority is one walk down its index.
SELECT
    t.number, t.account_id, t.subject, t.category, t.priority, t.channel, t.status, t.messages, t.created_at, t.last_activity_at,
    a.name AS account_name, a.plan AS account_plan
FROM (
    SELECT found.number
    FROM unnest(sqlc.arg(statuses)::text[]) AS s (status)
    CROSS JOIN unnest(sqlc.arg(priorities)::text[]) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT c.number
        FROM tickets AS c
        WHERE c.status = s.status AND c.priority = p.priority AND c.number < sqlc.arg(before)::bigint
        ORDER BY c.number DESC
        LIMIT sqlc.arg(max_rows)::integer
    ) AS found
    ORDER BY found.number DESC
    LIMIT sqlc.arg(max_rows)::integer
) AS page
JOIN tickets AS t ON t.number = page.number
JOIN accounts AS a ON a.id = t.account_id
ORDER BY t.number DESC;

-- name: ListDeskTicketsOf :many
-- The same of one account.
SELECT
    t.number, t.account_id, t.subject, t.category, t.priority, t.channel, t.status, t.messages, t.created_at, t.last_activity_at,
    a.name AS account_name, a.plan AS account_plan
FROM tickets AS t
JOIN accounts AS a ON a.id = t.account_id
WHERE t.account_id = sqlc.arg(account) AND t.number < sqlc.arg(before) AND t.status = ANY(sqlc.arg(statuses)::text[])
    AND t.priority = ANY(sqlc.arg(priorities)::text[])
ORDER BY t.number DESC
LIMIT sqlc.arg(max_rows);

-- name: ListOldestDeskTickets :many
-- Tickets of all accounts, oldest first, above a number. Each status and priority is one walk up its index.
SELECT
    t.number, t.account_id, t.subject, t.category, t.priority, t.channel, t.status, t.messages, t.created_at, t.last_activity_at,
    a.name AS account_name, a.plan AS account_plan
FROM (
    SELECT found.number
    FROM unnest(sqlc.arg(statuses)::text[]) AS s (status)
    CROSS JOIN unnest(sqlc.arg(priorities)::text[]) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT c.number
        FROM tickets AS c
        WHERE c.status = s.status AND c.priority = p.priority AND c.number > sqlc.arg(after)::bigint
        ORDER BY c.number
        LIMIT sqlc.arg(max_rows)::integer
    ) AS found
    ORDER BY found.number
    LIMIT sqlc.arg(max_rows)::integer
) AS page
JOIN tickets AS t ON t.number = page.number
JOIN accounts AS a ON a.id = t.account_id
ORDER BY t.number;

-- name: ListOldestDeskTicketsOf :many
-- The same of one account.
SELECT
    t.number, t.account_id, t.subject, t.category, t.priority, t.channel, t.status, t.messages, t.created_at, t.last_activity_at,
    a.name AS account_name, a.plan AS account_plan
FROM tickets AS t
JOIN accounts AS a ON a.id = t.account_id
WHERE t.account_id = sqlc.arg(account) AND t.number > sqlc.arg(after) AND t.status = ANY(sqlc.arg(statuses)::text[])
    AND t.priority = ANY(sqlc.arg(priorities)::text[])
ORDER BY t.number
LIMIT sqlc.arg(max_rows);

-- name: CountDeskTickets :many
-- How many tickets are not resolved, by status and priority, and since when the one waits that was written to longest ago.
SELECT status, priority, count(*) AS tickets, min(last_activity_at)::timestamptz AS oldest
FROM tickets
WHERE status IN ('open', 'waiting_us', 'waiting_customer')
GROUP BY status, priority;

-- name: ListDeskFeedback :many
-- Feedback of all accounts with a status, newest first, before an id.
SELECT f.*, a.name AS account_name, a.plan AS account_plan
FROM (
    SELECT found.id
    FROM unnest(sqlc.arg(statuses)::text[]) AS s (status)
    CROSS JOIN LATERAL (
        SELECT c.id FROM feedback AS c WHERE c.status = s.status AND c.id < sqlc.arg(before)::uuid ORDER BY c.id DESC LIMIT sqlc.arg(max_rows)::integer
    ) AS found
    ORDER BY found.id DESC
    LIMIT sqlc.arg(max_rows)::integer
) AS page
JOIN feedback AS f ON f.id = page.id
JOIN accounts AS a ON a.id = f.account_id
ORDER BY f.id DESC;

-- name: LockFeedback :one
SELECT *
FROM feedback
WHERE id = sqlc.arg(id)
FOR UPDATE;

-- name: LockWish :one
SELECT *
FROM wishlist
WHERE id = sqlc.arg(id)
FOR UPDATE;

-- name: AnswerWish :one
UPDATE wishlist
SET status = sqlc.arg(status), reply = sqlc.arg(reply), answers = answers + 1, answered_at = sqlc.arg(at)::timestamptz
WHERE id = sqlc.arg(id)
RETURNING *;

-- name: WithdrawWishes :many
-- Empties what was entered with an address, by its key.
UPDATE wishlist AS w
SET status = 'withdrawn', items = '', email = '', reply = ''
FROM (SELECT id, status FROM wishlist WHERE lower(email COLLATE "C") = sqlc.arg(email_key)::text AND status <> 'withdrawn' FOR UPDATE) AS before
WHERE w.id = before.id
RETURNING w.id, before.status AS before_status;

-- name: CountWishesOf :one
SELECT count(*)
FROM wishlist
WHERE lower(email COLLATE "C") = sqlc.arg(email_key)::text AND status <> 'withdrawn';

-- name: ListWishes :many
SELECT w.*
FROM (
    SELECT found.id
    FROM unnest(sqlc.arg(statuses)::text[]) AS s (status)
    CROSS JOIN LATERAL (
        SELECT c.id FROM wishlist AS c WHERE c.status = s.status AND c.id < sqlc.arg(before)::uuid ORDER BY c.id DESC LIMIT sqlc.arg(max_rows)::integer
    ) AS found
    ORDER BY found.id DESC
    LIMIT sqlc.arg(max_rows)::integer
) AS page
JOIN wishlist AS w ON w.id = page.id
ORDER BY w.id DESC;

-- name: ConfirmAddress :execrows
-- Takes the one mail that an address ever gets about a thing; none once so many were taken since an instant.
INSERT INTO confirmations (email_digest, about, at)
SELECT sqlc.arg(email_digest)::bytea, sqlc.arg(about)::text, sqlc.arg(at)::timestamptz
WHERE (SELECT count(*) FROM (SELECT 1 FROM confirmations WHERE at > sqlc.arg(since)::timestamptz LIMIT sqlc.arg(max_confirmations)::integer) AS counted) < sqlc.arg(max_confirmations)::integer
ON CONFLICT ON CONSTRAINT confirmations_pkey DO NOTHING;

-- name: AddStaff :execrows
INSERT INTO staff (user_id, since, added_by)
VALUES (sqlc.arg(user_id), sqlc.arg(at), sqlc.arg(added_by))
ON CONFLICT ON CONSTRAINT staff_pkey DO NOTHING;

-- name: RemoveStaff :execrows
DELETE FROM staff
WHERE user_id = sqlc.arg(user_id);

-- name: ListStaff :many
SELECT s.user_id, s.since, s.added_by, u.email, u.email_key, u.last_signed_in_at
FROM staff AS s
JOIN users AS u ON u.id = s.user_id
ORDER BY s.since, s.user_id
LIMIT sqlc.arg(max_rows);

-- name: FindUserByEmail :one
SELECT id, email, email_key
FROM users
WHERE email_key = sqlc.arg(email_key);
