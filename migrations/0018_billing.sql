-- +goose Up
-- What accounts bought through Stripe, which decides; these tables mirror what it said when it was last asked.
CREATE TABLE billing_customers (
    account_id     uuid PRIMARY KEY,
    customer       text COLLATE "C" NOT NULL,
    country        text NOT NULL DEFAULT '',
    card_brand     text NOT NULL DEFAULT '',
    card_last4     text NOT NULL DEFAULT '',
    card_exp_month smallint NOT NULL DEFAULT 0,
    card_exp_year  smallint NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL DEFAULT now(),
    read_at        timestamptz,
    CONSTRAINT billing_customers_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT billing_customers_customer_unique UNIQUE (customer),
    CONSTRAINT billing_customers_customer_named CHECK (customer <> ''),
    CONSTRAINT billing_customers_country_code CHECK (char_length(country) IN (0, 2)),
    CONSTRAINT billing_customers_last4 CHECK (char_length(card_last4) <= 4)
);
COMMENT ON COLUMN billing_customers.country IS 'ISO 3166-1 code by which VAT is decided; empty when none is known';
COMMENT ON COLUMN billing_customers.read_at IS 'when Stripe was last read for the account; null for never';

CREATE TABLE subscriptions (
    id                   text COLLATE "C" PRIMARY KEY,
    account_id           uuid NOT NULL,
    price                text NOT NULL,
    status               text NOT NULL,
    founding             boolean NOT NULL DEFAULT false,
    price_cents          bigint NOT NULL,
    started_at           timestamptz NOT NULL,
    period_start         timestamptz NOT NULL,
    period_end           timestamptz NOT NULL,
    cancel_at_period_end boolean NOT NULL DEFAULT false,
    held                 text NOT NULL DEFAULT '',
    held_until           timestamptz,
    ended_at             timestamptz,
    updated_at           timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT subscriptions_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT subscriptions_price_named CHECK (price <> ''),
    CONSTRAINT subscriptions_status_named CHECK (status <> ''),
    CONSTRAINT subscriptions_price_not_negative CHECK (price_cents >= 0)
);
COMMENT ON COLUMN subscriptions.price IS 'key of what is charged next, on the price ladder';
COMMENT ON COLUMN subscriptions.held IS 'key whose plan the account keeps until held_until, after a change to a smaller one';
CREATE UNIQUE INDEX subscriptions_one_live ON subscriptions (account_id) WHERE ended_at IS NULL;
CREATE INDEX subscriptions_by_account ON subscriptions (account_id, started_at DESC);

CREATE TABLE checkouts (
    id         uuid PRIMARY KEY,
    account_id uuid NOT NULL,
    item       text NOT NULL,
    country    text NOT NULL DEFAULT '',
    session    text COLLATE "C",
    state      text NOT NULL DEFAULT 'open',
    opened_at  timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz,
    CONSTRAINT checkouts_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT checkouts_session_unique UNIQUE (session),
    CONSTRAINT checkouts_item_named CHECK (item <> ''),
    CONSTRAINT checkouts_country_code CHECK (char_length(country) IN (0, 2)),
    CONSTRAINT checkouts_state_known CHECK (state IN ('open', 'paid', 'expired', 'refunded', 'failed')),
    CONSTRAINT checkouts_ended CHECK ((state = 'open') = (ended_at IS NULL))
);
COMMENT ON COLUMN checkouts.session IS 'id of the Stripe session; null until it is made';
CREATE INDEX checkouts_by_account ON checkouts (account_id, opened_at DESC);
CREATE INDEX checkouts_open ON checkouts (expires_at) WHERE state = 'open';
CREATE INDEX checkouts_seats ON checkouts (item) WHERE item = 'founding' AND state IN ('open', 'paid');

