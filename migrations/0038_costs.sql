-- +goose Up
-- What requests cost the operator at providers, by the price tables of the upstreams file. Sums for the operator's calculation: no bill
-- depends on them, and a process that is killed loses its last ten seconds.
SET LOCAL lock_timeout = '3s';

-- Every request to an upstream that has a price: those of calls, and probes and reads of the service itself.
CREATE TABLE upstream_costs (
    day      date NOT NULL,
    chain    text COLLATE "C" NOT NULL,
    upstream text COLLATE "C" NOT NULL,
    method   text COLLATE "C" NOT NULL,
    requests bigint NOT NULL,
    units    bigint NOT NULL,
    nanos    bigint NOT NULL,
    CONSTRAINT upstream_costs_pkey PRIMARY KEY (day, chain, upstream, method),
    CONSTRAINT upstream_costs_not_negative CHECK (requests >= 0 AND units >= 0 AND nanos >= 0)
);
COMMENT ON COLUMN upstream_costs.units IS 'of the provider: compute units, credits';
COMMENT ON COLUMN upstream_costs.nanos IS 'billionths of a US dollar';

-- What the calls of an account cost. There is no reference to accounts, as in calls: a sum must never fail to land.
CREATE TABLE account_costs (
    day        date NOT NULL,
    account_id uuid NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    calls      bigint NOT NULL,
    nanos      bigint NOT NULL,
    CONSTRAINT account_costs_pkey PRIMARY KEY (day, account_id, chain),
    CONSTRAINT account_costs_not_negative CHECK (calls >= 0 AND nanos >= 0)
);
COMMENT ON COLUMN account_costs.nanos IS 'billionths of a US dollar';

-- Last, because it locks calls until the end: no row is rewritten.
ALTER TABLE calls ADD COLUMN cost_nanos bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN calls.cost_nanos IS 'what all attempts cost the operator, in billionths of a US dollar';

-- +goose Down
SET LOCAL lock_timeout = '3s';
DROP TABLE account_costs;
DROP TABLE upstream_costs;
ALTER TABLE calls DROP COLUMN cost_nanos;
