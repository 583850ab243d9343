package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/store/db"
)

// AddCosts adds a batch of the ledger to the sums, all of it or nothing. It is not idempotent: a
// batch whose reply was lost and that is added again counts twice.
func (s *Store) AddCosts(ctx context.Context, b price.Batch) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.AddUpstreamCosts(ctx, upstreamCosts(b.Spent)); err != nil {
			return err //nolint:wrapcheck // below
		}
		return q.AddAccountCosts(ctx, accountCosts(b.Accounts)) //nolint:wrapcheck // below
	})
	if err != nil {
		return fmt.Errorf("add the costs of %d methods and %d accounts: %w", len(b.Spent), len(b.Accounts), err)
	}
	return nil
}

func upstreamCosts(spent []price.Spent) (p db.AddUpstreamCostsParams) {
	for _, s := range spent {
		p.Days, p.Chains = append(p.Days, s.Day), append(p.Chains, s.Chain)
		p.Upstreams, p.Methods = append(p.Upstreams, s.Upstream), append(p.Methods, s.Method)
		p.Requests, p.Units = append(p.Requests, s.Requests), append(p.Units, s.Units)
		p.Nanos = append(p.Nanos, int64(s.Nanos))
	}
	return p
}

func accountCosts(spent []price.AccountSpent) (p db.AddAccountCostsParams) {
	for _, s := range spent {
		p.Days, p.Accounts = append(p.Days, s.Day), append(p.Accounts, s.Account)
		p.Chains, p.Calls = append(p.Chains, s.Chain), append(p.Calls, s.Calls)
		p.Nanos = append(p.Nanos, int64(s.Nanos))
	}
	return p
}

// SumUnits returns what requests to an upstream cost since a UTC day, in the provider's units.
func (s *Store) SumUnits(ctx context.Context, chain, upstream string, since time.Time) (units int64, err error) {
	units, err = s.pool.Queries().SumUpstreamUnits(ctx, db.SumUpstreamUnitsParams{
		Since: since, Chain: chain, Upstream: upstream,
	})
	if err != nil {
		return 0, fmt.Errorf("sum the units of %s of %s: %w", upstream, chain, err)
	}
	return units, nil
}

// Costs is what requests of a span of UTC days cost the operator, and what clients paid in it, net
// of VAT.
type Costs struct {
	Methods  []price.Spent // by chain, upstream and method, the most expensive first; without days
	Accounts []Margin      // the lowest margin first
	Calls    int64         // of accounts, that were asked of an upstream with a price
	OfCalls  price.Nanos   // what those cost; the rest was spent on probes and the service's own reads
	Invoiced price.Nanos   // plans and packs
	Settled  price.Nanos   // payments per call
}

// Margin is what one account paid and what its calls cost.
type Margin struct {
	Account       account.ID
	Name, Plan    string
	Calls         int64
	Cost, Revenue price.Nanos
}

// GetCosts returns the costs of the days from since to before until, with at most maxAccounts
// accounts.
func (s *Store) GetCosts(ctx context.Context, since, until time.Time, maxAccounts int) (c Costs, err error) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = s.pool.Tx(ctx, snapshot, func(_ pgx.Tx, q *db.Queries) (err error) {
		c, err = getCosts(ctx, q, since, until, maxAccounts)
		return err
	})
	if err != nil {
		return Costs{}, fmt.Errorf("get costs: %w", err)
	}
	return c, nil
}

//nolint:wrapcheck // GetCosts does
func getCosts(ctx context.Context, q *db.Queries, since, until time.Time, maxAccounts int) (c Costs, err error) {
	methods, err := q.ListUpstreamCosts(ctx, db.ListUpstreamCostsParams{Since: since, Until: until})
	if err != nil {
		return c, err
	}
	for _, m := range methods {
		c.Methods = append(c.Methods, price.Spent{
			Chain: m.Chain, Upstream: m.Upstream, Method: m.Method, Requests: m.Requests,
			Cost: price.Cost{Units: m.Units, Nanos: price.Nanos(m.Nanos)},
		})
	}
	accounts, err := q.ListAccountMargins(ctx, db.ListAccountMarginsParams{
		Since: since, Until: until, MaxRows: int32(maxAccounts), //nolint:gosec // a few hundred
	})
	if err != nil {
		return c, err
	}
	for _, a := range accounts {
		c.Accounts = append(c.Accounts, Margin{
			Account: account.ID{UUID: a.AccountID}, Name: a.Name, Plan: a.Plan, Calls: a.Calls,
			Cost: price.Nanos(a.Cost), Revenue: price.Nanos(a.Revenue),
		})
	}
	calls, err := q.SumCallCosts(ctx, db.SumCallCostsParams{Since: since, Until: until})
	if err != nil {
		return c, err
	}
	c.Calls, c.OfCalls = calls.Calls, price.Nanos(calls.Nanos)
	paid, err := q.SumRevenue(ctx, db.SumRevenueParams{Since: since, Until: until})
	if err != nil {
		return c, err
	}
	c.Invoiced, c.Settled = price.Nanos(paid.Invoiced), price.Nanos(paid.Settled)
	return c, nil
}
