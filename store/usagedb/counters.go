package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// sumCounters computes counters from daily rollups, and returns the sums in the order of counters.
// Only a key's day is summed from hourly rows. Each period is scanned once. What a period drew from
// its plan, which is all that most accounts need, comes from the period's totals without a scan.
func sumCounters(ctx context.Context, q *db.Queries, id account.ID, counters []account.Counter) ([]plan.Units, error) {
	sums := make([]plan.Units, len(counters))
	periods := map[string][]int{} // indexes of the counters that need a scan, by period
	packs := map[string][]int{}
	for i := range counters {
		c := &counters[i]
		if _, ok := account.PackOf(c.Source); ok && c.Period == "" {
			packs[c.Source] = append(packs[c.Source], i)
			continue
		}
		var err error
		switch {
		case !c.Day.IsZero():
			sums[i], err = sumKeyDay(ctx, q, id, c)
		case c.Source == account.SourcePlan && c.Key.IsZero() && c.Service == "":
			sums[i], err = sumPlan(ctx, q, id, c.Period)
		default:
			periods[c.Period] = append(periods[c.Period], i)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := sumPacks(ctx, q, id, packs, sums); err != nil {
		return nil, err
	}
	for period, which := range periods {
		if err := sumPeriod(ctx, q, id, period, counters, which, sums); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

func sumKeyDay(ctx context.Context, q *db.Queries, id account.ID, c *account.Counter) (plan.Units, error) {
	day := c.Day.UTC().Truncate(24 * time.Hour)
	units, err := q.SumKeyDay(ctx, db.SumKeyDayParams{
		Key: c.Key.UUID, Account: id.UUID, DayStart: day, DayEnd: day.Add(24 * time.Hour),
	})
	return plan.Units(units), err
}

func sumPlan(ctx context.Context, q *db.Queries, id account.ID, period string) (plan.Units, error) {
	start, err := startOf(period)
	if err != nil {
		return 0, err
	}
	units, err := q.SumPlan(ctx, db.SumPlanParams{Account: id.UUID, Period: start})
	return plan.Units(units), err
}

// sumPacks sets the sums of packs. packs maps a source to indexes of counters.
func sumPacks(ctx context.Context, q *db.Queries, id account.ID, packs map[string][]int, sums []plan.Units) error {
	if len(packs) == 0 {
		return nil
	}
	p := db.SumPacksParams{Account: id.UUID}
	for source := range packs {
		p.Sources = append(p.Sources, source)
	}
	rows, err := q.SumPacks(ctx, p)
	for _, row := range rows {
		for _, i := range packs[row.Source] {
			sums[i] = plan.Units(row.Units)
		}
	}
	return err
}

// sumPeriod sets the sums of the counters at the indexes which, all of one period. It scans the
// account's days once for counters of the account, and the keys' days once for counters of keys.
func sumPeriod(ctx context.Context, q *db.Queries, id account.ID, period string, counters []account.Counter,
	which []int, sums []plan.Units,
) error {
	start, err := startOf(period)
	if err != nil {
		return err
	}
	keys, onlyKeys := []uuid.UUID{}, true
	for _, i := range which {
		if counters[i].Key.IsZero() {
			onlyKeys = false
			continue
		}
		keys = append(keys, counters[i].Key.UUID)
	}
	var rows []db.SumPeriodOfKeysRow
	if len(keys) > 0 {
		if rows, err = q.SumPeriodOfKeys(ctx, db.SumPeriodOfKeysParams{
			Account: id.UUID, Period: start, Keys: keys,
		}); err != nil {
			return err
		}
	}
	if !onlyKeys {
		whole, err := q.SumPeriod(ctx, db.SumPeriodParams{Account: id.UUID, Period: start})
		if err != nil {
			return err
		}
		for _, row := range whole {
			rows = append(rows, db.SumPeriodOfKeysRow{Service: row.Service, Source: row.Source, Units: row.Units})
		}
	}
	for i := range rows {
		for _, at := range which {
			if counts(&counters[at], &rows[i]) {
				sums[at] += plan.Units(rows[i].Units)
			}
		}
	}
	return nil
}

// counts reports whether a row of a period belongs to a counter of that period. Rows of the whole
// account have no key.
func counts(c *account.Counter, row *db.SumPeriodOfKeysRow) bool {
	return c.Key.UUID == row.KeyID && (c.Service == "" || c.Service == row.Service) &&
		(c.Source == "" || c.Source == row.Source)
}

func startOf(period string) (time.Time, error) {
	start, err := time.Parse(pg.PeriodLayout, period)
	if err != nil {
		return time.Time{}, fmt.Errorf("a period must be a date like 2026-11-01: %w", err)
	}
	return start, nil
}
