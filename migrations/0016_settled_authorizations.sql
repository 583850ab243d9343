-- +goose Up
-- A settled authorization stays open until the finality of its transaction is watched, so that a process that dies in between leaves it to others.
ALTER TABLE payment_authorizations DROP CONSTRAINT payment_authorizations_settled_closed;

-- +goose Down
UPDATE payment_authorizations SET closed_at = now() WHERE state = 'settled' AND closed_at IS NULL;
ALTER TABLE payment_authorizations
    ADD CONSTRAINT payment_authorizations_settled_closed CHECK (state <> 'settled' OR closed_at IS NOT NULL);
