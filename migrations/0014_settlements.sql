-- +goose Up
-- What was paid by the call: one settlement for each transaction and payer, for ever. Redeemed, it is an account of its own whose units are a
-- pack and whose credential is a key, so that the meter, the books and the audit know no second kind of allowance.
ALTER TABLE accounts
    DROP CONSTRAINT accounts_kind_known,
    ADD CONSTRAINT accounts_kind_known CHECK (kind IN ('door', 'wallet', 'owner', 'settlement'));
ALTER TABLE keys
    DROP CONSTRAINT keys_door_known,
    ADD CONSTRAINT keys_door_known CHECK (door IN ('public', 'wallet_bound', 'owner_adopted', 'account', 'credential')),
    ADD COLUMN expires_at timestamptz,
    ADD CONSTRAINT keys_credentials_expire CHECK ((door = 'credential') = (expires_at IS NOT NULL));
COMMENT ON COLUMN keys.expires_at IS 'from when on a pay-per-call credential is refused; null for every other key';

CREATE TABLE settlements (
    chain_id     bigint NOT NULL,
    tx_hash      bytea NOT NULL,
    payer        bytea NOT NULL,
    stage        text NOT NULL,
    reason       text NOT NULL DEFAULT '',
    finality     text,
    paid         bigint,
    block_number bigint,
    block_hash   bytea,
    block_time   timestamptz,
    tier         text,
    country      text,
    net          bigint,
    vat          bigint,
    units        bigint,
    capped       boolean NOT NULL DEFAULT false,
    account_id   uuid,
    key_id       uuid,
    seen_at      timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    redeemed_at  timestamptz,
    window_ends  timestamptz,
    rotations    integer NOT NULL DEFAULT 0,
    refunded_at  timestamptz,
    CONSTRAINT settlements_pkey PRIMARY KEY (chain_id, tx_hash, payer),
    CONSTRAINT settlements_account_unique UNIQUE (account_id),
    CONSTRAINT settlements_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT settlements_key_exists FOREIGN KEY (key_id) REFERENCES keys (id),
    CONSTRAINT settlements_sizes CHECK (octet_length(tx_hash) = 32 AND octet_length(payer) = 20 AND octet_length(block_hash) = 32),
    CONSTRAINT settlements_stage_known CHECK (
        stage IN ('reading', 'pending', 'stuck', 'payable', 'refused', 'redeemed', 'over', 'reorganised')),
    CONSTRAINT settlements_finality_known CHECK (finality IN ('waiting', 'final', 'gone')),
    CONSTRAINT settlements_redeemed_whole CHECK (
        (stage IN ('redeemed', 'over', 'reorganised')) = (redeemed_at IS NOT NULL)
        AND num_nulls(redeemed_at, window_ends, account_id, key_id, finality, tier, country, net, vat, units) IN (0, 10)
        AND (redeemed_at IS NULL OR paid IS NOT NULL)),
    CONSTRAINT settlements_add_up CHECK (paid >= 0 AND net >= 0 AND vat >= 0 AND net + vat = paid),
    CONSTRAINT settlements_units_positive CHECK (units > 0),
    CONSTRAINT settlements_window_after_redeem CHECK (window_ends > redeemed_at)
);
COMMENT ON COLUMN settlements.paid IS 'atomic units of the asset, as net and vat; units are thousandths';
COMMENT ON COLUMN settlements.country IS 'ISO 3166-1 code that the tax went by; empty when the payer was not located';
COMMENT ON COLUMN settlements.rotations IS 'how often it was redeemed again: each ended one credential and gave another';
COMMENT ON COLUMN settlements.refunded_at IS 'when support last noted that its money is sent back by hand; units are granted no more then';
COMMENT ON COLUMN settlements.reason IS 'why it is stuck or refused, in a word';
CREATE INDEX settlements_by_stage ON settlements (stage, updated_at);

CREATE TABLE settlement_events (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain_id bigint NOT NULL,
    tx_hash  bytea NOT NULL,
    payer    bytea NOT NULL,
    at       timestamptz NOT NULL DEFAULT now(),
    stage    text NOT NULL,
    words    text NOT NULL,
    CONSTRAINT settlement_events_of FOREIGN KEY (chain_id, tx_hash, payer) REFERENCES settlements (chain_id, tx_hash, payer),
    CONSTRAINT settlement_events_words_bounded CHECK (words <> '' AND char_length(words) <= 1000)
);
COMMENT ON TABLE settlement_events IS 'the history of a settlement in words, for receipts and for support; it holds no secret';
CREATE INDEX settlement_events_by_settlement ON settlement_events (chain_id, tx_hash, payer, id);

-- +goose Down
DROP TABLE settlement_events;
DROP TABLE settlements;
ALTER TABLE keys DROP CONSTRAINT keys_credentials_expire, DROP COLUMN expires_at, DROP CONSTRAINT keys_door_known,
    ADD CONSTRAINT keys_door_known CHECK (door IN ('public', 'wallet_bound', 'owner_adopted', 'account'));
ALTER TABLE accounts DROP CONSTRAINT accounts_kind_known,
    ADD CONSTRAINT accounts_kind_known CHECK (kind IN ('door', 'wallet', 'owner'));
