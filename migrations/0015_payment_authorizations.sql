-- +goose Up
-- Payments of stock x402 clients: an authorization (EIP-3009) is reserved before a facilitator hears of it, and what became of it is kept for
-- ever, so that no process settles it twice. Only the chain can say what became of one whose settlement gave no answer.
CREATE TABLE payment_authorizations (
    chain_id     bigint NOT NULL,
    asset        bytea NOT NULL,
    payer        bytea NOT NULL,
    nonce        bytea NOT NULL,
    attempt      uuid NOT NULL,
    state        text NOT NULL DEFAULT 'reserved',
    reason       text NOT NULL DEFAULT '',
    value        bigint NOT NULL,
    valid_before timestamptz NOT NULL,
    from_block   bigint NOT NULL,
    tx_hash      bytea,
    reserved_at  timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    look_at      timestamptz NOT NULL,
    closed_at    timestamptz,
    CONSTRAINT payment_authorizations_pkey PRIMARY KEY (chain_id, asset, payer, nonce),
    CONSTRAINT payment_authorizations_attempt_unique UNIQUE (attempt),
    CONSTRAINT payment_authorizations_sizes CHECK (
        octet_length(asset) = 20 AND octet_length(payer) = 20 AND octet_length(nonce) = 32 AND octet_length(tx_hash) = 32),
    CONSTRAINT payment_authorizations_state_known CHECK (state IN ('reserved', 'settling', 'settled', 'failed', 'unknown')),
    CONSTRAINT payment_authorizations_settled_known CHECK ((state = 'settled') = (tx_hash IS NOT NULL)),
    CONSTRAINT payment_authorizations_settled_closed CHECK (state <> 'settled' OR closed_at IS NOT NULL),
    CONSTRAINT payment_authorizations_reserved_open CHECK (state <> 'reserved' OR closed_at IS NULL),
    CONSTRAINT payment_authorizations_numbers CHECK (value >= 0 AND from_block >= 0),
    CONSTRAINT payment_authorizations_reason_bounded CHECK (char_length(reason) <= 200)
);
COMMENT ON COLUMN payment_authorizations.attempt IS 'of the request that holds it; nobody else may settle it';
COMMENT ON COLUMN payment_authorizations.from_block IS 'block from which on a transfer by it is looked for';
COMMENT ON COLUMN payment_authorizations.look_at IS 'when the chain is looked at next, while it is open';
COMMENT ON COLUMN payment_authorizations.closed_at IS 'from when on nothing more can come of it';
CREATE INDEX payment_authorizations_open ON payment_authorizations (look_at) WHERE closed_at IS NULL;

-- +goose Down
DROP TABLE payment_authorizations;
