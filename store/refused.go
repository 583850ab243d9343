package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
)

// RefusedSum is how many refused calls of a key have no record of their own, by hour and reason.
// Zero Account and Key: callers without a key, and what was beyond the bounds of a process.
type RefusedSum struct {
	Account account.ID
	Key     account.KeyID
	Hour    time.Time // its begin, UTC
	Outcome string    // the name of a fault reason
	// Management is set of calls of the class management, which stand in no usage.
	Management bool
	Calls      int64
}

// SetRefused writes sums of a recorder, all or none. Its figures may only grow: writing the same or
// older ones changes nothing.
func (s *Store) SetRefused(ctx context.Context, recorder uuid.UUID, sums []RefusedSum) error {
	p := db.SetRefusedCallsParams{Recorder: recorder}
	for i := range sums {
		sum := &sums[i]
		p.Accounts, p.Keys = append(p.Accounts, sum.Account.UUID), append(p.Keys, sum.Key.UUID)
		p.Hours, p.Outcomes, p.Calls = append(p.Hours, sum.Hour), append(p.Outcomes, sum.Outcome),
			append(p.Calls, sum.Calls)
		p.Management = append(p.Management, sum.Management)
	}
	if err := s.queries().SetRefusedCalls(ctx, p); err != nil {
		return fmt.Errorf("write %d sums of refused calls: %w", len(sums), err)
	}
	return nil
}

// RefusedBeyond is how many calls of a window were refused and have no record of their own, by
// whole hours. Its chain is not looked at.
func (s *Store) RefusedBeyond(ctx context.Context, w *UsageWindow) (int64, error) {
	n, err := s.queries().SumRefusedCalls(ctx, db.SumRefusedCallsParams{
		Account: w.Account.UUID, Since: w.since(), Keys: w.keys(),
	})
	if err != nil {
		return 0, w.failed("sums of refused calls", err)
	}
	return n, nil
}
