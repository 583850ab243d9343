-- +goose Up
CREATE TABLE accounts (
    id         uuid PRIMARY KEY,
    kind       text NOT NULL,
    plan       text NOT NULL,
    status     text NOT NULL DEFAULT 'active',
    version    bigint NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT accounts_kind_known CHECK (kind IN ('door', 'wallet', 'owner')),
    CONSTRAINT accounts_plan_named CHECK (plan <> ''),
    CONSTRAINT accounts_status_known CHECK (status IN ('active', 'suspended')),
    CONSTRAINT accounts_version_positive CHECK (version > 0)
);
COMMENT ON COLUMN accounts.version IS 'grows with every change of a fence; the meter keeps the highest it has seen';

CREATE TABLE keys (
    id           uuid PRIMARY KEY,
    account_id   uuid NOT NULL,
    digest       bytea NOT NULL,
    prefix       text NOT NULL,
    name         text NOT NULL DEFAULT '',
    door         text NOT NULL,
    status       text NOT NULL DEFAULT 'active',
    daily_units  bigint,
    version      bigint NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz,
    last_used_at timestamptz,
    CONSTRAINT keys_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT keys_digest_unique UNIQUE (digest),
    CONSTRAINT keys_digest_sha256 CHECK (octet_length(digest) = 32),
    CONSTRAINT keys_door_known CHECK (door IN ('public', 'wallet_bound', 'owner_adopted', 'account')),
    CONSTRAINT keys_status_known CHECK (status IN ('active', 'revoked')),
    CONSTRAINT keys_revoked_at_set CHECK ((status = 'revoked') = (revoked_at IS NOT NULL)),
    CONSTRAINT keys_daily_units_not_negative CHECK (daily_units >= 0),
    CONSTRAINT keys_version_positive CHECK (version > 0)
);
COMMENT ON COLUMN keys.digest IS 'HMAC-SHA-256 of the key; the key itself is stored nowhere';
COMMENT ON COLUMN keys.daily_units IS 'allowance of a UTC day in thousandths of units; null for none';
CREATE INDEX keys_by_account ON keys (account_id, created_at);

-- +goose Down
DROP TABLE keys;
DROP TABLE accounts;
