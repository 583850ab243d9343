package chaindb

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// ChainMeasurement is the newest measurement of a chain.
type ChainMeasurement struct {
	At    time.Time
	State chain.State
	Why   string
}

// ChainDay is how long a chain was in each state on a UTC day. Unmeasured time is in none.
type ChainDay struct {
	Day                time.Time
	Up, Degraded, Down time.Duration
	ChainTraffic
}

// ChainRecord is the stored history of a chain.
type ChainRecord struct {
	Newest  *ChainMeasurement // nil when it was never measured
	Windows []ChainWindow     // in the order of the request
	Days    []ChainDay        // days with data, oldest first
}

// ChainWindow counts calls since a time, with the latency of reads.
type ChainWindow struct {
	ChainTraffic

	Latency account.Latency
}

// LoadChains reads the history of all chains: their calls since each of windows, rounded down to
// whole slots, and their days from days on.
func (s *Store) LoadChains(ctx context.Context, days time.Time,
	windows ...time.Time,
) (map[chain.ID]*ChainRecord, error) {
	all := map[chain.ID]*ChainRecord{}
	of := func(id string) *ChainRecord {
		if all[chain.ID(id)] == nil {
			all[chain.ID(id)] = &ChainRecord{Windows: make([]ChainWindow, len(windows))}
		}
		return all[chain.ID(id)]
	}
	q := s.pool.Queries()
	newest, err := q.ListChainMeasurements(ctx)
	if err != nil {
		return nil, fmt.Errorf("read how chains stand: %w", err)
	}
	for _, row := range newest {
		of(row.Chain).Newest = &ChainMeasurement{
			At: row.MeasuredAt.UTC(), State: chain.State(row.State), Why: row.Reason,
		}
	}
	for i, since := range windows {
		if err := loadWindow(ctx, q, since.UTC().Truncate(ChainSlot), func(id string) *ChainWindow {
			return &of(id).Windows[i]
		}); err != nil {
			return nil, fmt.Errorf("read what became of calls: %w", err)
		}
	}
	rows, err := q.ListChainDays(ctx, dayOf(days))
	if err != nil {
		return nil, fmt.Errorf("read the days of chains: %w", err)
	}
	for i := range rows {
		row := &rows[i]
		c := of(row.Chain)
		c.Days = append(c.Days, ChainDay{
			Day: row.Day, Up: time.Duration(row.UpMs) * time.Millisecond,
			Degraded: time.Duration(row.DegradedMs) * time.Millisecond,
			Down:     time.Duration(row.DownMs) * time.Millisecond,
			ChainTraffic: ChainTraffic{
				Calls: row.Calls, Rerouted: row.Rerouted, Lost: row.Lost, Attempts: row.Attempts, Failed: row.Failed,
			},
		})
	}
	return all, nil
}

func loadWindow(ctx context.Context, q *db.Queries, since time.Time, of func(id string) *ChainWindow) error {
	sums, err := q.SumChainSlots(ctx, since)
	if err != nil {
		return err
	}
	for _, row := range sums {
		of(row.Chain).ChainTraffic = ChainTraffic{
			Calls: row.Calls, Rerouted: row.Rerouted, Lost: row.Lost, Attempts: row.Attempts, Failed: row.Failed,
		}
	}
	durations, err := q.SumChainLatency(ctx, since)
	if err != nil {
		return err
	}
	for _, row := range durations {
		if row.Bucket < 0 || row.Bucket >= account.LatencyBuckets {
			return fmt.Errorf("bucket %d: the record is newer than this program", row.Bucket)
		}
		of(row.Chain).Latency[row.Bucket] = row.Calls
	}
	return nil
}

// ListIncidents reads confirmed incidents that are open or ended at or after since, newest first.
func (s *Store) ListIncidents(ctx context.Context, since time.Time, limit int) ([]Incident, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListIncidents(ctx,
		db.ListIncidentsParams{Since: since, MaxRows: int32(min(limit, pg.MaxPage))})
	if err != nil {
		return nil, fmt.Errorf("list incidents: %w", err)
	}
	all := make([]Incident, len(rows))
	for i, row := range rows {
		all[i] = *incidentOf(row)
	}
	return all, nil
}
