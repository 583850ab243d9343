-- name: FindGatheringTicket :one
-- The ticket that the same symptom joins.
SELECT *
FROM tickets
WHERE account_id = sqlc.arg(account) AND coalesce(agent_id, '00000000-0000-0000-0000-000000000000') = coalesce(sqlc.narg(agent)::uuid, '00000000-0000-0000-0000-000000000000')
    AND symptom_code = sqlc.arg(code)::integer AND symptom_chain = sqlc.arg(chain)::text AND symptom_method = sqlc.arg(method)::text AND gathers;

-- name: ReleaseSymptom :exec
UPDATE tickets
SET gathers = false
WHERE number = sqlc.arg(number);

-- name: CountUnresolvedTickets :one
SELECT count(*)
FROM tickets
WHERE account_id = sqlc.arg(account) AND status NOT IN ('resolved', 'closed');

-- name: InsertTicket :one
INSERT INTO tickets (
    account_id, key_id, user_id, agent_id, subject, category, priority, channel, status, symptom_code, symptom_chain, symptom_method, gathers,
    request_id, evidence, messages, created_at, last_activity_at
)
VALUES (
    sqlc.arg(account), sqlc.narg(key), sqlc.narg(user_id), sqlc.narg(agent), sqlc.arg(subject), sqlc.arg(category), sqlc.arg(priority), sqlc.arg(channel),
    'open', sqlc.narg(code), sqlc.narg(chain), sqlc.narg(method), sqlc.arg(gathers), sqlc.narg(request_id), sqlc.arg(evidence), 0, sqlc.arg(at), sqlc.arg(at)
)
RETURNING *;

-- name: AddTicketMessage :exec
INSERT INTO ticket_messages (ticket, place, author, body, request_id, at)
VALUES (sqlc.arg(ticket), sqlc.arg(place), sqlc.arg(author), sqlc.arg(body), sqlc.narg(request_id), sqlc.arg(at));

-- name: GetTicket :one
-- Of one account and of one agent, where they are given.
SELECT *
FROM tickets
WHERE number = sqlc.arg(number) AND account_id = coalesce(sqlc.narg(account), account_id)
    AND (sqlc.narg(agent)::uuid IS NULL OR agent_id = sqlc.narg(agent));

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
    AND (sqlc.narg(agent)::uuid IS NULL OR agent_id = sqlc.narg(agent))
ORDER BY number DESC
LIMIT sqlc.arg(most);

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
LIMIT sqlc.arg(most);

-- name: SumRefusals :many
-- Calls of an account, or of one agent of it, that were refused or failed since an hour, by reason, chain and method.
SELECT outcome, chain, method, sum(requests)::bigint AS requests, max(hour)::timestamptz AS last_hour
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32 AND hour >= sqlc.arg(since)
    AND outcome NOT IN ('ok', 'hit', 'refund') AND agent = coalesce(sqlc.narg(agent)::text, agent)
GROUP BY outcome, chain, method
HAVING sum(requests) > 0
ORDER BY requests DESC, last_hour DESC, outcome, chain, method
LIMIT sqlc.arg(most);
