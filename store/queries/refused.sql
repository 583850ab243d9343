-- name: SetRefusedCalls :exec
-- The figures of a recorder only grow, so a write that came before another one changes nothing.
INSERT INTO refused_calls (account_id, hour, key_id, outcome, management, recorder, calls)
SELECT account_id, hour, key_id, outcome, management, sqlc.arg(recorder)::uuid, calls
FROM (
    SELECT
        unnest(sqlc.arg(accounts)::uuid[]) AS account_id,
        unnest(sqlc.arg(hours)::timestamptz[]) AS hour,
        unnest(sqlc.arg(keys)::uuid[]) AS key_id,
        unnest(sqlc.arg(outcomes)::text[]) AS outcome,
        unnest(sqlc.arg(management)::boolean[]) AS management,
        unnest(sqlc.arg(calls)::bigint[]) AS calls
) AS given
ON CONFLICT ON CONSTRAINT refused_calls_pkey DO UPDATE SET calls = greatest(refused_calls.calls, excluded.calls);

-- name: SumRefusedCalls :one
-- Refused calls of an account, or of some keys of it, that have no record of their own. Like lists of failed calls, without management.
SELECT coalesce(sum(calls), 0)::bigint
FROM refused_calls
WHERE account_id = sqlc.arg(account)::uuid AND hour >= sqlc.arg(since)::timestamptz AND NOT management
    AND (sqlc.narg(keys)::uuid[] IS NULL OR key_id = ANY(sqlc.narg(keys)::uuid[]));

-- name: DeleteRefusedCallsBefore :execrows
DELETE FROM refused_calls
WHERE hour < $1;
