package billingdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// ErrSecondSubscription reports that the account already has a subscription that has not ended.
var ErrSecondSubscription = errors.New("store: the account has another subscription that lasts")

// Customer is an account's customer at Stripe. Country and Card are as Stripe reported them at
// ReadAt.
type Customer struct {
	Account account.ID
	ID      string // Stripe's id
	Country string // of the billing address, an ISO 3166-1 code; empty when unknown
	Card    *subscription.Card
	Network string    // country of the last purchase's network; empty when unknown
	Assumed bool      // Country was taken from Network; nobody declared it
	ReadAt  time.Time // zero when never read
	// Beside is how many more subscriptions have not ended at Stripe, in addition to the one that
	// counts.
	Beside int
	// CreatedAt is when the row was inserted.
	CreatedAt time.Time
}

// Place returns where the customer is for VAT.
func (c *Customer) Place() plan.TaxPlace {
	e := plan.TaxEvidence{Declared: c.Country, Network: c.Network}
	if c.Assumed && c.Country == c.Network { // one piece of evidence, not two
		e.Declared = ""
	}
	if c.Card != nil {
		e.Card = c.Card.Country
	}
	return e.Place()
}

// SetCustomerEvidence records from which country a customer buys, whether the billing country is
// assumed from it, and the resulting place for VAT. A country that is not empty replaces c.Country,
// in the row and in c.
func (s *Store) SetCustomerEvidence(ctx context.Context, c *Customer, country string) error {
	if country != "" {
		c.Country = country
	}
	err := s.pool.Queries().SetCustomerEvidence(ctx, db.SetCustomerEvidenceParams{
		Account: c.Account.UUID, Customer: c.ID, Country: country, NetworkCountry: c.Network, CountryAssumed: c.Assumed,
		TaxEvidence: c.Place().String(),
	})
	if err != nil {
		return fmt.Errorf("record where account %s buys from: %w", c.Account, err)
	}
	return nil
}

// PutCustomer records the customer of an account and returns the account's customer. The first one
// is kept.
func (s *Store) PutCustomer(ctx context.Context, id account.ID, customer, country string) (Customer, error) {
	row, err := s.pool.Queries().PutCustomer(ctx, db.PutCustomerParams{
		AccountID: id.UUID, Customer: customer, Country: country,
	})
	if err != nil {
		return Customer{}, fmt.Errorf("record the customer of account %s: %w", id, err)
	}
	return customerOf(row), nil
}

// ReplaceCustomer replaces a customer that was deleted at Stripe, and returns the account's
// customer. That is another one when the old one had been replaced already.
func (s *Store) ReplaceCustomer(ctx context.Context, id account.ID, old, customer, country string) (Customer, error) {
	_, err := s.pool.Queries().ReplaceCustomer(ctx, db.ReplaceCustomerParams{
		Account: id.UUID, Old: old, Customer: customer, Country: country,
	})
	if err != nil {
		return Customer{}, fmt.Errorf("replace the customer of account %s: %w", id, err)
	}
	return s.FindCustomer(ctx, id)
}

// UpdateCustomer records what Stripe reported about an account's customer at c.ReadAt. A newer
// report is kept.
func (s *Store) UpdateCustomer(ctx context.Context, c Customer) error {
	//nolint:gosec // bounded
	p := db.UpdateCustomerParams{
		Account: c.Account.UUID, Customer: c.ID, Country: c.Country, ReadAt: pg.NullableTime(c.ReadAt),
		Beside: int16(min(c.Beside, math.MaxInt16)),
	}
	if c.Card != nil {
		p.CardBrand, p.CardLast4 = c.Card.Brand, c.Card.Last4
		p.CardExpMonth, p.CardExpYear = int16(c.Card.ExpMonth), int16(c.Card.ExpYear) //nolint:gosec // months and years
		p.CardCountry = c.Card.Country
	}
	p.TaxEvidence = c.Place().String()
	if err := s.pool.Queries().UpdateCustomer(ctx, p); err != nil {
		return fmt.Errorf("record the customer of account %s: %w", c.Account, err)
	}
	return nil
}

// FindCustomer reads the customer of an account. It returns ErrNotFound when there is none.
func (s *Store) FindCustomer(ctx context.Context, id account.ID) (Customer, error) {
	row, err := s.pool.Queries().GetCustomer(ctx, id.UUID)
	if err != nil {
		return Customer{}, fmt.Errorf("find the customer of account %s: %w", id, pg.NotFound(err))
	}
	return customerOf(row), nil
}

