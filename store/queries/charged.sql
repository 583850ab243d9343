-- name: CompareCharged :many
-- Keys and whole hours of which the records of charged calls and the usage lines do not fit. A call's record has the time of the process and its
-- line that of Redis, so the edges of an hour have a minute of room: every record within the hour but its first and last minute has a line of the
-- hour, and every charge of the hour that was not given back has a record within the hour or a minute beside it. A charge that is given back in the
-- next hour counts as one without a record.
WITH lines AS (
    SELECT key_id, hour,
        coalesce(sum(requests) FILTER (WHERE outcome = 'ok' AND units > 0), 0)::bigint AS charged,
        coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund') AND units <> 0), 0)::bigint AS standing
    FROM usage_hours
    WHERE account_id = sqlc.arg(account)::uuid AND hour >= sqlc.arg(since)::timestamptz AND hour < sqlc.arg(until)::timestamptz
    GROUP BY key_id, hour
),
records AS (
    SELECT calls.key_id, spans.hour,
        count(*) FILTER (WHERE calls.started_at >= spans.hour + interval '1 minute' AND calls.started_at < spans.hour + interval '59 minutes') AS within,
        count(*) AS around
    FROM generate_series(sqlc.arg(since)::timestamptz, sqlc.arg(until)::timestamptz - interval '1 hour', interval '1 hour') AS spans(hour)
    JOIN calls ON calls.started_at >= spans.hour - interval '1 minute' AND calls.started_at < spans.hour + interval '61 minutes'
    WHERE calls.account_id = sqlc.arg(account)::uuid AND calls.key_id IS NOT NULL AND calls.units > 0
    GROUP BY calls.key_id, spans.hour
)
SELECT coalesce(lines.key_id, records.key_id)::uuid AS key_id, coalesce(lines.hour, records.hour)::timestamptz AS hour,
    coalesce(records.within, 0)::bigint AS recorded, coalesce(lines.charged, 0)::bigint AS charged,
    greatest(0, coalesce(lines.standing, 0) - coalesce(records.around, 0))::bigint AS unrecorded
FROM lines
FULL JOIN records ON records.key_id = lines.key_id AND records.hour = lines.hour
WHERE coalesce(records.within, 0) > coalesce(lines.charged, 0) OR coalesce(lines.standing, 0) > coalesce(records.around, 0)
ORDER BY 2, 1;
