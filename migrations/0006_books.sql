-- +goose Up
-- The second book of usage: totals of an account's period, added up from the meter's buckets apart from usage_hours and in the same
-- transaction. The audit compares the two. Figures may be negative for a moment, when a refund lands before its charge (a step of the meter's
-- clock, a charge that PostgreSQL refuses), so nothing forbids that: usage must never fail to land.
CREATE TABLE usage_periods (
    account_id uuid NOT NULL,
    period     date NOT NULL,
    requests   bigint NOT NULL,
    billable   bigint NOT NULL,
    hits       bigint NOT NULL,
    refused    bigint NOT NULL,
    refunded   bigint NOT NULL,
    units      bigint NOT NULL,
    plan_units bigint NOT NULL,
    pack_units bigint NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT usage_periods_pkey PRIMARY KEY (account_id, period),
    CONSTRAINT usage_periods_requests_balance CHECK (requests = billable + hits + refused)
) WITH (fillfactor = 50);
COMMENT ON COLUMN usage_periods.requests IS 'calls that came; each counts once, a refunded one as refused';
COMMENT ON COLUMN usage_periods.units IS 'thousandths of units; plan_units and pack_units together, or the audit tells';

INSERT INTO usage_periods (account_id, period, requests, billable, hits, refused, refunded, units, plan_units, pack_units)
SELECT
    account_id, period, sum(requests),
    coalesce(sum(requests) FILTER (WHERE outcome IN ('ok', 'refund')), 0), coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0),
    coalesce(sum(requests) FILTER (WHERE outcome NOT IN ('ok', 'refund', 'hit')), 0),
    coalesce(-sum(requests) FILTER (WHERE outcome = 'refund'), 0),
    sum(units), coalesce(sum(units) FILTER (WHERE source = 'plan'), 0), coalesce(sum(units) FILTER (WHERE source LIKE 'pack:%'), 0)
FROM usage_hours
GROUP BY account_id, period;

-- What an account's owner is told of a period's allowance, once: the row is the fact, and the outbox of what carries it further.
CREATE TABLE usage_notices (
    account_id   uuid NOT NULL,
    period       date NOT NULL,
    percent      smallint NOT NULL,
    units        bigint NOT NULL,
    allowance    bigint NOT NULL,
    noticed_at   timestamptz NOT NULL DEFAULT now(),
    started_at   timestamptz,
    delivered_at timestamptz,
    result       text,
    CONSTRAINT usage_notices_pkey PRIMARY KEY (account_id, period, percent),
    CONSTRAINT usage_notices_percent_known CHECK (percent IN (80, 100)),
    CONSTRAINT usage_notices_allowance_positive CHECK (allowance > 0),
    CONSTRAINT usage_notices_result_named CHECK (result <> ''),
    CONSTRAINT usage_notices_end_whole CHECK (delivered_at IS NULL OR result IS NOT NULL)
);
COMMENT ON COLUMN usage_notices.units IS 'thousandths of units drawn from the plan when it was noticed';
COMMENT ON COLUMN usage_notices.allowance IS 'thousandths of units; what the period included then';
COMMENT ON COLUMN usage_notices.delivered_at IS 'null when nobody was reached; the result says why';
CREATE INDEX usage_notices_open ON usage_notices (noticed_at) WHERE result IS NULL;

-- The ledger of flushed buckets grows fastest of all and is forgotten by the day, so it is kept in partitions, like calls.
ALTER TABLE usage_flushes RENAME TO usage_flushes_whole;
ALTER TABLE usage_flushes_whole RENAME CONSTRAINT usage_flushes_pkey TO usage_flushes_whole_pkey;
ALTER INDEX usage_flushes_by_account RENAME TO usage_flushes_whole_by_account;
CREATE TABLE usage_flushes (
    shard      integer NOT NULL,
    slot       timestamptz NOT NULL,
    account_id uuid NOT NULL,
    generation text COLLATE "C" NOT NULL,
    flushed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT usage_flushes_pkey PRIMARY KEY (slot, account_id, generation),
    CONSTRAINT usage_flushes_shard_not_negative CHECK (shard >= 0),
    CONSTRAINT usage_flushes_generation_named CHECK (generation <> '')
) PARTITION BY RANGE (slot);
CREATE INDEX usage_flushes_by_account ON usage_flushes (account_id, flushed_at);
CREATE TABLE usage_flushes_default PARTITION OF usage_flushes DEFAULT;
INSERT INTO usage_flushes (shard, slot, account_id, generation, flushed_at)
SELECT shard, slot, account_id, generation, flushed_at FROM usage_flushes_whole;
DROP TABLE usage_flushes_whole;

-- +goose Down
CREATE TABLE usage_flushes_whole (
    shard      integer NOT NULL,
    slot       timestamptz NOT NULL,
    account_id uuid NOT NULL,
    generation text COLLATE "C" NOT NULL,
    flushed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT usage_flushes_whole_pkey PRIMARY KEY (slot, account_id, generation),
    CONSTRAINT usage_flushes_shard_not_negative CHECK (shard >= 0),
    CONSTRAINT usage_flushes_generation_named CHECK (generation <> '')
);
INSERT INTO usage_flushes_whole (shard, slot, account_id, generation, flushed_at)
SELECT shard, slot, account_id, generation, flushed_at FROM usage_flushes;
DROP TABLE usage_flushes;
ALTER TABLE usage_flushes_whole RENAME TO usage_flushes;
ALTER TABLE usage_flushes RENAME CONSTRAINT usage_flushes_whole_pkey TO usage_flushes_pkey;
CREATE INDEX usage_flushes_by_account ON usage_flushes (account_id, flushed_at);
DROP TABLE usage_notices;
DROP TABLE usage_periods;
