-- What operators watch: what waits in the record, and what waits for too long. Every worker asks once a minute, so each of these is bounded or goes by an
-- index of what is open.

-- name: CountRecentSettlements :many
-- Of every stage those that changed within a day, up to max_rows.
SELECT wanted.stage::text AS stage, recent.settlements
FROM (SELECT unnest(sqlc.arg(stages)::text[]) AS stage) AS wanted
CROSS JOIN LATERAL (
    SELECT count(*) AS settlements
    FROM (
        SELECT 1
        FROM settlements AS s
        WHERE s.stage = wanted.stage AND s.updated_at > now() - interval '1 day'
        LIMIT sqlc.arg(max_rows)::integer
    ) AS changed
) AS recent;

-- name: CountPaymentBacklog :one
-- An oldest wait is 0 where nothing waits.
SELECT
    (SELECT count(*) FROM settlements AS s WHERE s.stage = 'stuck') AS stuck,
    (SELECT coalesce(extract(EPOCH FROM now() - min(s.updated_at)), 0)::double precision FROM settlements AS s WHERE s.stage = 'stuck') AS stuck_seconds,
    (
        SELECT count(*)
        FROM settlements AS s
        WHERE s.stage = 'redeemed' AND s.finality = 'waiting'
            AND s.redeemed_at < now() - make_interval(secs => sqlc.arg(final_seconds)::double precision)
    ) AS unconfirmed;

-- name: CountOpenPayments :many
-- Authorizations of which the chain has not said what became of them; not those that nobody has sent to be settled.
SELECT
    a.state, count(*) AS payments, max(extract(EPOCH FROM now() - a.reserved_at))::double precision AS oldest_seconds
FROM payment_authorizations AS a
WHERE a.closed_at IS NULL AND a.state <> 'reserved'
GROUP BY a.state;

-- name: CountSubscriptions :many
-- Those that last, by what Stripe says of them. Stuck are those whose period has been over for some time, that nobody has asked Stripe about for longer
-- than the flow of an account leaves between two looks, or that Stripe charges by a price of no plan of ours.
SELECT
    s.status, count(*) AS subscriptions,
    count(*) FILTER (WHERE s.period_end < now() - make_interval(secs => sqlc.arg(late_seconds)::double precision)
        OR coalesce(c.read_at, c.created_at, s.updated_at) < now() - make_interval(secs => sqlc.arg(unread_seconds)::double precision)
        OR s.odd_price <> '') AS stuck
FROM subscriptions AS s
LEFT JOIN billing_customers AS c ON c.account_id = s.account_id
WHERE s.ended_at IS NULL
GROUP BY s.status;

-- name: CountBillingBacklog :one
SELECT
    (SELECT count(*) FROM stripe_events AS e WHERE e.processed_at IS NULL) AS events,
    (SELECT coalesce(extract(EPOCH FROM now() - min(e.received_at)), 0)::double precision FROM stripe_events AS e WHERE e.processed_at IS NULL) AS event_seconds,
    (SELECT coalesce(sum(b.beside), 0)::bigint FROM billing_customers AS b WHERE b.beside > 0) AS beside,
    (
        SELECT count(*)
        FROM checkouts AS k
        WHERE k.state = 'open' AND k.expires_at < now() - make_interval(secs => sqlc.arg(late_seconds)::double precision)
    ) AS checkouts;

-- name: CountLateStatements :one
-- Periods with usage that are surely over, because none is longer than 31 days, or that were cut short, and that no statement tells of. Those that are
-- stated left the index, so this costs what is late and what was cut of late, however long the service has run.
SELECT count(*)
FROM (
    SELECT u.account_id, u.period
    FROM usage_periods AS u
    WHERE NOT u.stated AND u.period < ((now() - make_interval(secs => sqlc.arg(late_seconds)::double precision)) AT TIME ZONE 'UTC')::date - 32
    UNION ALL
    SELECT u.account_id, u.period
    FROM ended_periods AS e
    JOIN usage_periods AS u ON u.account_id = e.account_id AND u.period = e.period
    WHERE e.period >= ((now() - make_interval(secs => sqlc.arg(late_seconds)::double precision)) AT TIME ZONE 'UTC')::date - 32
        AND greatest(e.ends_at, e.cut_at) < now() - make_interval(secs => sqlc.arg(late_seconds)::double precision) AND NOT u.stated
) AS late
LEFT JOIN LATERAL ( -- asked for each: the planner takes late ones for many, and would read all statements
    SELECT true AS there FROM statements AS s WHERE s.account_id = late.account_id AND s.period = late.period LIMIT 1
) AS stated ON true
WHERE stated.there IS NULL;

-- name: CountTicketBacklog :many
-- Tickets that wait for an answer, up to max_rows: since they were made, or since their customer wrote what nobody has answered.
SELECT
    t.priority, count(*) AS tickets,
    max(extract(EPOCH FROM now() - coalesce(
        unanswered.since, CASE WHEN t.status = 'open' THEN t.created_at ELSE t.last_activity_at END)))::double precision AS oldest_seconds
FROM (
    SELECT w.number, w.priority, w.status, w.created_at, w.last_activity_at
    FROM tickets AS w
    WHERE w.status IN ('open', 'waiting_us')
    ORDER BY w.number
    LIMIT sqlc.arg(max_rows)::integer
) AS t
LEFT JOIN LATERAL (
    SELECT min(m.at) AS since
    FROM ticket_messages AS m
    WHERE m.ticket = t.number AND m.author = 'customer' AND m.place > coalesce(
        (SELECT max(o.place) FROM ticket_messages AS o WHERE o.ticket = t.number AND o.author = 'operator'), 0)
) AS unanswered ON t.status = 'waiting_us'
GROUP BY t.priority;

-- name: CountUntoldTickets :one
-- Tickets whose flow has not heard of their newest change for some time.
SELECT count(*)
FROM tickets
WHERE told_version < version AND last_activity_at < now() - make_interval(secs => sqlc.arg(late_seconds)::double precision);

-- name: ListOpenIncidents :many
SELECT chain
FROM incidents
WHERE ended_at IS NULL AND confirmed_at IS NOT NULL
LIMIT sqlc.arg(max_rows)::integer;

-- name: CountUntoldIncidents :one
-- Incidents that are news for some time, whose begin or end has not reached all who want to be told.
SELECT count(*)
FROM incidents
WHERE confirmed_at IS NOT NULL AND over_told_at IS NULL AND (began_told_at IS NULL OR ended_at IS NOT NULL)
    AND coalesce(ended_at, confirmed_at) < now() - make_interval(secs => sqlc.arg(late_seconds)::double precision);
