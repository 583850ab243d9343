package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
)

// RefusedSum is how many refused calls of a key have no record of their own, by hour and reason.
// Account and Key are zero for callers without a key, and for calls beyond the bounds of a process.
type RefusedSum struct {
	Account account.ID
	Key     account.KeyID
	Hour    time.Time // start of the hour, UTC
	Outcome string    // the name of a fault reason
	// Management marks calls of the class management, which do not appear in usage.
	Management bool
	Calls      int64
}

// SetRefused upserts sums of a recorder in one transaction. A recorder's figures only grow, so
// writing the same or older ones changes nothing.
func (s *Store) SetRefused(ctx context.Context, recorder uuid.UUID, sums []RefusedSum) error {
	p := db.SetRefusedCallsParams{Recorder: recorder}
	for i := range sums {
		sum := &sums[i]
		p.Accounts, p.Keys = append(p.Accounts, sum.Account.UUID), append(p.Keys, sum.Key.UUID)
		p.Hours, p.Outcomes, p.Calls = append(p.Hours, sum.Hour), append(p.Outcomes, sum.Outcome),
			append(p.Calls, sum.Calls)
		p.Management = append(p.Management, sum.Management)
	}
	if err := s.pool.Queries().SetRefusedCalls(ctx, p); err != nil {
		return fmt.Errorf("write %d sums of refused calls: %w", len(sums), err)
	}
	return nil
}

// RefusedBeyond returns how many refused calls of a window have no record of their own, by whole
// hours. It ignores the window's chain.
func (s *Store) RefusedBeyond(ctx context.Context, w *UsageWindow) (int64, error) {
	n, err := s.pool.Queries().SumRefusedCalls(ctx, db.SumRefusedCallsParams{
		Account: w.Account.UUID, Since: w.since(), Keys: w.keys(),
	})
	if err != nil {
		return 0, w.failed("sums of refused calls", err)
	}
	return n, nil
}
