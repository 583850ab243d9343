-- name: ListOptOuts :many
SELECT topic
FROM mail_opt_outs
WHERE user_id = sqlc.arg(user_id)
ORDER BY topic;

-- name: ListOptedOut :many
-- Those members of an account who want no mails about the topic.
SELECT o.user_id
FROM mail_opt_outs AS o
JOIN members AS m ON m.user_id = o.user_id
WHERE m.account_id = sqlc.arg(account_id) AND o.topic = sqlc.arg(topic)::text;

-- name: OptOut :exec
INSERT INTO mail_opt_outs (user_id, topic)
VALUES (sqlc.arg(user_id), sqlc.arg(topic)::text)
ON CONFLICT ON CONSTRAINT mail_opt_outs_pkey DO NOTHING;

-- name: OptIn :exec
DELETE FROM mail_opt_outs
WHERE user_id = sqlc.arg(user_id) AND topic = sqlc.arg(topic)::text;

-- name: GetUserEmail :one
SELECT email, email_key
FROM users
WHERE id = sqlc.arg(id);

-- name: ListExpiringPacks :many
-- Packs of which nobody was told yet that they expire within the days that are left to them, in the order in which they expire.
SELECT p.*
FROM packs AS p
WHERE p.expires_at > sqlc.arg(at)::timestamptz AND p.expires_at <= sqlc.arg(until)::timestamptz
    AND (p.expires_at, p.id) > (sqlc.arg(after_expiry)::timestamptz, sqlc.arg(after_id)::uuid)
    AND NOT EXISTS (
        SELECT FROM pack_notices AS n
        WHERE n.pack_id = p.id
            AND n.days <= CASE WHEN p.expires_at <= sqlc.arg(soon)::timestamptz THEN sqlc.arg(soon_days)::smallint ELSE sqlc.arg(until_days)::smallint END
    )
ORDER BY p.expires_at, p.id
LIMIT sqlc.arg(max_rows)::integer;

-- name: InsertPackNotice :execrows
INSERT INTO pack_notices (pack_id, days, result)
VALUES (sqlc.arg(pack_id), sqlc.arg(days)::smallint, sqlc.arg(result)::text)
ON CONFLICT ON CONSTRAINT pack_notices_pkey DO NOTHING;

-- name: ObserveDown :one
-- An older measurement than the newest one says nothing. One after a gap begins anew what was no news yet: nobody saw the time between.
INSERT INTO incidents AS i (id, chain, began_at, seen_at)
VALUES (sqlc.arg(id)::uuid, sqlc.arg(chain)::text, sqlc.arg(at)::timestamptz, sqlc.arg(at)::timestamptz)
ON CONFLICT (chain) WHERE ended_at IS NULL DO UPDATE
SET seen_at = excluded.seen_at, well_since = NULL,
    began_at = CASE
        WHEN i.confirmed_at IS NULL AND excluded.seen_at - i.seen_at > make_interval(secs => sqlc.arg(gap_seconds)::double precision) THEN excluded.seen_at
        ELSE i.began_at
    END,
    confirmed_at = CASE
        WHEN i.confirmed_at IS NULL AND excluded.seen_at - i.seen_at <= make_interval(secs => sqlc.arg(gap_seconds)::double precision)
            AND excluded.seen_at - i.began_at >= make_interval(secs => sqlc.arg(after_seconds)::double precision) THEN excluded.seen_at
        ELSE i.confirmed_at
    END
WHERE excluded.seen_at > i.seen_at
RETURNING *;

-- name: DropUnconfirmed :exec
-- What was over before it was news.
DELETE FROM incidents
WHERE chain = sqlc.arg(chain)::text AND confirmed_at IS NULL AND seen_at < sqlc.arg(at)::timestamptz;

-- name: ObserveWell :exec
UPDATE incidents
SET seen_at = sqlc.arg(at)::timestamptz,
    well_since = CASE
        WHEN sqlc.arg(at)::timestamptz - seen_at > make_interval(secs => sqlc.arg(gap_seconds)::double precision) THEN sqlc.arg(at)::timestamptz
        ELSE coalesce(well_since, sqlc.arg(at)::timestamptz)
    END
WHERE chain = sqlc.arg(chain)::text AND ended_at IS NULL AND confirmed_at IS NOT NULL AND seen_at < sqlc.arg(at)::timestamptz;

