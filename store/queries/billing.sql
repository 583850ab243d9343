-- name: PutCustomer :one
-- The first customer of an account stays.
INSERT INTO billing_customers (account_id, customer, country)
VALUES ($1, $2, $3)
ON CONFLICT (account_id) DO UPDATE SET account_id = excluded.account_id
RETURNING *;

-- name: ReplaceCustomer :execrows
-- Nothing that Stripe said of the old one is true of the new one, save the country, which is set anew. The same one stays assumed if it was.
UPDATE billing_customers
SET customer = sqlc.arg(customer), country = sqlc.arg(country), card_brand = '', card_last4 = '', card_exp_month = 0, card_exp_year = 0,
    card_country = '', country_assumed = country_assumed AND country = sqlc.arg(country), created_at = now(), read_at = NULL, beside = 0
WHERE account_id = sqlc.arg(account) AND customer = sqlc.arg(old);

-- name: SetCustomerEvidence :exec
-- Whether a country is assumed is written with it. An empty one leaves what Stripe said meanwhile.
UPDATE billing_customers
SET country = coalesce(nullif(sqlc.arg(country)::text, ''), country), network_country = sqlc.arg(network_country), country_assumed = sqlc.arg(country_assumed), tax_evidence = sqlc.arg(tax_evidence)
WHERE account_id = sqlc.arg(account) AND customer = sqlc.arg(customer);

-- name: UpdateCustomer :exec
-- What was read later stays, and what was read of a customer that was replaced is nobody's.
UPDATE billing_customers
SET country = sqlc.arg(country), card_brand = sqlc.arg(card_brand), card_last4 = sqlc.arg(card_last4),
    card_exp_month = sqlc.arg(card_exp_month), card_exp_year = sqlc.arg(card_exp_year), read_at = sqlc.arg(read_at),
    beside = sqlc.arg(beside), card_country = sqlc.arg(card_country), tax_evidence = sqlc.arg(tax_evidence)
WHERE account_id = sqlc.arg(account) AND customer = sqlc.arg(customer) AND (read_at IS NULL OR read_at <= sqlc.arg(read_at));

-- name: GetCustomer :one
SELECT *
FROM billing_customers
WHERE account_id = $1;

-- name: GetCustomerByID :one
SELECT *
FROM billing_customers
WHERE customer = $1;

-- name: ListCustomersAfter :many
SELECT *
FROM billing_customers
WHERE account_id > sqlc.arg(after)
ORDER BY account_id
LIMIT sqlc.arg(max_rows);

-- name: ListUnreadCustomers :many
-- Those for whom Stripe was not read since an instant: one for accounts with a subscription that lasts, another for all others. Oldest first, after the
-- given one.
SELECT *
FROM billing_customers
WHERE (coalesce(read_at, created_at) < sqlc.arg(others)::timestamptz
    OR (coalesce(read_at, created_at) < sqlc.arg(lasting)::timestamptz
        AND EXISTS (SELECT 1 FROM subscriptions WHERE subscriptions.account_id = billing_customers.account_id AND ended_at IS NULL)))
  AND (coalesce(read_at, created_at), account_id) > (sqlc.arg(after_read)::timestamptz, sqlc.arg(after)::uuid)
ORDER BY coalesce(read_at, created_at), account_id
LIMIT sqlc.arg(max_rows);

-- name: PutSubscription :execrows
-- What Stripe said of a subscription. It stays with the account that had it first.
INSERT INTO subscriptions (
    id, account_id, price, status, founding, price_cents, started_at, period_start, period_end, cancel_at_period_end, held, held_until, ended_at,
    odd_price
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (id) DO UPDATE SET
    price = excluded.price, status = excluded.status, founding = excluded.founding, price_cents = excluded.price_cents,
    started_at = excluded.started_at, period_start = excluded.period_start, period_end = excluded.period_end,
    cancel_at_period_end = excluded.cancel_at_period_end, held = excluded.held, held_until = excluded.held_until, ended_at = excluded.ended_at,
    odd_price = excluded.odd_price, updated_at = now()
WHERE subscriptions.account_id = excluded.account_id;

-- name: GetLastSubscription :one
-- The one that lasts, else the one that ended last.
SELECT *
FROM subscriptions
WHERE account_id = $1
ORDER BY ended_at DESC NULLS FIRST
LIMIT 1;

-- name: ListRecordedSubscriptions :many
-- Those of the given ones that an account has a row of.
SELECT id
FROM subscriptions
WHERE account_id = sqlc.arg(account) AND id = ANY(sqlc.arg(ids)::text[])
ORDER BY id;

-- name: PutInvoice :execrows
INSERT INTO invoices (
    id, account_id, number, subscription, payment, status, reason, currency, net, vat, total, paid, created_at, paid_at,
    period_start, period_end, attempts, next_attempt, tax_evidence
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
    coalesce((SELECT billing_customers.tax_evidence FROM billing_customers WHERE billing_customers.account_id = $2), '')
)
ON CONFLICT (id) DO UPDATE SET
    number = excluded.number, payment = excluded.payment, status = excluded.status, net = excluded.net, vat = excluded.vat, total = excluded.total,
    paid = excluded.paid, paid_at = excluded.paid_at, attempts = excluded.attempts, next_attempt = excluded.next_attempt, updated_at = now()
WHERE invoices.account_id = excluded.account_id;

-- name: ListInvoices :many
SELECT *
FROM invoices
WHERE account_id = sqlc.arg(account) AND created_at >= sqlc.arg(since) AND created_at < sqlc.arg(before)
ORDER BY created_at DESC, id
LIMIT sqlc.arg(max_rows);

-- name: GetInvoice :one
SELECT *
FROM invoices
WHERE id = sqlc.arg(id) AND account_id = sqlc.arg(account);

-- name: ListEndedPeriods :many
SELECT *
FROM ended_periods
WHERE account_id = $1
ORDER BY period;

-- name: InsertEndedPeriod :exec
-- A period that is cut again (two cuts on one day share a name) keeps its first begin and gets the later end.
INSERT INTO ended_periods (account_id, period, starts_at, ends_at, plan, cut_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (account_id, period) DO UPDATE SET
    starts_at = least(ended_periods.starts_at, excluded.starts_at), ends_at = greatest(ended_periods.ends_at, excluded.ends_at),
    plan = excluded.plan, cut_at = greatest(ended_periods.cut_at, excluded.cut_at);

-- name: GetPayer :one
-- Whose payment it was: of a pack, or of an invoice.
SELECT p.account_id
FROM packs AS p
WHERE p.origin = 'payment/' || sqlc.arg(payment)::text
UNION ALL
SELECT i.account_id
FROM invoices AS i
WHERE i.payment = sqlc.arg(payment)::text AND i.payment <> ''
LIMIT 1;
