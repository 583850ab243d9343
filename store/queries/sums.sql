-- What the audit holds the sums of usage_hours to: that they are its sums, word for word. Each gives the first words for which they are not.

-- name: GetUnequalDay :one
SELECT
    day::timestamptz AS start, key_id, agent, chain, service, method, class, outcome, source, tier,
    sum(sum_requests)::bigint AS sum_requests, sum(sum_units)::bigint AS sum_units,
    sum(hour_requests)::bigint AS hour_requests, sum(hour_units)::bigint AS hour_units
FROM (
    SELECT
        day, key_id, agent, chain, service, method, class, outcome, source, tier,
        requests AS sum_requests, units AS sum_units, 0 AS hour_requests, 0 AS hour_units
    FROM usage_days AS d
    WHERE d.account_id = sqlc.arg(account) AND d.period = sqlc.arg(period)
    UNION ALL
    SELECT date_trunc('day', hour, 'UTC'), key_id, agent, chain, service, method, class, outcome, source, tier, 0, 0, requests, units
    FROM usage_hours AS h
    WHERE h.account_id = sqlc.arg(account) AND h.period = sqlc.arg(period)
) AS both_books
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
HAVING sum(sum_requests) <> sum(hour_requests) OR sum(sum_units) <> sum(hour_units)
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
LIMIT 1;

-- name: GetUnequalAccountHour :one
SELECT
    hour::timestamptz AS start, chain, service, method, class, outcome, source, tier,
    sum(sum_requests)::bigint AS sum_requests, sum(sum_units)::bigint AS sum_units,
    sum(hour_requests)::bigint AS hour_requests, sum(hour_units)::bigint AS hour_units
FROM (
    SELECT hour, chain, service, method, class, outcome, source, tier, requests AS sum_requests, units AS sum_units, 0 AS hour_requests, 0 AS hour_units
    FROM account_hours AS d
    WHERE d.account_id = sqlc.arg(account) AND d.period = sqlc.arg(period)
    UNION ALL
    SELECT hour, chain, service, method, class, outcome, source, tier, 0, 0, requests, units
    FROM usage_hours AS h
    WHERE h.account_id = sqlc.arg(account) AND h.period = sqlc.arg(period)
) AS both_books
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
HAVING sum(sum_requests) <> sum(hour_requests) OR sum(sum_units) <> sum(hour_units)
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
LIMIT 1;

-- name: GetUnequalAccountDay :one
-- Held to account_hours, which are held to the hours themselves.
SELECT
    day::timestamptz AS start, chain, service, method, class, outcome, source, tier,
    sum(sum_requests)::bigint AS sum_requests, sum(sum_units)::bigint AS sum_units,
    sum(hour_requests)::bigint AS hour_requests, sum(hour_units)::bigint AS hour_units
FROM (
    SELECT day, chain, service, method, class, outcome, source, tier, requests AS sum_requests, units AS sum_units, 0 AS hour_requests, 0 AS hour_units
    FROM account_days AS d
    WHERE d.account_id = sqlc.arg(account) AND d.period = sqlc.arg(period)
    UNION ALL
    SELECT date_trunc('day', hour, 'UTC'), chain, service, method, class, outcome, source, tier, 0, 0, requests, units
    FROM account_hours AS h
    WHERE h.account_id = sqlc.arg(account) AND h.period = sqlc.arg(period)
) AS both_books
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
HAVING sum(sum_requests) <> sum(hour_requests) OR sum(sum_units) <> sum(hour_units)
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
LIMIT 1;
