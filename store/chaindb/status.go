package chaindb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/db"
)

// ChainSlot is the length of a chain's time slots. Slots are aligned to UTC.
const ChainSlot = 5 * time.Minute

// ChainTraffic counts a chain's calls.
type ChainTraffic struct {
	Calls    int64 // calls for which upstreams were asked
	Rerouted int64 // calls answered by another upstream after one failed
	Lost     int64 // calls that no upstream answered
	Attempts int64 // attempts at upstreams
	Failed   int64 // attempts that failed
}

// ChainCalls counts a chain's calls in a slot.
type ChainCalls struct {
	Slot time.Time
	ChainTraffic

	Latency account.Latency
}

// ChainReport is a measurement of a chain's state, with recent counts of its calls.
type ChainReport struct {
	Chain      chain.ID
	State      chain.State // not chain.Unknown
	Why        string      // a reason of package upstream; empty when it is up
	MeasuredAt time.Time
	Calls      []ChainCalls // of a few slots; totals, not increments
}

// RecordChain records a report. The time since the previous measurement is counted under that
// measurement's state, or not at all when it is longer than gap. It is idempotent: an older
// measurement, and counts lower than the stored ones, change nothing, so any number of workers may
// report the same.
func (s *Store) RecordChain(ctx context.Context, r *ChainReport, gap time.Duration) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		touched, err := measureChain(ctx, q, r, gap)
		if err != nil {
			return err
		}
		for i := range r.Calls {
			n, err := q.SetChainCalls(ctx, chainCallsParams(r.Chain, &r.Calls[i]))
			if err != nil {
				return err
			}
			if n > 0 {
				touched = append(touched, r.Calls[i].Slot)
			}
		}
		for i := range touched {
			touched[i] = dayOf(touched[i])
		}
		slices.SortFunc(touched, time.Time.Compare)
		for _, day := range slices.Compact(touched) {
			if err := q.SumChainDay(ctx, db.SumChainDayParams{Day: day, Chain: string(r.Chain)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record how %s stands: %w", r.Chain, err)
	}
	return nil
}

// measureChain replaces the newest measurement, adds the time since the previous one, and returns
// the slots that this time falls in.
func measureChain(ctx context.Context, q *db.Queries, r *ChainReport,
	gap time.Duration,
) (slots []time.Time, err error) {
	at := r.MeasuredAt.UTC().Truncate(time.Millisecond)
	before, err := q.MoveChainMeasurement(ctx, db.MoveChainMeasurementParams{
		Chain: string(r.Chain), At: at, State: string(r.State), Reason: r.Why,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil // not newer
	case err != nil:
		return nil, err
	case before.PreviousAt == nil || at.Sub(*before.PreviousAt) > gap:
		return nil, nil
	}
	for from := before.PreviousAt.UTC(); from.Before(at); {
		slot := from.Truncate(ChainSlot)
		until := slot.Add(ChainSlot)
		if until.After(at) {
			until = at
		}
		p := db.AddChainTimeParams{Chain: string(r.Chain), Slot: slot}
		took := int32(until.Sub(from).Milliseconds()) //nolint:gosec // at most a slot
		switch chain.State(*before.PreviousState) {
		case chain.Up:
			p.UpMs = took
		case chain.Degraded:
			p.DegradedMs = took
		default:
			p.DownMs = took
		}
		if err := q.AddChainTime(ctx, p); err != nil {
			return nil, err
		}
		slots = append(slots, slot)
		from = until
	}
	return slots, nil
}

func chainCallsParams(id chain.ID, c *ChainCalls) db.SetChainCallsParams {
	p := db.SetChainCallsParams{
		Chain: string(id), Slot: c.Slot.UTC(), Calls: c.Calls, Rerouted: c.Rerouted, Lost: c.Lost, Attempts: c.Attempts,
		Failed: c.Failed, Buckets: []int16{}, Counts: []int64{},
	}
	for bucket, n := range c.Latency {
		if n > 0 {
			//nolint:gosec // a hundred buckets
			p.Buckets, p.Counts = append(p.Buckets, int16(bucket)), append(p.Counts, n)
		}
	}
	return p
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// DeleteChainSlotsBefore deletes the slots of the days before the given time, in batches, and
// returns how many rows it deleted. Daily sums are kept.
func (s *Store) DeleteChainSlotsBefore(ctx context.Context, before time.Time) (int64, error) {
	const batch = 10_000
	var total int64
	for {
		n, err := s.pool.Queries().DeleteChainSlotsBefore(ctx, db.DeleteChainSlotsBeforeParams{
			Before: dayOf(before), MaxRows: batch,
		})
		total += n
		if err != nil {
			return total, fmt.Errorf("delete how chains stood: %w", err)
		}
		if n < batch {
			return total, nil
		}
	}
}
