-- +goose Up
-- How chains stood, for the page of status: the newest measurement of each, what passed in five minutes, and the same by the day (UTC). Time that stands in
-- no column nobody measured. The days are sums of the slots that are there, written with them; slots go after a while, days stay.
-- Behind a lock that waits every writer queues, so this gives up soon, and the migration is run again.
SET LOCAL lock_timeout = '3s';
CREATE TABLE chain_measurements (
    chain          text COLLATE "C" NOT NULL,
    measured_at    timestamptz NOT NULL,
    state          text COLLATE "C" NOT NULL,
    reason         text COLLATE "C" NOT NULL,
    previous_at    timestamptz,
    previous_state text COLLATE "C",
    CONSTRAINT chain_measurements_pkey PRIMARY KEY (chain),
    CONSTRAINT chain_measurements_chain_named CHECK (chain <> ''),
    CONSTRAINT chain_measurements_state_known CHECK (state IN ('up', 'degraded', 'down')),
    CONSTRAINT chain_measurements_previous_known CHECK (previous_state IN ('up', 'degraded', 'down')),
    CONSTRAINT chain_measurements_previous_older CHECK (previous_at < measured_at),
    CONSTRAINT chain_measurements_previous_whole CHECK (num_nulls(previous_at, previous_state) IN (0, 2))
) WITH (fillfactor = 70);
COMMENT ON COLUMN chain_measurements.previous_at IS 'the measurement before, whose state held until this one';

CREATE TABLE chain_slots (
    chain       text COLLATE "C" NOT NULL,
    slot        timestamptz NOT NULL,
    up_ms       integer NOT NULL DEFAULT 0,
    degraded_ms integer NOT NULL DEFAULT 0,
    down_ms     integer NOT NULL DEFAULT 0,
    calls       bigint NOT NULL DEFAULT 0,
    rerouted    bigint NOT NULL DEFAULT 0,
    lost        bigint NOT NULL DEFAULT 0,
    attempts    bigint NOT NULL DEFAULT 0,
    failed      bigint NOT NULL DEFAULT 0,
    buckets     smallint[] NOT NULL DEFAULT '{}',
    counts      bigint[] NOT NULL DEFAULT '{}',
    CONSTRAINT chain_slots_pkey PRIMARY KEY (chain, slot),
    CONSTRAINT chain_slots_five_minutes CHECK (slot = date_bin('5 minutes', slot, 'epoch'::timestamptz)),
    CONSTRAINT chain_slots_time_not_negative CHECK (up_ms >= 0 AND degraded_ms >= 0 AND down_ms >= 0),
    CONSTRAINT chain_slots_time_fits CHECK (up_ms + degraded_ms + down_ms <= 300000),
    CONSTRAINT chain_slots_not_negative CHECK (calls >= 0 AND rerouted >= 0 AND lost >= 0 AND attempts >= failed AND failed >= 0),
    CONSTRAINT chain_slots_pairs CHECK (cardinality(buckets) = cardinality(counts))
) WITH (fillfactor = 70);
COMMENT ON TABLE chain_slots IS 'five minutes of a chain, by the clock; statistics, not the books';
COMMENT ON COLUMN chain_slots.calls IS 'that upstreams were asked for; rerouted of them to another one after a failure, lost without an answer';
COMMENT ON COLUMN chain_slots.attempts IS 'that the calls took, of which upstreams failed some';
COMMENT ON COLUMN chain_slots.counts IS 'how long answers of reads took: as many as buckets, in their order';

CREATE TABLE chain_days (
    chain       text COLLATE "C" NOT NULL,
    day         date NOT NULL,
    up_ms       bigint NOT NULL,
    degraded_ms bigint NOT NULL,
    down_ms     bigint NOT NULL,
    calls       bigint NOT NULL,
    rerouted    bigint NOT NULL,
    lost        bigint NOT NULL,
    attempts    bigint NOT NULL,
    failed      bigint NOT NULL,
    CONSTRAINT chain_days_pkey PRIMARY KEY (chain, day),
    CONSTRAINT chain_days_time_fits CHECK (up_ms + degraded_ms + down_ms <= 86400000)
) WITH (fillfactor = 70);

CREATE INDEX incidents_told_of ON incidents (began_at DESC) WHERE confirmed_at IS NOT NULL;

-- 0029 fills it, where nothing is flushed: whoever seeds a lost counter reads this table, and waits while it is changed.
ALTER TABLE usage_periods ADD COLUMN stated boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN usage_periods.stated IS 'a statement was frozen while this row was there; one without may have one all the same';

-- +goose Down
SET LOCAL lock_timeout = '3s';
ALTER TABLE usage_periods DROP COLUMN stated;
DROP INDEX incidents_told_of;
DROP TABLE chain_days;
DROP TABLE chain_slots;
DROP TABLE chain_measurements;
