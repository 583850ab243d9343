-- name: AddUpstreamCosts :exec
-- The rows come in the order of their key, so that two processes lock them in the same order.
INSERT INTO upstream_costs (day, chain, upstream, method, requests, units, nanos)
SELECT
    unnest(sqlc.arg(days)::date[]), unnest(sqlc.arg(chains)::text[]), unnest(sqlc.arg(upstreams)::text[]),
    unnest(sqlc.arg(methods)::text[]), unnest(sqlc.arg(requests)::bigint[]), unnest(sqlc.arg(units)::bigint[]),
    unnest(sqlc.arg(nanos)::bigint[])
ON CONFLICT (day, chain, upstream, method) DO UPDATE SET
    requests = upstream_costs.requests + EXCLUDED.requests, units = upstream_costs.units + EXCLUDED.units,
    nanos = upstream_costs.nanos + EXCLUDED.nanos;

-- name: AddAccountCosts :exec
INSERT INTO account_costs (day, account_id, chain, calls, nanos)
SELECT
    unnest(sqlc.arg(days)::date[]), unnest(sqlc.arg(accounts)::uuid[]), unnest(sqlc.arg(chains)::text[]),
    unnest(sqlc.arg(calls)::bigint[]), unnest(sqlc.arg(nanos)::bigint[])
ON CONFLICT (day, account_id, chain) DO UPDATE SET
    calls = account_costs.calls + EXCLUDED.calls, nanos = account_costs.nanos + EXCLUDED.nanos;

-- name: ListUpstreamCosts :many
SELECT chain, upstream, method, sum(requests)::bigint AS requests, sum(units)::bigint AS units, sum(nanos)::bigint AS nanos
FROM upstream_costs
WHERE day >= sqlc.arg(since)::date AND day < sqlc.arg(until)::date
GROUP BY chain, upstream, method
ORDER BY nanos DESC, chain, upstream, method;

-- name: SumUpstreamUnits :one
SELECT coalesce(sum(units), 0)::bigint AS units
FROM upstream_costs
WHERE day >= sqlc.arg(since)::date AND chain = sqlc.arg(chain) AND upstream = sqlc.arg(upstream);

-- name: SumCallCosts :one
SELECT coalesce(sum(calls), 0)::bigint AS calls, coalesce(sum(nanos), 0)::bigint AS nanos
FROM account_costs
WHERE day >= sqlc.arg(since)::date AND day < sqlc.arg(until)::date;

-- name: ListAccountMargins :many
-- What accounts paid net of VAT and what their calls cost, the lowest margin first. Invoices are of plans and packs, settlements of
-- payments per call. Settlements whose money was sent back are left out; an invoice does not show a later refund.
WITH paid AS (
    SELECT account_id, sum(net)::bigint * 10000000 AS nanos
    FROM invoices
    WHERE status = 'paid' AND currency = 'usd' AND paid_at >= sqlc.arg(since)::date AND paid_at < sqlc.arg(until)::date
    GROUP BY account_id
),
settled AS (
    SELECT account_id, sum(net)::bigint * 1000 AS nanos
    FROM settlements
    WHERE redeemed_at >= sqlc.arg(since)::date AND redeemed_at < sqlc.arg(until)::date AND refunded_at IS NULL AND finality <> 'gone'
    GROUP BY account_id
),
costs AS (
    SELECT account_id, sum(calls)::bigint AS calls, sum(nanos)::bigint AS nanos
    FROM account_costs
    WHERE day >= sqlc.arg(since)::date AND day < sqlc.arg(until)::date
    GROUP BY account_id
),
sums AS (
    SELECT account_id, 0::bigint AS calls, 0::bigint AS cost, nanos AS revenue FROM paid
    UNION ALL
    SELECT account_id, 0, 0, nanos FROM settled
    UNION ALL
    SELECT account_id, calls, nanos, 0 FROM costs
)
SELECT sums.account_id, coalesce(accounts.name, '')::text AS name, coalesce(accounts.plan, '')::text AS plan,
    sum(sums.calls)::bigint AS calls, sum(sums.cost)::bigint AS cost, sum(sums.revenue)::bigint AS revenue
FROM sums
LEFT JOIN accounts ON accounts.id = sums.account_id
GROUP BY sums.account_id, accounts.name, accounts.plan
ORDER BY sum(sums.revenue) - sum(sums.cost), sums.account_id
LIMIT sqlc.arg(max_rows);

-- name: SumRevenue :one
SELECT
    (SELECT coalesce(sum(net), 0)::bigint * 10000000 FROM invoices
        WHERE status = 'paid' AND currency = 'usd' AND paid_at >= sqlc.arg(since)::date AND paid_at < sqlc.arg(until)::date)::bigint AS invoiced,
    (SELECT coalesce(sum(net), 0)::bigint * 1000 FROM settlements
        WHERE redeemed_at >= sqlc.arg(since)::date AND redeemed_at < sqlc.arg(until)::date AND refunded_at IS NULL
            AND finality <> 'gone')::bigint AS settled;
