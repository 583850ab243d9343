-- name: ListUsageLines :many
-- Usage with every word told apart, by hour or by UTC day, oldest first.
SELECT
    u.start, u.key_id, u.chain, u.service, u.method, u.class,
    coalesce(sum(u.requests), 0)::bigint AS requests,
    coalesce(sum(u.requests) FILTER (WHERE u.outcome IN ('ok', 'refund')), 0)::bigint AS billable,
    coalesce(sum(u.requests) FILTER (WHERE u.outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(u.units), 0)::bigint AS units
FROM usage_parts AS u
WHERE u.account_id = sqlc.arg(account) AND u.by_key = true AND u.step = sqlc.arg(step)::text AND u.start >= sqlc.arg(since)::timestamptz
    AND u.period = ANY(ARRAY(
        SELECT p.period
        FROM usage_periods AS p
        WHERE p.account_id = sqlc.arg(account) AND p.period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32
            AND (sqlc.narg(only_period)::date IS NULL OR p.period = sqlc.narg(only_period)::date)
    ))
    AND (sqlc.narg(keys)::uuid[] IS NULL OR u.key_id = ANY(sqlc.narg(keys)::uuid[]))
    AND (sqlc.arg(only_chain)::text = '' OR u.chain = sqlc.arg(only_chain)::text)
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY 1, 2, 3, 4, 5, 6
LIMIT sqlc.arg(max_rows);
