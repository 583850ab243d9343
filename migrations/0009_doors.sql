-- +goose Up
-- Who stands behind accounts and keys: wallets, agents, claim codes, and how an account wants to be told things.
ALTER TABLE keys
    ADD COLUMN claim_digest bytea,
    ADD COLUMN agent_id uuid,
    ADD CONSTRAINT keys_claim_digest_unique UNIQUE (claim_digest),
    ADD CONSTRAINT keys_claim_digest_sha256 CHECK (octet_length(claim_digest) = 32);
COMMENT ON COLUMN keys.claim_digest IS 'HMAC-SHA-256 of the code with which an owner may adopt the key; null when nobody may (any more)';
COMMENT ON COLUMN keys.agent_id IS 'the agent whose key this is; such a key sees its own usage only and manages nothing';
CREATE INDEX keys_by_prefix ON keys (prefix);

ALTER TABLE accounts ADD COLUMN name text NOT NULL DEFAULT '' CONSTRAINT accounts_name_short CHECK (char_length(name) <= 80);

-- A wallet has one account for ever, and at most one key at a time: its allowance follows the wallet.
CREATE TABLE wallets (
    address    bytea PRIMARY KEY,
    account_id uuid NOT NULL,
    key_id     uuid,
    message    text NOT NULL,
    bound_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT wallets_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT wallets_key_exists FOREIGN KEY (key_id) REFERENCES keys (id),
    CONSTRAINT wallets_key_unique UNIQUE (key_id),
    CONSTRAINT wallets_account_unique UNIQUE (account_id),
    CONSTRAINT wallets_address_length CHECK (octet_length(address) = 20)
);
COMMENT ON COLUMN wallets.key_id IS 'the key that is bound; it counts for nothing once it is revoked';
COMMENT ON COLUMN wallets.message IS 'the message that was signed (EIP-4361); no secret';

CREATE TABLE agents (
    id          uuid PRIMARY KEY,
    account_id  uuid NOT NULL,
    address     bytea NOT NULL,
    name        text NOT NULL,
    claimed_via text NOT NULL,
    message     text NOT NULL,
    claimed_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT agents_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT agents_address_unique UNIQUE (account_id, address),
    CONSTRAINT agents_address_length CHECK (octet_length(address) = 20),
    CONSTRAINT agents_name_short CHECK (char_length(name) BETWEEN 1 AND 80)
);
COMMENT ON TABLE agents IS 'identities of an account that proved a wallet; each has one key that works at a time';
ALTER TABLE keys ADD CONSTRAINT keys_agent_exists FOREIGN KEY (agent_id) REFERENCES agents (id);
CREATE UNIQUE INDEX keys_one_of_agent ON keys (agent_id) WHERE status = 'active';

CREATE TABLE account_settings (
    account_id       uuid PRIMARY KEY,
    notify_usage_80  boolean NOT NULL DEFAULT true,
    notify_usage_100 boolean NOT NULL DEFAULT true,
    notify_incidents boolean NOT NULL DEFAULT false,
    time_zone        text NOT NULL DEFAULT 'UTC',
    insights         jsonb NOT NULL DEFAULT '{}',
    updated_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT account_settings_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT account_settings_insights_object CHECK (jsonb_typeof(insights) = 'object')
);
COMMENT ON COLUMN account_settings.insights IS 'what the account told of itself: use_case, team_size, volume, region, previous_provider, referral_source, chains, wish_chains, wish_chain_other';

-- +goose Down
DROP TABLE account_settings;
ALTER TABLE keys DROP COLUMN agent_id, DROP COLUMN claim_digest;
DROP TABLE agents;
DROP TABLE wallets;
ALTER TABLE accounts DROP COLUMN name;
DROP INDEX keys_by_prefix;
