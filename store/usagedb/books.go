package usagedb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// Outcomes and sources of usage lines that sums distinguish. Every other outcome is the name of a
// refusal.
const (
	outcomeOK     = "ok"
	outcomeHit    = "hit"
	outcomeRefund = "refund"
	sourcePack    = "pack:" // followed by the pack's id
)

// PeriodTotals are the sums of an account's period. Each call counts once, so Requests = Billable +
// Hits + Refused. A refunded call counts as Refused, under the reason of its answer, and not as
// Billable; Refunded is how many of these there are. Units = PlanUnits + PackUnits.
type PeriodTotals struct {
	Requests, Billable, Hits, Refused, Refunded int64
	Units, PlanUnits, PackUnits                 plan.Units
}

// UsagePeriod identifies a period of an account. Period is its start date (2026-11-01).
type UsagePeriod struct {
	Account account.ID
	Period  string
}

// Figures counts requests and units.
type Figures struct {
	Requests int64
	Units    plan.Units
}

// UsageBooks holds both sums of a period, read in one snapshot.
type UsageBooks struct {
	Totals   PeriodTotals       // the running totals, added up bucket by bucket
	Hours    PeriodTotals       // the sums of the hourly rows
	BySource map[string]Figures // of the hourly rows; plan, pack:<id>, or empty when free
}

// UsageBooks reads both sums of an account's period. All are zero when the period has no usage.
func (s *Store) UsageBooks(ctx context.Context, of UsagePeriod) (UsageBooks, error) {
	var books UsageBooks
	err := s.readPeriod(ctx, of, func(q *db.Queries, start time.Time) (err error) {
		books, err = readBooks(ctx, q, of.Account, start)
		return err
	})
	return books, err
}

// readPeriod runs read in one repeatable-read snapshot.
func (s *Store) readPeriod(ctx context.Context, of UsagePeriod, read func(q *db.Queries, start time.Time) error) error {
	start, err := time.Parse(pg.PeriodLayout, of.Period)
	if err != nil {
		return fmt.Errorf("read the books of account %s: period must be a date like 2026-11-01: %w", of.Account, err)
	}
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = s.pool.Tx(ctx, snapshot, func(_ pgx.Tx, q *db.Queries) error { return read(q, start) })
	if err != nil {
		return fmt.Errorf("read the books of account %s, period %s: %w", of.Account, of.Period, err)
	}
	return nil
}

func readBooks(ctx context.Context, q *db.Queries, id account.ID, start time.Time) (UsageBooks, error) {
	books := UsageBooks{BySource: map[string]Figures{}}
	totals, err := q.GetPeriod(ctx, db.GetPeriodParams{Account: id.UUID, Period: start})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return books, err
	}
	books.Totals = totalsOf(totals)
	hours, err := q.SumHoursOfPeriod(ctx, db.SumHoursOfPeriodParams{Account: id.UUID, Period: start})
	if err != nil {
		return books, err
	}
	books.Hours = totalsOf(db.GetPeriodRow(hours))
	sources, err := q.SumSourcesOfPeriod(ctx, db.SumSourcesOfPeriodParams{Account: id.UUID, Period: start})
	for _, row := range sources {
		books.BySource[row.Source] = Figures{Requests: row.Requests, Units: plan.Units(row.Units)}
	}
	return books, err
}

// PeriodTotals reads the totals of an account's period. All are zero when it has no usage.
func (s *Store) PeriodTotals(ctx context.Context, of UsagePeriod) (PeriodTotals, error) {
	start, err := time.Parse(pg.PeriodLayout, of.Period)
	if err != nil {
		return PeriodTotals{}, fmt.Errorf("read the totals of account %s: period must be a date like 2026-11-01: %w",
			of.Account, err)
	}
	row, err := s.pool.Queries().GetPeriod(ctx, db.GetPeriodParams{Account: of.Account.UUID, Period: start})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return PeriodTotals{}, fmt.Errorf("read the totals of account %s, period %s: %w", of.Account, of.Period, err)
	}
	return totalsOf(row), nil
}

// ListUsagePeriods lists up to limit periods, and at most 10,000, that either book has, ordered by
// account and date, after the given one. The zero UsagePeriod starts with the first. Fewer than
// limit means that there are no more.
func (s *Store) ListUsagePeriods(ctx context.Context, after UsagePeriod, limit int) ([]UsagePeriod, error) {
	//nolint:gosec // bounded
	p := db.ListPeriodsParams{AfterAccount: after.Account.UUID, MaxRows: int32(min(limit, pg.MaxPage))}
	if after.Period != "" {
		start, err := time.Parse(pg.PeriodLayout, after.Period)
		if err != nil {
			return nil, fmt.Errorf("list periods of usage: period must be a date like 2026-11-01: %w", err)
		}
		p.AfterPeriod = start
	}
	rows, err := s.pool.Queries().ListPeriods(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list periods of usage: %w", err)
	}
	periods := make([]UsagePeriod, len(rows))
	for i, row := range rows {
		periods[i] = UsagePeriod{Account: account.ID{UUID: row.AccountID}, Period: row.Period.Format(pg.PeriodLayout)}
	}
	return periods, nil
}

