-- +goose Up
-- Sums of usage_hours, each written by the flush in the transaction that writes the hours: by UTC day with the same words, and by hour and by day of a
-- whole account without its keys and agents. What is shown of usage reads these, because an account of many keys has a million hours in a month; what is
-- proven reads the hours, and the audit holds these against them. The period is in every key, so a day on which a period ends has rows of both.
-- Nothing is written into usage_hours while they are filled: docs/operations/upgrade.md says for how long, and why old workers are stopped before.
-- The tables are locked in the order in which a flush takes them, the ledger first: the other way round each would wait for the other.
SET LOCAL lock_timeout = '3s';
LOCK TABLE usage_flushes IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE usage_hours IN SHARE ROW EXCLUSIVE MODE;

CREATE TABLE usage_days (
    account_id uuid NOT NULL,
    period     date NOT NULL,
    key_id     uuid NOT NULL,
    day        timestamptz NOT NULL,
    agent      text COLLATE "C" NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    service    text COLLATE "C" NOT NULL,
    method     text COLLATE "C" NOT NULL,
    class      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    source     text COLLATE "C" NOT NULL,
    tier       text COLLATE "C" NOT NULL,
    requests   bigint NOT NULL,
    units      bigint NOT NULL,
    CONSTRAINT usage_days_pkey PRIMARY KEY
        (account_id, period, key_id, day, agent, chain, service, method, class, outcome, source, tier),
    CONSTRAINT usage_days_whole_day CHECK (day = date_trunc('day', day, 'UTC'))
) WITH (fillfactor = 80);
COMMENT ON COLUMN usage_days.units IS 'thousandths of units';

INSERT INTO usage_days
SELECT
    account_id, period, key_id, date_trunc('day', hour, 'UTC') AS day, agent, chain, service, method, class, outcome, source, tier,
    sum(requests), sum(units)
FROM usage_hours
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
ORDER BY account_id, period, day, key_id;

CREATE TABLE account_hours (
    account_id uuid NOT NULL,
    period     date NOT NULL,
    hour       timestamptz NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    service    text COLLATE "C" NOT NULL,
    method     text COLLATE "C" NOT NULL,
    class      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    source     text COLLATE "C" NOT NULL,
    tier       text COLLATE "C" NOT NULL,
    requests   bigint NOT NULL,
    units      bigint NOT NULL,
    CONSTRAINT account_hours_pkey PRIMARY KEY
        (account_id, period, hour, chain, service, method, class, outcome, source, tier),
    CONSTRAINT account_hours_whole_hour CHECK (hour = date_trunc('hour', hour, 'UTC'))
) WITH (fillfactor = 80);
COMMENT ON COLUMN account_hours.units IS 'thousandths of units';

INSERT INTO account_hours
SELECT account_id, period, hour, chain, service, method, class, outcome, source, tier, sum(requests), sum(units)
FROM usage_hours
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
ORDER BY account_id, period, hour;

CREATE TABLE account_days (
    account_id uuid NOT NULL,
    period     date NOT NULL,
    day        timestamptz NOT NULL,
    chain      text COLLATE "C" NOT NULL,
    service    text COLLATE "C" NOT NULL,
    method     text COLLATE "C" NOT NULL,
    class      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    source     text COLLATE "C" NOT NULL,
    tier       text COLLATE "C" NOT NULL,
    requests   bigint NOT NULL,
    units      bigint NOT NULL,
    CONSTRAINT account_days_pkey PRIMARY KEY
        (account_id, period, day, chain, service, method, class, outcome, source, tier),
    CONSTRAINT account_days_whole_day CHECK (day = date_trunc('day', day, 'UTC'))
) WITH (fillfactor = 80);
COMMENT ON COLUMN account_days.units IS 'thousandths of units';

INSERT INTO account_days
SELECT
    account_id, period, date_trunc('day', hour, 'UTC') AS day, chain, service, method, class, outcome, source, tier, sum(requests), sum(units)
FROM account_hours
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
ORDER BY account_id, period, day;
-- What an account ever drew from its packs is asked whenever it is loaded. It was asked of the hours before.
CREATE INDEX account_days_from_packs ON account_days (account_id, source) WHERE source LIKE 'pack:%';
DROP INDEX usage_hours_from_packs;

-- The four as one, for queries that take the coarsest that their window allows: by_key with keys told apart, else of whole accounts; step 'hour' or 'day'.
-- A query says both, or it counts a call more than once.
CREATE VIEW usage_parts AS
SELECT
    true AS by_key, 'hour'::text AS step, account_id, period, hour AS start, key_id, chain, service, method, class, outcome, source, tier, requests, units
FROM usage_hours
UNION ALL
SELECT true, 'day'::text, account_id, period, day, key_id, chain, service, method, class, outcome, source, tier, requests, units
FROM usage_days
UNION ALL
SELECT
    false, 'hour'::text, account_id, period, hour, '00000000-0000-0000-0000-000000000000'::uuid, chain, service, method, class, outcome, source, tier,
    requests, units
FROM account_hours
UNION ALL
SELECT
    false, 'day'::text, account_id, period, day, '00000000-0000-0000-0000-000000000000'::uuid, chain, service, method, class, outcome, source, tier,
    requests, units
FROM account_days;

-- A worker from before would write hours without days. It does not know this column, so what it flushes is refused and waits in the meter for a new one.
ALTER TABLE usage_flushes ADD COLUMN summed boolean NOT NULL DEFAULT true;
ALTER TABLE usage_flushes ALTER COLUMN summed DROP DEFAULT;
COMMENT ON COLUMN usage_flushes.summed IS 'always true: the bucket is in the sums of the hours too';

-- Periods without a statement are looked for every minute by every worker, among all that there ever were: those that have one leave the index.
UPDATE usage_periods AS p
SET stated = true
FROM statements AS s
WHERE s.account_id = p.account_id AND s.period = p.period;
CREATE INDEX usage_periods_unstated ON usage_periods (period) WHERE NOT stated;
CREATE INDEX ended_periods_by_period ON ended_periods (period);

-- +goose Down
SET LOCAL lock_timeout = '3s';
DROP INDEX ended_periods_by_period;
DROP INDEX usage_periods_unstated;
CREATE INDEX usage_hours_from_packs ON usage_hours (account_id, source) WHERE source LIKE 'pack:%';
ALTER TABLE usage_flushes DROP COLUMN summed;
DROP VIEW usage_parts;
DROP TABLE account_days;
DROP TABLE account_hours;
DROP TABLE usage_days;
