-- name: ListCalls :many
SELECT request_id, batch_index, started_at, account_id, key_id, chain, service, method, class, tier, outcome,
    http_status, units, upstream, attempts, duration_us, request_bytes, response_bytes, cost_nanos
FROM calls
WHERE request_id = $1
ORDER BY batch_index, started_at;

-- name: DeleteDefaultCallsBefore :execrows
DELETE FROM calls_default
WHERE started_at < $1;

-- name: ListFailedCalls :many
-- The newest calls of an account that were refused or failed. The words are those of the index calls_failed.
SELECT request_id, batch_index, started_at, chain, method, outcome, http_status, duration_us
FROM calls
WHERE account_id = sqlc.arg(account)::uuid AND started_at >= sqlc.arg(since)::timestamptz AND started_at < sqlc.arg(until)::timestamptz
    AND outcome NOT IN ('ok', 'hit', 'client_gone') AND class <> 'management'
ORDER BY started_at DESC, request_id, batch_index
LIMIT sqlc.arg(max_rows);

-- name: ListFailedCallsOfKeys :many
-- The same of some keys alone. It is a query of its own so that every plan of it looks for the keys in the index.
SELECT request_id, batch_index, started_at, chain, method, outcome, http_status, duration_us
FROM calls
WHERE account_id = sqlc.arg(account)::uuid AND started_at >= sqlc.arg(since)::timestamptz AND started_at < sqlc.arg(until)::timestamptz
    AND key_id = ANY(sqlc.arg(keys)::uuid[])
    AND outcome NOT IN ('ok', 'hit', 'client_gone') AND class <> 'management'
ORDER BY started_at DESC, request_id, batch_index
LIMIT sqlc.arg(max_rows);
