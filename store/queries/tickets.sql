-- name: FindGatheringTicket :one
-- The ticket that the same symptom joins.
SELECT *
FROM tickets
WHERE account_id = sqlc.arg(account) AND coalesce(scope_id, '00000000-0000-0000-0000-000000000000') = coalesce(sqlc.narg(scope)::uuid, '00000000-0000-0000-0000-000000000000')
    AND symptom_code = sqlc.arg(code)::integer AND symptom_chain = sqlc.arg(chain)::text AND symptom_method = sqlc.arg(method)::text AND gathers;

-- name: ReleaseSymptom :exec
UPDATE tickets
SET gathers = false
WHERE number = sqlc.arg(number);

-- name: CountUnresolvedTickets :one
SELECT count(*)
FROM tickets
WHERE account_id = sqlc.arg(account) AND status NOT IN ('resolved', 'closed');

-- name: GetTicketCreation :one
-- When the account made its newest ticket but so many, since an instant; no row when it made fewer.
SELECT created_at
FROM tickets
WHERE account_id = sqlc.arg(account) AND created_at > sqlc.arg(since)
ORDER BY created_at DESC
OFFSET sqlc.arg(newer)::integer
LIMIT 1;

-- name: InsertTicket :one
INSERT INTO tickets (
    account_id, key_id, user_id, agent_id, scope_id, subject, category, priority, channel, status, symptom_code, symptom_chain, symptom_method, gathers,
    request_id, evidence, messages, created_at, last_activity_at
)
VALUES (
    sqlc.arg(account), sqlc.narg(key), sqlc.narg(user_id), sqlc.narg(agent), sqlc.narg(scope), sqlc.arg(subject), sqlc.arg(category), sqlc.arg(priority), sqlc.arg(channel),
    'open', sqlc.narg(code), sqlc.narg(chain), sqlc.narg(method), sqlc.arg(gathers), sqlc.narg(request_id), sqlc.arg(evidence), 0, sqlc.arg(at), sqlc.arg(at)
)
RETURNING *;

-- name: AddTicketMessage :exec
INSERT INTO ticket_messages (ticket, place, author, writer, body, request_id, at)
VALUES (sqlc.arg(ticket), sqlc.arg(place), sqlc.arg(author), sqlc.arg(writer), sqlc.arg(body), sqlc.narg(request_id), sqlc.arg(at));

-- name: ListKeyWriters :many
-- What keys are called that wrote to tickets.
SELECT k.id, k.prefix, k.agent_id, coalesce(a.name, '') AS agent_name
FROM keys AS k
LEFT JOIN agents AS a ON a.id = k.agent_id
WHERE k.id = ANY(sqlc.arg(ids)::uuid[]);

-- name: GetTicket :one
-- Of one account and of one scope, where they are given.
SELECT *
FROM tickets
WHERE number = sqlc.arg(number) AND account_id = coalesce(sqlc.narg(account), account_id)
    AND (sqlc.narg(scope)::uuid IS NULL OR scope_id = sqlc.narg(scope));

-- name: ListTicketMessages :many
SELECT *
FROM ticket_messages
WHERE ticket = sqlc.arg(ticket)
ORDER BY place;

-- name: ListTickets :many
-- Newest first, below a number.
SELECT *
FROM tickets
WHERE account_id = sqlc.arg(account) AND number < sqlc.arg(before) AND status = ANY(sqlc.arg(statuses)::text[])
    AND (sqlc.narg(scope)::uuid IS NULL OR scope_id = sqlc.narg(scope))
ORDER BY number DESC
LIMIT sqlc.arg(max_rows);

-- name: UpdateTicket :one
-- What a move made of it.
UPDATE tickets
SET
    status = sqlc.arg(status), gathers = sqlc.arg(gathers), messages = sqlc.arg(messages), last_activity_at = sqlc.arg(at),
    resolved_at = sqlc.narg(resolved_at), closed_at = sqlc.narg(closed_at), version = version + sqlc.arg(news)::bigint
WHERE number = sqlc.arg(number)
RETURNING *;

-- name: MarkTicketTold :exec
UPDATE tickets
SET told_version = sqlc.arg(version)
WHERE number = sqlc.arg(number) AND told_version < sqlc.arg(version) AND version >= sqlc.arg(version);

-- name: ListUntoldTickets :many
-- Tickets whose flow has not heard of their newest change for a while, and resolved ones that should have closed for as long.
SELECT late.number, late.account_id, late.version
FROM (
    SELECT t.number, t.account_id, t.version FROM tickets AS t WHERE t.told_version < t.version AND t.last_activity_at < sqlc.arg(stale)::timestamptz
    UNION
    SELECT r.number, r.account_id, r.version FROM tickets AS r WHERE r.status = 'resolved' AND r.last_activity_at < sqlc.arg(overdue)::timestamptz
) AS late
WHERE late.number > sqlc.arg(after)::bigint
ORDER BY late.number
LIMIT sqlc.arg(max_rows);

-- name: SumRefusals :many
-- Calls of an account, or of some keys of it, that were refused or failed since an hour, by reason, chain and method. Hours alone, because the last one is
-- told; its periods as in reports.sql.
SELECT u.outcome, u.chain, u.method, sum(u.requests)::bigint AS requests, max(u.start)::timestamptz AS last_hour
FROM usage_parts AS u
WHERE u.account_id = sqlc.arg(account) AND u.by_key = (sqlc.narg(keys)::uuid[] IS NOT NULL) AND u.step = 'hour' AND u.start >= sqlc.arg(since)::timestamptz
    AND u.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
            AND (sqlc.narg(only_period)::date IS NULL OR p.period = sqlc.narg(only_period)::date)
    ))
    AND u.outcome NOT IN ('ok', 'hit', 'refund') AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
GROUP BY u.outcome, u.chain, u.method
HAVING sum(u.requests) > 0
ORDER BY requests DESC, last_hour DESC, u.outcome, u.chain, u.method
LIMIT sqlc.arg(max_rows);
