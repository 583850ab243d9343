-- name: ReserveAuthorization :execrows
INSERT INTO payment_authorizations (chain_id, asset, payer, nonce, attempt, value, valid_before, from_block, network, look_at)
VALUES (
    sqlc.arg(chain_id), sqlc.arg(asset), sqlc.arg(payer), sqlc.arg(nonce), sqlc.arg(attempt), sqlc.arg(value), sqlc.arg(valid_before),
    sqlc.arg(from_block), sqlc.arg(network), now() + make_interval(secs => sqlc.arg(hold_seconds)::double precision)
)
ON CONFLICT ON CONSTRAINT payment_authorizations_pkey DO NOTHING;

-- name: GetAuthorization :one
SELECT * FROM payment_authorizations
WHERE chain_id = sqlc.arg(chain_id) AND asset = sqlc.arg(asset) AND payer = sqlc.arg(payer) AND nonce = sqlc.arg(nonce);

-- name: ReleaseAuthorization :execrows
DELETE FROM payment_authorizations
WHERE attempt = sqlc.arg(attempt) AND (state = 'reserved' OR (state = 'settling' AND sqlc.arg(unsent)::boolean));

-- name: ReleaseAbandoned :execrows
-- Reservations whose process died before it asked for a settlement.
DELETE FROM payment_authorizations
WHERE state = 'reserved' AND look_at <= now();

-- name: BeginSettling :execrows
UPDATE payment_authorizations
SET state = 'settling', updated_at = now(), look_at = now() + make_interval(secs => sqlc.arg(hold_seconds)::double precision)
WHERE attempt = sqlc.arg(attempt) AND state = 'reserved';

-- name: EndSettling :execrows
-- What the chain was found to say meanwhile stands.
UPDATE payment_authorizations
SET
    state = sqlc.arg(state), reason = sqlc.arg(reason), tx_hash = sqlc.narg(tx_hash), updated_at = now(),
    look_at = now() + make_interval(secs => sqlc.arg(hold_seconds)::double precision)
WHERE attempt = sqlc.arg(attempt) AND state = 'settling' AND closed_at IS NULL;

-- name: CountOpenAuthorizations :one
-- Those of a payer and of a network whose outcome is open, each counted up to max_rows.
SELECT
    (SELECT count(*) FROM (
        SELECT 1 FROM payment_authorizations AS o
        WHERE o.payer = sqlc.arg(payer) AND o.closed_at IS NULL AND o.state IN ('settling', 'unknown', 'failed')
        LIMIT sqlc.arg(max_rows)::integer) AS p) AS of_payer,
    (SELECT count(*) FROM (
        SELECT 1 FROM payment_authorizations AS o
        WHERE o.network = sqlc.arg(network) AND o.closed_at IS NULL AND o.state IN ('settling', 'unknown', 'failed')
        LIMIT sqlc.arg(max_rows)::integer) AS n) AS of_network;

-- name: ClaimAuthorizations :many
-- The older one is, the longer it is left alone, an hour at most: so those that stay open do not keep from looking at new ones.
UPDATE payment_authorizations
SET look_at = now() + make_interval(secs => least(
    sqlc.arg(again_seconds)::double precision * (1 + extract(EPOCH FROM now() - reserved_at)::double precision / 60), 3600))
WHERE (chain_id, asset, payer, nonce) IN (
    SELECT o.chain_id, o.asset, o.payer, o.nonce FROM payment_authorizations AS o
    WHERE o.closed_at IS NULL AND o.state <> 'reserved' AND o.look_at <= now()
    ORDER BY o.look_at
    LIMIT sqlc.arg(max_rows)::integer
    FOR UPDATE SKIP LOCKED
)
RETURNING *;

-- name: ConcludeAuthorization :execrows
UPDATE payment_authorizations
SET
    state = sqlc.arg(state), reason = sqlc.arg(reason), tx_hash = sqlc.narg(tx_hash), network = '', updated_at = now(), closed_at = now()
WHERE attempt = sqlc.arg(attempt) AND closed_at IS NULL AND state <> 'reserved';