CREATE TABLE invoices (
    id           text COLLATE "C" PRIMARY KEY,
    account_id   uuid NOT NULL,
    number       text NOT NULL DEFAULT '',
    subscription text COLLATE "C" NOT NULL DEFAULT '',
    payment      text COLLATE "C" NOT NULL DEFAULT '',
    status       text NOT NULL,
    reason       text NOT NULL DEFAULT '',
    currency     text NOT NULL,
    net          bigint NOT NULL,
    vat          bigint NOT NULL,
    total        bigint NOT NULL,
    paid         bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    paid_at      timestamptz,
    period_start timestamptz NOT NULL,
    period_end   timestamptz NOT NULL,
    attempts     integer NOT NULL DEFAULT 0,
    next_attempt timestamptz,
    updated_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT invoices_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT invoices_status_known CHECK (status IN ('open', 'paid', 'void', 'uncollectible')),
    CONSTRAINT invoices_add_up CHECK (net + vat = total)
);
COMMENT ON COLUMN invoices.net IS 'cents, as are vat, total and paid';
CREATE INDEX invoices_by_account ON invoices (account_id, created_at DESC, id);

CREATE TABLE stripe_events (
    id           text COLLATE "C" PRIMARY KEY,
    type         text COLLATE "C" NOT NULL,
    api_version  text COLLATE "C" NOT NULL DEFAULT '',
    object       text COLLATE "C" NOT NULL DEFAULT '',
    customer     text COLLATE "C" NOT NULL DEFAULT '',
    session      text COLLATE "C" NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT now(),
    processed_at timestamptz,
    result       text COLLATE "C",
    CONSTRAINT stripe_events_bounded CHECK (length(id) <= 255 AND length(type) <= 100 AND length(object) <= 255 AND length(customer) <= 255),
    CONSTRAINT stripe_events_end_whole CHECK ((processed_at IS NULL) = (result IS NULL))
);
COMMENT ON TABLE stripe_events IS 'webhooks that came, each once; what they say is read again from Stripe, so their bodies are not kept';
COMMENT ON COLUMN stripe_events.processed_at IS 'when the flow that reads again had the signal; null until then';
CREATE INDEX stripe_events_open ON stripe_events (received_at) WHERE processed_at IS NULL;
CREATE INDEX stripe_events_by_age ON stripe_events (received_at);

-- Metering periods that a change of the cycle cut short: their bounds follow from no cycle any more.
CREATE TABLE ended_periods (
    account_id uuid NOT NULL,
    period     date NOT NULL,
    starts_at  timestamptz NOT NULL,
    ends_at    timestamptz NOT NULL,
    plan       text NOT NULL,
    CONSTRAINT ended_periods_pkey PRIMARY KEY (account_id, period),
    CONSTRAINT ended_periods_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT ended_periods_end_after_start CHECK (ends_at >= starts_at)
);

ALTER TABLE accounts
    ADD COLUMN next_plan text,
    ADD COLUMN next_plan_from timestamptz,
    ADD CONSTRAINT accounts_next_plan_whole CHECK ((next_plan IS NULL) = (next_plan_from IS NULL));
COMMENT ON COLUMN accounts.next_plan IS 'key of the plan that takes over at next_plan_from; null when none is known to';

ALTER TABLE packs
    ADD COLUMN voided_at timestamptz,
    ADD COLUMN void_reason text NOT NULL DEFAULT '',
    DROP CONSTRAINT packs_expire_after_grant,
    ADD CONSTRAINT packs_expire_after_grant CHECK (expires_at > granted_at OR voided_at IS NOT NULL),
    ADD CONSTRAINT packs_voided_with_reason CHECK ((voided_at IS NULL) = (void_reason = ''));
COMMENT ON COLUMN packs.voided_at IS 'when what was left of it became void, because the money went back; it expired then';

-- +goose Down
ALTER TABLE packs
    DROP CONSTRAINT packs_expire_after_grant,
    DROP CONSTRAINT packs_voided_with_reason,
    DROP COLUMN voided_at,
    DROP COLUMN void_reason;
UPDATE packs SET expires_at = granted_at + interval '1 millisecond' WHERE expires_at <= granted_at;
ALTER TABLE packs ADD CONSTRAINT packs_expire_after_grant CHECK (expires_at > granted_at);
ALTER TABLE accounts DROP COLUMN next_plan, DROP COLUMN next_plan_from;
DROP TABLE ended_periods;
DROP TABLE stripe_events;
DROP TABLE invoices;
DROP TABLE checkouts;
DROP TABLE subscriptions;
DROP TABLE billing_customers;