func totalsOf(row db.GetPeriodRow) PeriodTotals {
	return PeriodTotals{
		Requests: row.Requests, Billable: row.Billable, Hits: row.Hits, Refused: row.Refused, Refunded: row.Refunded,
		Units: plan.Units(row.Units), PlanUnits: plan.Units(row.PlanUnits), PackUnits: plan.Units(row.PackUnits),
	}
}

// periodKey identifies a period of an account.
type periodKey struct {
	account uuid.UUID
	period  string
}

// booking is what one transaction adds to a period.
type booking struct {
	PeriodTotals
	exhausted bool      // a call was refused because the plan's quota was used up
	newest    time.Time // newest slot of any line but refunds; zero when there is none
}

// bookings sums buckets by account and period. It returns ErrRejected when a sum overflows.
func bookings(buckets []*account.UsageBucket) (map[periodKey]*booking, error) {
	all := make(map[periodKey]*booking, len(buckets))
	for _, bucket := range buckets {
		for i := range bucket.Lines {
			line := &bucket.Lines[i]
			key := periodKey{bucket.Account.UUID, line.Period}
			b := all[key]
			if b == nil {
				b = &booking{}
				all[key] = b
			}
			if line.Outcome != outcomeRefund && bucket.Slot.After(b.newest) {
				b.newest = bucket.Slot
			}
			if !b.add(line) {
				return nil, fmt.Errorf("usage of account %s in slot %s: figures too large: %w", bucket.Account,
					bucket.Slot, pg.ErrRejected)
			}
		}
	}
	return all, nil
}

// add adds a line and reports whether no sum overflowed.
func (b *booking) add(line *account.UsageLine) bool {
	fits := plus(&b.Requests, line.Requests) && plus(&b.Units, line.Units)
	switch line.Outcome {
	case outcomeOK:
		fits = fits && plus(&b.Billable, line.Requests)
	case outcomeRefund:
		fits = fits && plus(&b.Billable, line.Requests) && plus(&b.Refunded, -line.Requests)
	case outcomeHit:
		fits = fits && plus(&b.Hits, line.Requests)
	default:
		fits = fits && plus(&b.Refused, line.Requests)
		b.exhausted = b.exhausted || line.Outcome == quotaRefusal
	}
	switch {
	case line.Source == account.SourcePlan:
		fits = fits && plus(&b.PlanUnits, line.Units)
	case strings.HasPrefix(line.Source, sourcePack):
		fits = fits && plus(&b.PackUnits, line.Units)
	}
	return fits
}

// plus adds n to sum and reports whether it did not overflow.
func plus[T ~int64](sum *T, n T) bool {
	before := *sum
	*sum += n
	return (n >= 0) == (*sum >= before)
}

// book adds buckets to the period totals and inserts notices of the allowances that they use up.
func book(ctx context.Context, q *db.Queries, buckets []*account.UsageBucket) error {
	all, err := bookings(buckets)
	if err != nil {
		return err
	}
	p, err := periodColumns(all)
	if err != nil {
		return err
	}
	drawn, err := q.AddPeriods(ctx, p)
	if err != nil {
		return err
	}
	return notice(ctx, q, all, drawn)
}

func periodColumns(all map[periodKey]*booking) (db.AddPeriodsParams, error) {
	n := len(all)
	figures := func() []int64 { return make([]int64, 0, n) }
	p := db.AddPeriodsParams{
		Accounts: make([]uuid.UUID, 0, n), Periods: make([]time.Time, 0, n), Requests: figures(), Billable: figures(),
		Hits: figures(), Refused: figures(), Refunded: figures(), Units: figures(), PlanUnits: figures(),
		PackUnits: figures(),
	}
	for key, b := range all {
		period, err := time.Parse(pg.PeriodLayout, key.period)
		if err != nil {
			return p, fmt.Errorf("usage of account %s: period is not a date: %w: %w", key.account, pg.ErrRejected, err)
		}
		p.Accounts, p.Periods = append(p.Accounts, key.account), append(p.Periods, period)
		p.Requests, p.Billable, p.Hits = append(p.Requests, b.Requests), append(p.Billable, b.Billable),
			append(p.Hits, b.Hits)
		p.Refused, p.Refunded = append(p.Refused, b.Refused), append(p.Refunded, b.Refunded)
		p.Units, p.PlanUnits = append(p.Units, int64(b.Units)), append(p.PlanUnits, int64(b.PlanUnits))
		p.PackUnits = append(p.PackUnits, int64(b.PackUnits))
	}
	return p, nil
}
