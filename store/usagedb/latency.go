package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
)

// LatencyQuery selects latencies. Rows are hourly: the window includes the whole hour of Since and
// the whole hour of Until.
type LatencyQuery struct {
	Account      account.ID
	Since, Until time.Time
	Keys         []account.KeyID // only these keys; nil for all
	Chain        string          // only this chain; empty for all

	ByKey, ByChain bool          // grouped by key, by chain
	Step           time.Duration // a multiple of one hour; zero for the window as a whole
}

// LatencyFigures are the histograms of one group of calls. Groups without calls are omitted.
type LatencyFigures struct {
	Key   account.KeyID // zero unless grouped by key
	Chain string        // empty unless grouped by chain
	Start time.Time     // of the step or of the window

	Relayed account.Latency // answered by an upstream
	Hits    account.Latency // answered by the cache or the service itself
}

// Answered returns the histogram of all answered calls, which is what clients see.
func (f *LatencyFigures) Answered() account.Latency {
	all := f.Relayed
	all.Add(&f.Hits)
	return all
}

// Latency reads how long an account's answered calls took, ordered by time, chain and key. It reads
// daily rows, and hourly rows where a step or an end of the window falls within a day; it never
// reads call records.
func (s *Store) Latency(ctx context.Context, q LatencyQuery) ([]LatencyFigures, error) {
	if q.Step < 0 || q.Step%time.Hour != 0 {
		return nil, fmt.Errorf("read latencies of account %s: a step of %s: ask for whole hours", q.Account, q.Step)
	}
	since := q.Since.UTC().Truncate(time.Hour)
	fromDay := midnightFrom(since)
	if q.Step > 0 {
		fromDay = daysOfSteps(since, q.Step)
	}
	toDay := q.Until.UTC().Truncate(day) // hourly rows again: Until may fall within the day
	if toDay.Before(fromDay) {
		toDay = fromDay
	}
	rows, err := s.pool.Sums().SumLatency(ctx, db.SumLatencyParams{
		Account: q.Account.UUID, Since: since, Until: q.Until, FromDay: fromDay, ToDay: toDay, Keys: keyUUIDs(q.Keys),
		OnlyChain: q.Chain, ByKey: q.ByKey, ByChain: q.ByChain, StepSeconds: int64(q.Step / time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("read latencies of account %s: %w", q.Account, err)
	}
	var all []LatencyFigures
	for _, row := range rows {
		if row.Bucket >= account.LatencyBuckets {
			return nil, fmt.Errorf("read latencies of account %s: bucket %d: the record is newer than this program",
				q.Account, row.Bucket)
		}
		key, start := account.KeyID{UUID: row.KeyID}, row.Start.UTC()
		if n := len(all); n == 0 || all[n-1].Key != key || all[n-1].Chain != row.Chain || !all[n-1].Start.Equal(start) {
			all = append(all, LatencyFigures{Key: key, Chain: row.Chain, Start: start})
		}
		figures := &all[len(all)-1]
		if row.Outcome == outcomeHit {
			figures.Hits[row.Bucket] += row.Calls
		} else {
			figures.Relayed[row.Bucket] += row.Calls
		}
	}
	return all, nil
}

// addLatency adds the durations of buckets that are new to the ledger to their histograms, in the
// transaction that enters the buckets.
func addLatency(ctx context.Context, q *db.Queries, fresh []*account.UsageBucket) error {
	total := 0
	for _, b := range fresh {
		total += len(b.Latencies)
	}
	if total == 0 {
		return nil
	}
	p := newLatencyColumns(total)
	for _, b := range fresh {
		for j := range b.Latencies {
			appendLatency(&p, b, &b.Latencies[j])
		}
	}
	return q.AddLatency(ctx, p)
}

func newLatencyColumns(n int) db.AddLatencyParams {
	text := func() []string { return make([]string, 0, n) }
	return db.AddLatencyParams{
		Accounts: make([]uuid.UUID, 0, n), Hours: make([]time.Time, 0, n), Keys: make([]uuid.UUID, 0, n),
		Chains: text(), Services: text(), Classes: text(), Outcomes: text(), Buckets: make([]int16, 0, n),
		Calls: make([]int64, 0, n),
	}
}

func appendLatency(p *db.AddLatencyParams, b *account.UsageBucket, l *account.LatencyLine) {
	p.Accounts = append(p.Accounts, b.Account.UUID)
	p.Hours = append(p.Hours, b.Slot.UTC().Truncate(time.Hour))
	p.Keys = append(p.Keys, l.Key.UUID)
	p.Chains = append(p.Chains, l.Chain)
	p.Services = append(p.Services, l.Service)
	p.Classes = append(p.Classes, l.Class)
	p.Outcomes = append(p.Outcomes, l.Outcome)
	p.Buckets = append(p.Buckets, int16(l.Bucket)) //nolint:gosec // a hundred buckets
	p.Calls = append(p.Calls, l.Calls)
}

// latencyBatch is how many rows one statement deletes.
const latencyBatch = 10_000

// DeleteLatencyBefore deletes latencies of the hours and days before the given time, in batches,
// and returns the number of rows deleted.
func (s *Store) DeleteLatencyBefore(ctx context.Context, before time.Time) (int64, error) {
	q, hour, midnight := s.pool.Queries(), before.UTC().Truncate(time.Hour), before.UTC().Truncate(day)
	var total int64
	for _, batch := range []func() (int64, error){
		func() (int64, error) {
			return q.DeleteLatencyHoursBefore(ctx,
				db.DeleteLatencyHoursBeforeParams{Before: hour, MaxRows: latencyBatch})
		},
		func() (int64, error) {
			return q.DeleteAccountLatencyHoursBefore(ctx, db.DeleteAccountLatencyHoursBeforeParams{
				Before: hour, MaxRows: latencyBatch,
			})
		},
		func() (int64, error) {
			return q.DeleteLatencyDaysBefore(ctx, db.DeleteLatencyDaysBeforeParams{
				Before: midnight, MaxRows: latencyBatch,
			})
		},
		func() (int64, error) {
			return q.DeleteAccountLatencyDaysBefore(ctx, db.DeleteAccountLatencyDaysBeforeParams{
				Before: midnight, MaxRows: latencyBatch,
			})
		},
	} {
		for n := int64(latencyBatch); n == latencyBatch; {
			var err error
			if n, err = batch(); err != nil {
				return total, fmt.Errorf("delete latencies: %w", err)
			}
			total += n
		}
	}
	return total, nil
}
