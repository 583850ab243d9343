-- name: ListCalls :many
SELECT request_id, batch_index, started_at, account_id, key_id, chain, service, method, class, tier, outcome,
    http_status, units, upstream, attempts, duration_us, request_bytes, response_bytes
FROM calls
WHERE request_id = $1
ORDER BY batch_index, started_at;

-- name: DeleteDefaultCallsBefore :execrows
DELETE FROM calls_default
WHERE started_at < $1;
