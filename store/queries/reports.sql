-- name: SumServices :many
-- Units by service since an hour, of an account or of one key of it. A period is at most 31 days, so older ones hold nothing of the window.
SELECT service, sum(units)::bigint AS units
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32 AND hour >= sqlc.arg(since)
    AND key_id = coalesce(sqlc.narg(key), key_id)
GROUP BY service;

-- name: SumDays :many
-- Usage of an account by UTC day, since an instant.
SELECT
    (date_trunc('day', hour, 'UTC'))::timestamptz AS day,
    coalesce(sum(requests) FILTER (WHERE outcome <> 'refund'), 0)::bigint AS requests,
    coalesce(sum(units) FILTER (WHERE class = 'standard'), 0)::bigint AS standard,
    coalesce(sum(units) FILTER (WHERE class = 'heavy'), 0)::bigint AS heavy,
    coalesce(sum(units) FILTER (WHERE class NOT IN ('standard', 'heavy')), 0)::bigint AS other,
    coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0)::bigint AS hits,
    coalesce(sum(requests) FILTER (WHERE outcome NOT IN ('ok', 'hit', 'refund')), 0)::bigint AS refused
FROM usage_hours
WHERE account_id = sqlc.arg(account) AND period > (sqlc.arg(since)::timestamptz AT TIME ZONE 'UTC')::date - 32 AND hour >= sqlc.arg(since)
GROUP BY 1
ORDER BY 1;
