-- +goose Up
-- Fences of accounts and keys, packs, the log of who changed what, and the changes that the meter has not been told yet.
ALTER TABLE accounts
    ADD COLUMN cycle_anchor timestamptz,
    ADD COLUMN cycle_ends timestamptz,
    ADD COLUMN custom_quota bigint,
    ADD COLUMN custom_rate_limit bigint,
    ADD COLUMN custom_rate_ms bigint,
    ADD COLUMN services_off text[] NOT NULL DEFAULT '{}',
    ADD COLUMN service_caps jsonb NOT NULL DEFAULT '{}',
    ADD CONSTRAINT accounts_cycle_begins CHECK (cycle_ends IS NULL OR cycle_anchor IS NOT NULL),
    ADD CONSTRAINT accounts_custom_whole CHECK (num_nulls(custom_quota, custom_rate_limit, custom_rate_ms) IN (0, 3)),
    ADD CONSTRAINT accounts_custom_quota_bounded CHECK (custom_quota BETWEEN -1 AND 1000000000000000),
    ADD CONSTRAINT accounts_custom_rate_positive CHECK (custom_rate_limit > 0 AND custom_rate_ms > 0),
    ADD CONSTRAINT accounts_services_known
        CHECK (services_off <@ '{rpc,data,gas,tx_status,ens,prices,contracts,utils}'::text[]),
    ADD CONSTRAINT accounts_caps_object CHECK (jsonb_typeof(service_caps) = 'object');
COMMENT ON COLUMN accounts.cycle_anchor IS 'begin of the subscription that the periods follow; null for calendar months';
COMMENT ON COLUMN accounts.custom_quota IS 'thousandths of units of a period, -1 for no quota; null for the plan''s figures';
COMMENT ON COLUMN accounts.service_caps IS 'service to thousandths of units of a period';

ALTER TABLE keys
    ADD COLUMN monthly_cap bigint,
    ADD COLUMN services_off text[] NOT NULL DEFAULT '{}',
    ADD COLUMN service_caps jsonb NOT NULL DEFAULT '{}',
    ADD CONSTRAINT keys_monthly_cap_bounded CHECK (monthly_cap BETWEEN 1 AND 1000000000000000),
    ADD CONSTRAINT keys_services_known
        CHECK (services_off <@ '{rpc,data,gas,tx_status,ens,prices,contracts,utils}'::text[]),
    ADD CONSTRAINT keys_caps_object CHECK (jsonb_typeof(service_caps) = 'object');
COMMENT ON COLUMN keys.monthly_cap IS 'thousandths of units of a period of the account; null for no cap';

CREATE TABLE packs (
    id         uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    kind       text NOT NULL,
    units      bigint NOT NULL,
    origin     text NOT NULL,
    granted_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT packs_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT packs_kind_named CHECK (kind <> ''),
    CONSTRAINT packs_units_positive CHECK (units > 0),
    CONSTRAINT packs_origin_unique UNIQUE (origin),
    CONSTRAINT packs_expire_after_grant CHECK (expires_at > granted_at)
);
COMMENT ON COLUMN packs.origin IS 'what the pack was granted for, a payment for instance; one pack for each, for ever';
CREATE INDEX packs_by_account ON packs (account_id, expires_at, id);

-- Units that packs gave, whatever the period.
CREATE INDEX usage_hours_from_packs ON usage_hours (account_id, source) WHERE source LIKE 'pack:%';

CREATE TABLE audit_log (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT now(),
    account_id uuid NOT NULL,
    key_id     uuid,
    actor      text NOT NULL,
    origin     text NOT NULL,
    action     text NOT NULL,
    reason     text NOT NULL,
    before     jsonb NOT NULL,
    after      jsonb NOT NULL,
    CONSTRAINT audit_log_actor_named CHECK (actor <> ''),
    CONSTRAINT audit_log_action_named CHECK (action <> '')
);
COMMENT ON COLUMN audit_log.actor IS 'who: a user, a key, an operator';
COMMENT ON COLUMN audit_log.origin IS 'from where: console, api, mcp, ops';
CREATE INDEX audit_log_by_account ON audit_log (account_id, id);

CREATE TABLE fence_pushes (
    account_id uuid NOT NULL,
    key_id     uuid NOT NULL,
    version    bigint NOT NULL,
    pushed     bigint NOT NULL DEFAULT 0,
    since      timestamptz NOT NULL DEFAULT now(),
    due_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT fence_pushes_pkey PRIMARY KEY (account_id, key_id)
);
COMMENT ON TABLE fence_pushes IS 'changes that are committed and that the meter may not have; key_id is all zeros for the account itself';
COMMENT ON COLUMN fence_pushes.pushed IS 'newest version that the meter took; it is pushed for some minutes more, in case that Redis forgot it';
CREATE INDEX fence_pushes_due ON fence_pushes (due_at);

-- +goose Down
DROP TABLE fence_pushes;
DROP TABLE audit_log;
DROP INDEX usage_hours_from_packs;
DROP TABLE packs;
ALTER TABLE keys DROP COLUMN monthly_cap, DROP COLUMN services_off, DROP COLUMN service_caps;
ALTER TABLE accounts
    DROP COLUMN cycle_anchor, DROP COLUMN cycle_ends, DROP COLUMN custom_quota, DROP COLUMN custom_rate_limit,
    DROP COLUMN custom_rate_ms, DROP COLUMN services_off, DROP COLUMN service_caps;
