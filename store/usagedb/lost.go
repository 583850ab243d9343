package usagedb

import (
	"context"
	"fmt"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// MaxLostCalls is how many lost calls PostgreSQL keeps at most. An outage of Redis leaves far
// fewer: each pipeliner of a process loses at most one pipeline.
const MaxLostCalls = 100_000

// AddLostCalls inserts lost calls, to be refunded later, and returns those that found no room: all
// that are new, or none. It is idempotent by nonce, so it may be retried.
func (s *Store) AddLostCalls(ctx context.Context, calls []account.LostCall) (dropped []account.LostCall, err error) {
	p := db.AddLostCallsParams{MaxLost: MaxLostCalls}
	seen := make(map[string]*account.LostCall, len(calls))
	for i := range calls {
		c := &calls[i]
		if seen[c.Nonce] != nil {
			continue
		}
		seen[c.Nonce] = c
		p.Nonces, p.Accounts, p.Keys = append(p.Nonces, c.Nonce), append(p.Accounts, c.Account.UUID),
			append(p.Keys, c.Key.UUID)
		p.Units, p.Services = append(p.Units, int64(c.Units)), append(p.Services, c.Service)
		p.Lines, p.Marks, p.NotAfter = append(p.Lines, c.Line), append(p.Marks, c.Mark), append(p.NotAfter, c.NotAfter)
		p.Periods, p.Sources = append(p.Periods, c.Charge.Period), append(p.Sources, c.Charge.Sources)
		p.Slots, p.Reasons = append(p.Slots, c.Charge.Slot), append(p.Reasons, c.Charge.Reason)
	}
	full, err := s.pool.Queries().AddLostCalls(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("write %d lost calls: %w", len(calls), err)
	}
	for _, nonce := range full {
		dropped = append(dropped, *seen[nonce])
	}
	return dropped, nil
}

// ListLostCalls reads up to limit lost calls, oldest first, after the given one; the zero value
// starts with the first.
func (s *Store) ListLostCalls(ctx context.Context, after *account.LostCall, limit int) ([]account.LostCall, error) {
	rows, err := s.pool.Queries().ListLostCalls(ctx, db.ListLostCallsParams{
		After: after.LostAt, AfterNonce: after.Nonce, MaxRows: int32(min(limit, pg.MaxPage)), //nolint:gosec // bounded
	})
	if err != nil {
		return nil, fmt.Errorf("list lost calls: %w", err)
	}
	calls := make([]account.LostCall, len(rows))
	for i, r := range rows {
		calls[i] = account.LostCall{
			Nonce: r.Nonce, Account: account.ID{UUID: r.AccountID}, Key: account.KeyID{UUID: r.KeyID},
			Units: plan.Units(r.Units), Service: r.Service, Line: r.Line, Mark: r.Mark, NotAfter: r.NotAfter.UTC(),
			LostAt: r.LostAt, Charge: account.LostCharge{
				Period: r.Period, Sources: r.Sources, Slot: r.Slot, Reason: r.Reason,
			},
		}
	}
	return calls, nil
}

// CountLostCalls counts the calls for which it is not decided whether they were charged, or whose
// refund waits.
func (s *Store) CountLostCalls(ctx context.Context) (int64, error) {
	n, err := s.pool.Queries().CountLostCalls(ctx)
	if err != nil {
		return 0, fmt.Errorf("count lost calls: %w", err)
	}
	return n, nil
}

// DeleteLostCall deletes a lost call and reports whether it existed. Of several concurrent callers,
// only one gets true.
func (s *Store) DeleteLostCall(ctx context.Context, nonce string) (bool, error) {
	deleted, err := s.pool.Queries().DeleteLostCall(ctx, nonce)
	if err != nil {
		return false, fmt.Errorf("delete a lost call: %w", err)
	}
	return deleted == 1, nil
}
