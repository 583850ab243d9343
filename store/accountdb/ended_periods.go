package accountdb

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// EndedPeriod is a metering period that a change of the account's cycle cut short.
type EndedPeriod struct {
	Account    account.ID
	Period     string // start date
	Start, End time.Time
	Plan       string    // the account's plan in that period
	Cut        time.Time // when the change was made; usage still counts until it is in force
}

// ListEndedPeriods reads the periods of an account that were cut short, oldest first.
func (s *Store) ListEndedPeriods(ctx context.Context, id account.ID) ([]EndedPeriod, error) {
	rows, err := s.pool.Queries().ListEndedPeriods(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list the ended periods of account %s: %w", id, err)
	}
	all := make([]EndedPeriod, len(rows))
	for i, row := range rows {
		all[i] = EndedPeriod{
			Account: id, Period: row.Period.Format(pg.PeriodLayout), Start: row.StartsAt.UTC(), End: row.EndsAt.UTC(),
			Plan: row.Plan, Cut: row.CutAt.UTC(),
		}
	}
	return all, nil
}

// endPeriod records a period that a change of cycle cuts short, because its bounds no longer follow
// from the cycle. A period whose name continues, because the new one begins on the same day, has
// not ended.
func endPeriod(ctx context.Context, q *db.Queries, before, after *Account, by Author) (err error) {
	if before.Cycle == after.Cycle {
		return nil
	}
	at := by.At
	if at.IsZero() {
		if at, err = q.Clock(ctx); err != nil {
			return err
		}
	}
	start, end := before.Cycle.Period(at)
	next, _ := after.Cycle.Period(at)
	was, is := account.Period{Start: start}, account.Period{Start: next}
	if was.Key() == is.Key() {
		return nil
	}
	cut := at
	if next.After(start) {
		cut = next
	}
	if cut.After(end) {
		cut = end
	}
	day, err := time.Parse(pg.PeriodLayout, was.Key())
	if err != nil {
		return err
	}
	return q.InsertEndedPeriod(ctx, db.InsertEndedPeriodParams{
		AccountID: before.ID.UUID, Period: day, StartsAt: start, EndsAt: cut, Plan: before.Plan, CutAt: at,
	})
}