-- name: EndIncident :one
-- It ends at the instant from which on the chain was well. Whoever was not told of it until then is not told any more.
UPDATE incidents
SET ended_at = well_since, began_told_at = coalesce(began_told_at, now()), told_account = NULL, told_user = NULL
WHERE chain = sqlc.arg(chain)::text AND ended_at IS NULL AND confirmed_at IS NOT NULL
    AND seen_at - well_since >= make_interval(secs => sqlc.arg(after_seconds)::double precision)
RETURNING *;

-- name: EndUnservedIncidents :many
-- It ends when its chain was seen last; a chain that was seen since an instant is served by somebody. Whoever was not told of it until then is not told any more. What was no news yet is dropped beside it.
WITH dropped AS (
    DELETE FROM incidents
    WHERE ended_at IS NULL AND confirmed_at IS NULL AND NOT chain = ANY (sqlc.arg(served)::text[]) AND seen_at < sqlc.arg(unseen_since)::timestamptz
)
UPDATE incidents
SET ended_at = coalesce(well_since, seen_at), began_told_at = coalesce(began_told_at, now()), told_account = NULL, told_user = NULL
WHERE ended_at IS NULL AND confirmed_at IS NOT NULL AND NOT chain = ANY (sqlc.arg(served)::text[]) AND seen_at < sqlc.arg(unseen_since)::timestamptz
RETURNING *;

-- name: ListUntoldIncidents :many
SELECT *
FROM incidents
WHERE confirmed_at IS NOT NULL AND over_told_at IS NULL AND (began_told_at IS NULL OR ended_at IS NOT NULL)
ORDER BY began_at, id
LIMIT sqlc.arg(max_rows)::integer;

-- name: LockIncident :one
SELECT *
FROM incidents
WHERE id = sqlc.arg(id)
FOR UPDATE;

-- name: ListIncidentReaders :many
-- Users of accounts that want to be told and called the chain since an instant, in the order of accounts and users. A row of usage lies in a
-- period that begins up to a month before it.
SELECT m.account_id, m.user_id, u.email, u.email_key, a.name, s.time_zone
FROM account_settings AS s
JOIN accounts AS a ON a.id = s.account_id
JOIN members AS m ON m.account_id = s.account_id
JOIN users AS u ON u.id = m.user_id
WHERE s.notify_incidents
    AND (m.account_id, m.user_id) > (sqlc.arg(after_account)::uuid, sqlc.arg(after_user)::uuid)
    AND NOT EXISTS (SELECT FROM mail_opt_outs AS o WHERE o.user_id = m.user_id AND o.topic = sqlc.arg(topic)::text)
    AND EXISTS (
        SELECT FROM usage_hours AS h
        WHERE h.account_id = m.account_id AND h.chain = sqlc.arg(chain)::text AND h.hour >= sqlc.arg(since)::timestamptz
            AND h.period >= ((sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32)
    )
ORDER BY m.account_id, m.user_id
LIMIT sqlc.arg(max_rows)::integer;

-- name: ListToldReaders :many
-- Those who were told that the incident began, and still want to be told. Its mails' reasons end with the user.
SELECT m.account_id, m.user_id, u.email, u.email_key, a.name, s.time_zone
FROM mails AS l
JOIN members AS m ON m.account_id = l.account_id AND m.user_id = right(l.reason, 36)::uuid
JOIN users AS u ON u.id = m.user_id
JOIN accounts AS a ON a.id = m.account_id
JOIN account_settings AS s ON s.account_id = m.account_id AND s.notify_incidents
WHERE l.reason >= sqlc.arg(prefix)::text AND l.reason < sqlc.arg(prefix_end)::text
    AND (m.account_id, m.user_id) > (sqlc.arg(after_account)::uuid, sqlc.arg(after_user)::uuid)
    AND NOT EXISTS (SELECT FROM mail_opt_outs AS o WHERE o.user_id = m.user_id AND o.topic = sqlc.arg(topic)::text)
ORDER BY m.account_id, m.user_id
LIMIT sqlc.arg(max_rows)::integer;

-- name: MoveIncidentPlace :exec
UPDATE incidents
SET told_account = sqlc.arg(told_account)::uuid, told_user = sqlc.arg(told_user)::uuid
WHERE id = sqlc.arg(id);

-- name: EndTellingBegan :exec
UPDATE incidents
SET began_told_at = now(), told_account = NULL, told_user = NULL
WHERE id = sqlc.arg(id);

-- name: EndTellingOver :exec
UPDATE incidents
SET over_told_at = now(), told_account = NULL, told_user = NULL
WHERE id = sqlc.arg(id);
