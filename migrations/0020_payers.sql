-- +goose Up
-- Disputes and refunds name a payment and no customer.
CREATE INDEX invoices_by_payment ON invoices (payment) WHERE payment <> '';

-- +goose Down
DROP INDEX invoices_by_payment;
