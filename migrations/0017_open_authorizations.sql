-- +goose Up
-- A payer and a network address may have so many payments of open outcome at a time, because each is work that goes on: the network is kept while
-- that lasts and no longer.
ALTER TABLE payment_authorizations
    ADD COLUMN network text NOT NULL DEFAULT '',
    ADD CONSTRAINT payment_authorizations_network_bounded CHECK (char_length(network) <= 64);
COMMENT ON COLUMN payment_authorizations.network IS 'prefix of the address that it came from; empty once nothing more can come of it';
CREATE INDEX payment_authorizations_open_payer ON payment_authorizations (payer) WHERE closed_at IS NULL;
CREATE INDEX payment_authorizations_open_network ON payment_authorizations (network) WHERE closed_at IS NULL;

-- +goose Down
DROP INDEX payment_authorizations_open_network;
DROP INDEX payment_authorizations_open_payer;
ALTER TABLE payment_authorizations DROP COLUMN network;
