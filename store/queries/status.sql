-- name: MoveChainMeasurement :one
-- The newest measurement of a chain takes the place of the last one; what is not newer changes nothing and gives no row, but waits for whoever writes
-- the chain at the same time.
INSERT INTO chain_measurements AS m (chain, measured_at, state, reason)
VALUES (sqlc.arg(chain)::text, sqlc.arg(at)::timestamptz, sqlc.arg(state)::text, sqlc.arg(reason)::text)
ON CONFLICT (chain) DO UPDATE
SET measured_at = excluded.measured_at, state = excluded.state, reason = excluded.reason, previous_at = m.measured_at, previous_state = m.state
WHERE excluded.measured_at > m.measured_at
RETURNING previous_at, previous_state;

-- name: AddChainTime :exec
INSERT INTO chain_slots AS s (chain, slot, up_ms, degraded_ms, down_ms)
VALUES (sqlc.arg(chain)::text, sqlc.arg(slot)::timestamptz, sqlc.arg(up_ms)::integer, sqlc.arg(degraded_ms)::integer, sqlc.arg(down_ms)::integer)
ON CONFLICT (chain, slot) DO UPDATE
SET up_ms = s.up_ms + excluded.up_ms, degraded_ms = s.degraded_ms + excluded.degraded_ms, down_ms = s.down_ms + excluded.down_ms;

-- name: SetChainCalls :execrows
-- What processes report of a slot only grows, but when one of them ends and is forgotten: less than what is there changes nothing.
INSERT INTO chain_slots AS s (chain, slot, calls, rerouted, lost, attempts, failed, buckets, counts)
VALUES (
    sqlc.arg(chain)::text, sqlc.arg(slot)::timestamptz, sqlc.arg(calls)::bigint, sqlc.arg(rerouted)::bigint, sqlc.arg(lost)::bigint,
    sqlc.arg(attempts)::bigint, sqlc.arg(failed)::bigint, sqlc.arg(buckets)::smallint[], sqlc.arg(counts)::bigint[]
)
ON CONFLICT (chain, slot) DO UPDATE
SET calls = excluded.calls, rerouted = excluded.rerouted, lost = excluded.lost, attempts = excluded.attempts, failed = excluded.failed,
    buckets = excluded.buckets, counts = excluded.counts
WHERE excluded.attempts + excluded.lost + excluded.rerouted + excluded.failed > s.attempts + s.lost + s.rerouted + s.failed;

-- name: SumChainDay :exec
INSERT INTO chain_days (chain, day, up_ms, degraded_ms, down_ms, calls, rerouted, lost, attempts, failed)
SELECT
    chain, sqlc.arg(day)::date, sum(up_ms), sum(degraded_ms), sum(down_ms), sum(calls), sum(rerouted), sum(lost), sum(attempts), sum(failed)
FROM chain_slots
WHERE chain = sqlc.arg(chain)::text
    AND slot >= sqlc.arg(day)::date::timestamp AT TIME ZONE 'UTC' AND slot < (sqlc.arg(day)::date + 1)::timestamp AT TIME ZONE 'UTC'
GROUP BY chain
ON CONFLICT (chain, day) DO UPDATE
SET up_ms = excluded.up_ms, degraded_ms = excluded.degraded_ms, down_ms = excluded.down_ms, calls = excluded.calls, rerouted = excluded.rerouted,
    lost = excluded.lost, attempts = excluded.attempts, failed = excluded.failed;

-- name: ListChainMeasurements :many
SELECT chain, measured_at, state, reason
FROM chain_measurements;

-- name: SumChainSlots :many
SELECT
    chain,
    sum(calls)::bigint AS calls, sum(rerouted)::bigint AS rerouted, sum(lost)::bigint AS lost, sum(attempts)::bigint AS attempts, sum(failed)::bigint AS failed
FROM chain_slots
WHERE slot >= sqlc.arg(since)::timestamptz
GROUP BY chain;

-- name: SumChainLatency :many
SELECT s.chain, histogram.bucket::smallint AS bucket, sum(histogram.calls)::bigint AS calls
FROM chain_slots AS s
CROSS JOIN LATERAL (SELECT unnest(s.buckets) AS bucket, unnest(s.counts) AS calls) AS histogram
WHERE s.slot >= sqlc.arg(since)::timestamptz
GROUP BY s.chain, histogram.bucket;

-- name: ListChainDays :many
SELECT chain, day, up_ms, degraded_ms, down_ms, calls, rerouted, lost, attempts, failed
FROM chain_days
WHERE day >= sqlc.arg(since)::date
ORDER BY chain, day;

-- name: ListIncidents :many
-- Those that were long enough to be news, which go on or ended since an instant, the newest first.
SELECT *
FROM incidents
WHERE confirmed_at IS NOT NULL AND (ended_at IS NULL OR ended_at >= sqlc.arg(since)::timestamptz)
ORDER BY began_at DESC, id
LIMIT sqlc.arg(max_rows)::integer;

-- name: DeleteChainSlotsBefore :execrows
-- One batch of at most so many rows, so that no lock is held for long.
DELETE FROM chain_slots
WHERE ctid = ANY (ARRAY(
    SELECT old.ctid
    FROM chain_slots AS old
    WHERE old.slot < sqlc.arg(before)::timestamptz
    LIMIT sqlc.arg(max_rows)
    FOR UPDATE SKIP LOCKED
));
