-- +goose Up
-- What users are told without having done anything: packs that are about to expire, and chains that are down. And what they want no mails about.
CREATE TABLE mail_opt_outs (
    user_id      uuid NOT NULL,
    topic        text COLLATE "C" NOT NULL,
    opted_out_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT mail_opt_outs_pkey PRIMARY KEY (user_id, topic),
    CONSTRAINT mail_opt_outs_user_exists FOREIGN KEY (user_id) REFERENCES users (id),
    CONSTRAINT mail_opt_outs_topic_known CHECK (topic IN ('usage', 'incidents', 'packs'))
);
COMMENT ON TABLE mail_opt_outs IS 'mails that a user does not want, in whatever account; of the other topics they get all that the account is told';

CREATE TABLE pack_notices (
    pack_id    uuid NOT NULL,
    days       smallint NOT NULL,
    noticed_at timestamptz NOT NULL DEFAULT now(),
    result     text COLLATE "C" NOT NULL,
    CONSTRAINT pack_notices_pkey PRIMARY KEY (pack_id, days),
    CONSTRAINT pack_notices_pack_exists FOREIGN KEY (pack_id) REFERENCES packs (id),
    CONSTRAINT pack_notices_days_known CHECK (days IN (7, 30)),
    CONSTRAINT pack_notices_result_known CHECK (result IN ('queued', 'used_up', 'no_recipient', 'declined'))
);
COMMENT ON TABLE pack_notices IS 'packs whose holders were told that they expire within so many days; written with the mails';
CREATE INDEX packs_by_expiry ON packs (expires_at, id);

CREATE TABLE incidents (
    id            uuid PRIMARY KEY,
    chain         text COLLATE "C" NOT NULL,
    began_at      timestamptz NOT NULL,
    seen_at       timestamptz NOT NULL,
    confirmed_at  timestamptz,
    well_since    timestamptz,
    ended_at      timestamptz,
    began_told_at timestamptz,
    over_told_at  timestamptz,
    told_account  uuid,
    told_user     uuid,
    CONSTRAINT incidents_chain_named CHECK (chain <> ''),
    CONSTRAINT incidents_seen_after_begin CHECK (seen_at >= began_at),
    CONSTRAINT incidents_end_after_begin CHECK (ended_at >= began_at),
    CONSTRAINT incidents_ends_confirmed CHECK (ended_at IS NULL OR confirmed_at IS NOT NULL),
    CONSTRAINT incidents_place_whole CHECK (num_nulls(told_account, told_user) IN (0, 2))
);
COMMENT ON COLUMN incidents.seen_at IS 'the newest measurement of the chain that was looked at';
COMMENT ON COLUMN incidents.confirmed_at IS 'null until the chain was down for some minutes; before that it is no news, and goes away without a trace';
COMMENT ON COLUMN incidents.well_since IS 'since when the chain is well again, before that is believed';
COMMENT ON COLUMN incidents.told_account IS 'with told_user: the last reader who was told, in the order of their ids; null when nobody or everybody was';
CREATE UNIQUE INDEX incidents_open ON incidents (chain) WHERE ended_at IS NULL;
CREATE INDEX incidents_untold ON incidents (began_at) WHERE confirmed_at IS NOT NULL AND over_told_at IS NULL;

-- +goose Down
DROP TABLE incidents;
DROP INDEX packs_by_expiry;
DROP TABLE pack_notices;
DROP TABLE mail_opt_outs;
