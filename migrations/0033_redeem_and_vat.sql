-- +goose Up
-- Redeems that come at once share the credential that one of them was given, while nobody has used it.
ALTER TABLE settlements ADD COLUMN credential_left bigint;
COMMENT ON COLUMN settlements.credential_left IS 'thousandths of units that were left when the newest credential was given; null when that is not known';

-- The evidence by which VAT goes, and the place of supply that followed from it (docs/decisions/0008-vat-evidence.md).
ALTER TABLE billing_customers
    ADD COLUMN card_country text NOT NULL DEFAULT '',
    ADD COLUMN network_country text NOT NULL DEFAULT '',
    ADD COLUMN country_assumed boolean NOT NULL DEFAULT false,
    ADD COLUMN tax_evidence text NOT NULL DEFAULT '',
    ADD CONSTRAINT billing_customers_evidence_codes CHECK (char_length(card_country) IN (0, 2) AND char_length(network_country) IN (0, 2));
-- Programs of before wrote the network's country there when nobody declared one, and did not say so: none of them counts as declared until it is again.
UPDATE billing_customers SET country_assumed = true WHERE country <> '';
ALTER TABLE checkouts ADD COLUMN tax_evidence text NOT NULL DEFAULT '';
ALTER TABLE invoices ADD COLUMN tax_evidence text NOT NULL DEFAULT '';
COMMENT ON COLUMN billing_customers.country IS 'ISO 3166-1 code of the billing address; empty when none is known';
COMMENT ON COLUMN billing_customers.card_country IS 'ISO 3166-1 code of the card; empty when none is known, as network_country';
COMMENT ON COLUMN billing_customers.network_country IS 'where the customer was at the last purchase in a browser';
COMMENT ON COLUMN billing_customers.country_assumed IS 'whether country is that of the network, and nobody declared it';
COMMENT ON COLUMN billing_customers.tax_evidence IS 'the place of supply in words, with its evidence, when Stripe was last read or something last bought';
COMMENT ON COLUMN checkouts.tax_evidence IS 'the place of supply in words, with its evidence, when it was opened';
COMMENT ON COLUMN invoices.tax_evidence IS 'the customer''s when the invoice was recorded first; empty for older ones';

-- +goose Down
ALTER TABLE invoices DROP COLUMN tax_evidence;
ALTER TABLE checkouts DROP COLUMN tax_evidence;
ALTER TABLE billing_customers
    DROP COLUMN card_country,
    DROP COLUMN network_country,
    DROP COLUMN country_assumed,
    DROP COLUMN tax_evidence;
ALTER TABLE settlements DROP COLUMN credential_left;
