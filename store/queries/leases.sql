-- name: TryLease :one
SELECT pg_try_advisory_lock(sqlc.arg(class)::integer, sqlc.arg(number)::integer);

-- name: ReleaseLease :one
SELECT pg_advisory_unlock(sqlc.arg(class)::integer, sqlc.arg(number)::integer);

-- name: JoinLeases :exec
SELECT pg_advisory_lock_shared(sqlc.arg(class)::integer, sqlc.arg(number)::integer);
