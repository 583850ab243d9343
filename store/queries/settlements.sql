-- name: GetSettlement :one
SELECT *
FROM settlements
WHERE chain_id = $1 AND tx_hash = $2 AND payer = $3;

-- name: GetSettlementOf :one
SELECT *
FROM settlements
WHERE account_id = sqlc.arg(account)::uuid;

-- name: LockSettlement :one
SELECT *
FROM settlements
WHERE chain_id = $1 AND tx_hash = $2 AND payer = $3
FOR UPDATE;

-- name: ListSettlementsOf :many
-- All payers of a transaction, those whose payment was seen first.
SELECT *
FROM settlements
WHERE chain_id = $1 AND tx_hash = $2
ORDER BY paid IS NULL, payer
LIMIT sqlc.arg(max_rows);

-- name: ListSettlements :many
-- The newest first; from a keyset on.
SELECT *
FROM settlements
WHERE (sqlc.narg(stage)::text IS NULL OR stage = sqlc.narg(stage))
    AND (sqlc.narg(before)::timestamptz IS NULL
        OR (updated_at, tx_hash, payer) < (sqlc.narg(before)::timestamptz, sqlc.narg(before_tx)::bytea, sqlc.narg(before_payer)::bytea))
ORDER BY updated_at DESC, tx_hash DESC, payer DESC
LIMIT sqlc.arg(max_rows);

-- name: ListUnconfirmed :many
-- Those that were granted within a span of time and are not final, the oldest first; from a keyset on.
SELECT *
FROM settlements
WHERE stage = 'redeemed' AND finality = 'waiting'
    AND redeemed_at < now() - make_interval(secs => sqlc.arg(older_seconds)::double precision)
    AND redeemed_at > now() - make_interval(secs => sqlc.arg(younger_seconds)::double precision)
    AND (sqlc.narg(after)::timestamptz IS NULL
        OR (redeemed_at, tx_hash, payer) > (sqlc.narg(after)::timestamptz, sqlc.narg(after_tx)::bytea, sqlc.narg(after_payer)::bytea))
ORDER BY redeemed_at, tx_hash, payer
LIMIT sqlc.arg(max_rows);

-- name: OpenSettlement :exec
-- Makes the row, which is locked then.
INSERT INTO settlements (chain_id, tx_hash, payer, stage)
VALUES ($1, $2, $3, 'reading')
ON CONFLICT (chain_id, tx_hash, payer) DO NOTHING;

-- name: UpdateSettlement :one
UPDATE settlements
SET stage = sqlc.arg(stage), reason = sqlc.arg(reason), paid = sqlc.narg(paid), block_number = sqlc.narg(block_number),
    block_hash = sqlc.narg(block_hash), block_time = sqlc.narg(block_time), updated_at = now()
WHERE chain_id = sqlc.arg(chain_id) AND tx_hash = sqlc.arg(tx_hash) AND payer = sqlc.arg(payer)
RETURNING *;

-- name: RedeemSettlement :one
UPDATE settlements
SET stage = 'redeemed', reason = '', finality = 'waiting', paid = sqlc.arg(paid)::bigint, block_number = sqlc.arg(block_number)::bigint,
    block_hash = sqlc.arg(block_hash), block_time = sqlc.arg(block_time)::timestamptz, tier = sqlc.arg(tier)::text, country = sqlc.arg(country)::text,
    net = sqlc.arg(net)::bigint, vat = sqlc.arg(vat)::bigint, units = sqlc.arg(units)::bigint, capped = sqlc.arg(capped), account_id = sqlc.arg(account_id)::uuid,
    key_id = sqlc.arg(key_id)::uuid, credential_left = sqlc.arg(units)::bigint, redeemed_at = sqlc.arg(redeemed_at)::timestamptz, window_ends = sqlc.arg(window_ends)::timestamptz, updated_at = now()
WHERE chain_id = sqlc.arg(chain_id) AND tx_hash = sqlc.arg(tx_hash) AND payer = sqlc.arg(payer)
RETURNING *;

-- name: ConcludeSettlement :one
UPDATE settlements
SET stage = sqlc.arg(stage), finality = sqlc.arg(finality)::text, block_number = sqlc.arg(block_number)::bigint, block_hash = sqlc.arg(block_hash),
    block_time = sqlc.arg(block_time)::timestamptz, updated_at = now()
WHERE chain_id = sqlc.arg(chain_id) AND tx_hash = sqlc.arg(tx_hash) AND payer = sqlc.arg(payer)
RETURNING *;

-- name: NoteRefund :exec
UPDATE settlements
SET refunded_at = now(), updated_at = now()
WHERE chain_id = $1 AND tx_hash = $2 AND payer = $3;

-- name: SetCredential :one
UPDATE settlements
SET key_id = sqlc.arg(key_id)::uuid, credential_left = sqlc.narg(credential_left), rotations = rotations + 1, updated_at = now()
WHERE chain_id = sqlc.arg(chain_id) AND tx_hash = sqlc.arg(tx_hash) AND payer = sqlc.arg(payer)
RETURNING *;

-- name: InsertCredential :one
-- Made at the clock's time, not the transaction's: whoever waited for the settlement's lock asked before it was made.
INSERT INTO keys (id, account_id, digest, prefix, door, expires_at, created_at)
VALUES ($1, $2, $3, $4, 'credential', sqlc.arg(expires_at)::timestamptz, clock_timestamp())
RETURNING *;

-- name: AddSettlementEvent :exec
INSERT INTO settlement_events (chain_id, tx_hash, payer, stage, words)
VALUES ($1, $2, $3, $4, $5);

-- name: ListSettlementEvents :many
-- The newest first.
SELECT *
FROM settlement_events
WHERE chain_id = $1 AND tx_hash = $2 AND payer = $3
ORDER BY id DESC
LIMIT sqlc.arg(max_rows);
