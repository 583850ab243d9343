-- name: SweepAnonymousKeys :one
-- One page of anonymous keys, after an id. Those that nobody used are revoked, which the meter is told, and deleted a while after, once the meter was
-- told: by then all that was charged for them is recorded. With a key goes its account, unless usage stands there: then its id stays, and the books balance. What holds anything else
-- stays whole. Keys that somebody is changing are left to the next run.
WITH page AS (
    SELECT keys.id, keys.account_id, keys.status, keys.revoked_at
    FROM keys
    WHERE keys.door = 'public' AND keys.id > sqlc.arg(after)::uuid AND keys.created_at < sqlc.arg(made_before)::timestamptz
    ORDER BY keys.id
    LIMIT sqlc.arg(max_rows)
    FOR UPDATE SKIP LOCKED
),
idle AS (
    SELECT page.id, page.account_id, page.status, page.revoked_at
    FROM page
    JOIN accounts ON accounts.id = page.account_id AND accounts.kind = 'door'
    LEFT JOIN LATERAL (
        SELECT usage_hours.hour FROM usage_hours WHERE usage_hours.key_id = page.id ORDER BY usage_hours.hour DESC LIMIT 1
    ) AS used ON true
    WHERE (used.hour IS NULL OR used.hour < sqlc.arg(used_before)::timestamptz)
        AND NOT EXISTS (SELECT FROM packs WHERE packs.account_id = page.account_id)
        AND NOT EXISTS (SELECT FROM tickets WHERE tickets.account_id = page.account_id)
        AND NOT EXISTS (SELECT FROM feedback WHERE feedback.account_id = page.account_id)
        AND NOT EXISTS (SELECT FROM members WHERE members.account_id = page.account_id)
        AND NOT EXISTS (SELECT FROM settlements WHERE settlements.account_id = page.account_id)
        AND NOT EXISTS (SELECT FROM wallets WHERE wallets.account_id = page.account_id)
        AND NOT EXISTS (SELECT FROM adoptions WHERE adoptions.from_account = page.account_id OR adoptions.account_id = page.account_id)
),
retired AS (
    UPDATE keys
    SET status = 'revoked', revoked_at = now(), version = version + 1
    FROM idle
    WHERE keys.id = idle.id AND idle.status = 'active'
    RETURNING keys.account_id, keys.id, keys.version
),
told AS (
    INSERT INTO fence_pushes (account_id, key_id, version)
    SELECT retired.account_id, retired.id, retired.version FROM retired
    ON CONFLICT (account_id, key_id) DO UPDATE
    SET version = greatest(fence_pushes.version, excluded.version), since = now(), due_at = now()
),
gone AS (
    DELETE FROM keys
    USING idle
    WHERE keys.id = idle.id AND idle.status = 'revoked' AND idle.revoked_at < sqlc.arg(retired_before)::timestamptz
        AND NOT EXISTS (SELECT FROM fence_pushes WHERE fence_pushes.account_id = keys.account_id AND fence_pushes.key_id = keys.id)
    RETURNING keys.id, keys.account_id
),
emptied AS (
    SELECT gone.account_id AS id
    FROM gone
    WHERE NOT EXISTS (SELECT FROM keys WHERE keys.account_id = gone.account_id AND keys.id <> gone.id)
        AND NOT EXISTS (SELECT FROM usage_periods WHERE usage_periods.account_id = gone.account_id)
        AND NOT EXISTS (SELECT FROM usage_hours WHERE usage_hours.account_id = gone.account_id)
        AND NOT EXISTS (SELECT FROM statements WHERE statements.account_id = gone.account_id)
        AND NOT EXISTS (SELECT FROM ended_periods WHERE ended_periods.account_id = gone.account_id)
        AND NOT EXISTS (SELECT FROM mails WHERE mails.account_id = gone.account_id)
),
settings AS (
    DELETE FROM account_settings USING emptied WHERE account_settings.account_id = emptied.id
),
lines AS (
    DELETE FROM audit_log USING emptied WHERE audit_log.account_id = emptied.id
),
closed AS (
    DELETE FROM accounts USING emptied WHERE accounts.id = emptied.id
    RETURNING accounts.id
)
SELECT (SELECT count(*) FROM page) AS seen,
    coalesce((SELECT page.id FROM page ORDER BY page.id DESC LIMIT 1), sqlc.arg(after)::uuid)::uuid AS last,
    (SELECT count(*) FROM retired) AS retired, (SELECT count(*) FROM gone) AS deleted, (SELECT count(*) FROM closed) AS accounts;