// FindCustomerByID reads a customer by Stripe's id. It returns ErrNotFound when there is none.
func (s *Store) FindCustomerByID(ctx context.Context, customer string) (Customer, error) {
	row, err := s.pool.Queries().GetCustomerByID(ctx, customer)
	if err != nil {
		return Customer{}, fmt.Errorf("find a customer: %w", pg.NotFound(err))
	}
	return customerOf(row), nil
}

// ListCustomers reads up to limit customers after the given account id, ordered by account id.
func (s *Store) ListCustomers(ctx context.Context, after account.ID, limit int) ([]Customer, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListCustomersAfter(ctx, db.ListCustomersAfterParams{
		After: after.UUID, MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list customers: %w", err)
	}
	all := make([]Customer, len(rows))
	for i, row := range rows {
		all[i] = customerOf(row)
	}
	return all, nil
}

// ListUnreadCustomers reads up to limit customers last read from Stripe before lasting, when they
// have a subscription that has not ended, or else before others. Oldest first, after the given
// customer; nil starts with the oldest.
func (s *Store) ListUnreadCustomers(ctx context.Context, lasting, others time.Time, after *Customer,
	limit int,
) ([]Customer, error) {
	//nolint:gosec // bounded
	p := db.ListUnreadCustomersParams{Lasting: lasting, Others: others, MaxRows: int32(min(limit, pg.MaxPage))}
	if after != nil {
		p.AfterRead, p.After = after.known(), after.Account.UUID
	}
	rows, err := s.pool.Queries().ListUnreadCustomers(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list customers that were not read: %w", err)
	}
	all := make([]Customer, len(rows))
	for i, row := range rows {
		all[i] = customerOf(row)
	}
	return all, nil
}

// known returns when a customer was last read, or when its row was inserted.
func (c *Customer) known() time.Time {
	if c.ReadAt.IsZero() {
		return c.CreatedAt
	}
	return c.ReadAt
}

func customerOf(row db.BillingCustomer) Customer {
	c := Customer{
		Account: account.ID{UUID: row.AccountID}, ID: row.Customer, Country: row.Country,
		ReadAt: pg.UTCOrZero(row.ReadAt),
		Beside: int(row.Beside), CreatedAt: row.CreatedAt.UTC(),
	}
	c.Network, c.Assumed = row.NetworkCountry, row.CountryAssumed
	if row.CardLast4 != "" {
		c.Card = &subscription.Card{
			Brand: row.CardBrand, Last4: row.CardLast4, ExpMonth: int(row.CardExpMonth),
			ExpYear: int(row.CardExpYear), Country: row.CardCountry,
		}
	}
	return c
}

// PutSubscription upserts a subscription of an account as Stripe reported it. It returns
// ErrSecondSubscription when the account has another one that has not ended, and ErrNotFound when
// the subscription belongs to another account.
func (s *Store) PutSubscription(ctx context.Context, id account.ID, sub *subscription.Subscription) error {
	n, err := s.pool.Queries().PutSubscription(ctx, db.PutSubscriptionParams{
		ID: sub.ID, AccountID: id.UUID, Price: sub.Price, Status: string(sub.Status), Founding: sub.Founding,
		PriceCents: int64(sub.PriceCents), StartedAt: sub.StartedAt, PeriodStart: sub.PeriodStart,
		PeriodEnd: sub.PeriodEnd, CancelAtPeriodEnd: sub.CancelAtPeriodEnd, Held: sub.Held,
		HeldUntil: pg.NullableTime(sub.HeldUntil), EndedAt: pg.NullableTime(sub.EndedAt), OddPrice: sub.OddPrice,
	})
	if broken, ok := errors.AsType[*pgconn.PgError](err); ok && broken.ConstraintName == "subscriptions_one_live" {
		err = ErrSecondSubscription
	} else if err == nil && n == 0 {
		err = pg.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("record subscription %s of account %s: %w", sub.ID, id, err)
	}
	return nil
}

// LastSubscription reads the subscription of an account that has not ended, or else the one that
// ended last. It returns ErrNotFound when there never was one.
func (s *Store) LastSubscription(ctx context.Context, id account.ID) (subscription.Subscription, error) {
	row, err := s.pool.Queries().GetLastSubscription(ctx, id.UUID)
	if err != nil {
		return subscription.Subscription{}, fmt.Errorf("find the subscription of account %s: %w", id, pg.NotFound(err))
	}
	return subscription.Subscription{
		ID: row.ID, Status: subscription.Status(row.Status), Price: row.Price, Founding: row.Founding,
		PriceCents: plan.Cents(row.PriceCents), StartedAt: row.StartedAt.UTC(), PeriodStart: row.PeriodStart.UTC(),
		PeriodEnd: row.PeriodEnd.UTC(), CancelAtPeriodEnd: row.CancelAtPeriodEnd, Held: row.Held,
		HeldUntil: pg.UTCOrZero(row.HeldUntil), EndedAt: pg.UTCOrZero(row.EndedAt), OddPrice: row.OddPrice,
	}, nil
}

// RecordedSubscriptions returns which of the given subscriptions are stored for an account, ended
// or not.
func (s *Store) RecordedSubscriptions(ctx context.Context, id account.ID, ids []string) ([]string, error) {
	had, err := s.pool.Queries().ListRecordedSubscriptions(ctx, db.ListRecordedSubscriptionsParams{
		Account: id.UUID, Ids: ids,
	})
	if err != nil {
		return nil, fmt.Errorf("find recorded subscriptions of account %s: %w", id, err)
	}
	return had, nil
}

// PutInvoices upserts invoices of an account as Stripe reported them, in one transaction. An
// invoice that belongs to another account is left unchanged.
func (s *Store) PutInvoices(ctx context.Context, id account.ID, invoices []subscription.Invoice) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		for i := range invoices {
			v := &invoices[i]
			_, err := q.PutInvoice(ctx, db.PutInvoiceParams{
				ID: v.ID, AccountID: id.UUID, Number: v.Number, Subscription: v.Subscription, Payment: v.Payment,
				Status: string(v.Status), Reason: v.Reason, Currency: v.Currency, Net: int64(v.Net), Vat: int64(v.VAT),
				Total: int64(v.Total), Paid: int64(v.Paid), CreatedAt: v.CreatedAt, PaidAt: pg.NullableTime(v.PaidAt),
				PeriodStart: v.PeriodStart, PeriodEnd: v.PeriodEnd,
				//nolint:gosec // bounded
				Attempts: int32(min(v.Attempts, pg.MaxPage)), NextAttempt: pg.NullableTime(v.NextAttempt),
			})
			if err != nil {
				return fmt.Errorf("invoice %s: %w", v.ID, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record invoices of account %s: %w", id, err)
	}
	return nil
}

// ListInvoices reads up to limit invoices of an account created in [since, before), newest first.
func (s *Store) ListInvoices(ctx context.Context, id account.ID, since, before time.Time,
	limit int,
) ([]subscription.Invoice, error) {
	rows, err := s.pool.Queries().ListInvoices(ctx, db.ListInvoicesParams{
		Account: id.UUID, Since: since, Before: before, MaxRows: int32(min(limit, pg.MaxPage)),
		//nolint:gosec // bounded
	})
	if err != nil {
		return nil, fmt.Errorf("list invoices of account %s: %w", id, err)
	}
	all := make([]subscription.Invoice, len(rows))
	for i := range rows {
		all[i] = invoiceOf(&rows[i])
	}
	return all, nil
}

// FindInvoice reads an invoice of an account. It returns ErrNotFound when there is none.
func (s *Store) FindInvoice(ctx context.Context, id account.ID, invoice string) (subscription.Invoice, error) {
	row, err := s.pool.Queries().GetInvoice(ctx, db.GetInvoiceParams{ID: invoice, Account: id.UUID})
	if err != nil {
		return subscription.Invoice{}, fmt.Errorf("find an invoice of account %s: %w", id, pg.NotFound(err))
	}
	return invoiceOf(&row), nil
}

// FindPayer finds the account of a Stripe payment intent, by the pack or the invoice that it paid.
// It returns ErrNotFound when it paid neither.
func (s *Store) FindPayer(ctx context.Context, payment string) (account.ID, error) {
	id, err := s.pool.Queries().GetPayer(ctx, payment)
	if err != nil {
		return account.ID{}, fmt.Errorf("find who paid: %w", pg.NotFound(err))
	}
	return account.ID{UUID: id}, nil
}

func invoiceOf(row *db.Invoice) subscription.Invoice {
	return subscription.Invoice{
		ID: row.ID, Number: row.Number, Subscription: row.Subscription, Payment: row.Payment,
		Status: subscription.InvoiceStatus(row.Status), Reason: row.Reason, Currency: row.Currency,
		Net: plan.Cents(row.Net), VAT: plan.Cents(row.Vat), Total: plan.Cents(row.Total), Paid: plan.Cents(row.Paid),
		CreatedAt: row.CreatedAt.UTC(), PaidAt: pg.UTCOrZero(row.PaidAt), PeriodStart: row.PeriodStart.UTC(),
		PeriodEnd: row.PeriodEnd.UTC(), Attempts: int(row.Attempts), NextAttempt: pg.UTCOrZero(row.NextAttempt),
	}
}
