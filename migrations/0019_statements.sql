-- +goose Up
-- What accounts were told of their billing periods. A row is written once, when its period is closed, and never changes.
CREATE TABLE statements (
    account_id   uuid NOT NULL,
    period       date NOT NULL,
    starts_at    timestamptz NOT NULL,
    ends_at      timestamptz NOT NULL,
    requests     bigint NOT NULL,
    billable     bigint NOT NULL,
    hits         bigint NOT NULL,
    refused      bigint NOT NULL,
    refunded     bigint NOT NULL,
    units        bigint NOT NULL,
    plan_units   bigint NOT NULL,
    pack_units   bigint NOT NULL,
    content      bytea NOT NULL,
    content_hash bytea NOT NULL,
    frozen_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT statements_pkey PRIMARY KEY (account_id, period),
    CONSTRAINT statements_account_exists FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT statements_end_after_start CHECK (ends_at > starts_at),
    CONSTRAINT statements_requests_balance CHECK (requests = billable + hits + refused),
    CONSTRAINT statements_hash_of_content CHECK (content_hash = sha256(content))
);
COMMENT ON COLUMN statements.units IS 'thousandths of units, as are plan_units and pack_units';
COMMENT ON COLUMN statements.content IS 'the JSON that is served and hashed, byte for byte';
COMMENT ON COLUMN statements.frozen_at IS 'usage that is recorded after it is adjusted on another statement';

-- Usage of a closed period that was recorded later, told on the statement which was closed next.
CREATE TABLE statement_adjustments (
    account_id uuid NOT NULL,
    period     date NOT NULL,
    stated_in  date NOT NULL,
    requests   bigint NOT NULL,
    billable   bigint NOT NULL,
    hits       bigint NOT NULL,
    refused    bigint NOT NULL,
    refunded   bigint NOT NULL,
    units      bigint NOT NULL,
    plan_units bigint NOT NULL,
    pack_units bigint NOT NULL,
    content    bytea NOT NULL,
    CONSTRAINT statement_adjustments_pkey PRIMARY KEY (account_id, period, stated_in),
    CONSTRAINT statement_adjustments_of_a_statement FOREIGN KEY (account_id, period) REFERENCES statements (account_id, period),
    CONSTRAINT statement_adjustments_on_a_statement FOREIGN KEY (account_id, stated_in) REFERENCES statements (account_id, period),
    CONSTRAINT statement_adjustments_elsewhere CHECK (stated_in <> period),
    CONSTRAINT statement_adjustments_requests_balance CHECK (requests = billable + hits + refused)
);
COMMENT ON COLUMN statement_adjustments.content IS 'the adjustment as JSON, as it stands in the statement';

-- Which statement tells of an invoice: each is told once.
CREATE TABLE statement_invoices (
    invoice    text COLLATE "C" PRIMARY KEY,
    account_id uuid NOT NULL,
    period     date NOT NULL,
    CONSTRAINT statement_invoices_on_a_statement FOREIGN KEY (account_id, period) REFERENCES statements (account_id, period)
);

-- +goose Down
DROP TABLE statement_invoices;
DROP TABLE statement_adjustments;
DROP TABLE statements;
