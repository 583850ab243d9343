package chaindb_test

import (
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/chaindb"
	"github.com/chainaccess/gateway/store/internal/storetest"
)

const gap = 2 * time.Minute

var statusDay = time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)

func report(state chain.State, at time.Time, calls ...chaindb.ChainCalls) *chaindb.ChainReport {
	return &chaindb.ChainReport{Chain: chain.EthMainnet, State: state, MeasuredAt: at, Calls: calls}
}

// chainDays returns the stored history of Ethereum.
func chainDays(t *testing.T, s *store.Store) *chaindb.ChainRecord {
	t.Helper()
	all := storetest.Must[map[chain.ID]*chaindb.ChainRecord](t)(s.LoadChains(t.Context(), statusDay.AddDate(0, 0, -100),
		statusDay))
	if all[chain.EthMainnet] == nil {
		t.Fatalf("the chain is not in %v", all)
	}
	return all[chain.EthMainnet]
}

func TestStatus_TimeBetweenMeasurementsCountsOnceForSeveralWorkers(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	// Up until 23:58:20, degraded past midnight until 00:01, down for 30 seconds, then an
	// unmeasured gap, then up.
	at := statusDay.Add(-100 * time.Second)
	steps := []struct {
		state chain.State
		after time.Duration
	}{
		{chain.Degraded, 0},
		{chain.Degraded, 70 * time.Second},
		{chain.Down, 90*time.Second + 250*time.Millisecond},
		{chain.Up, 30 * time.Second},
		{chain.Up, 3 * time.Minute},
		{chain.Up, 45 * time.Second},
	}
	var workers sync.WaitGroup
	reports := make([]*chaindb.ChainReport, len(steps))
	for i, step := range steps {
		at = at.Add(step.after)
		reports[i] = report(step.state, at)
		for range 4 {
			workers.Go(func() {
				if err := s.RecordChain(ctx, reports[i], gap); err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
	}
	for _, old := range reports { // an older report changes nothing
		if err := s.RecordChain(ctx, old, gap); err != nil {
			t.Fatal(err)
		}
	}
	r := chainDays(t, s)
	require.Len(t, r.Days, 2)
	require.True(t, r.Days[0].Day.Equal(statusDay.AddDate(0, 0, -1)), r.Days[0].Day)
	require.True(t, r.Days[1].Day.Equal(statusDay), r.Days[1].Day)
	d := r.Days[0]
	in := expect.In(t, "before midnight")
	expect.Equal(in, d.Degraded, 100*time.Second)
	expect.Equal(in, d.Up, 0)
	expect.Equal(in, d.Down, 0)
	d = r.Days[1]
	in = expect.In(t, "after midnight")
	expect.Equal(in, d.Degraded, 60*time.Second+250*time.Millisecond)
	expect.Equal(in, d.Down, 30*time.Second)
	expect.Equal(in, d.Up, 45*time.Second)
	if n := r.Newest; n.State != chain.Up || !n.At.Equal(at) {
		t.Errorf("the newest measurement is %+v", n)
	}
}

func callsAt(at time.Time, n int64) chaindb.ChainCalls {
	c := chaindb.ChainCalls{
		Slot: at, ChainTraffic: chaindb.ChainTraffic{Calls: n, Rerouted: 1, Lost: 2, Attempts: n + 3, Failed: 3},
	}
	c.Latency[account.LatencyBucketOf(time.Second)] = n
	return c
}

func TestStatus_CallsOfASlotAreTheLastReport(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	first, second := statusDay.Add(time.Hour), statusDay.Add(time.Hour+chaindb.ChainSlot)
	for _, calls := range [][]chaindb.ChainCalls{
		{callsAt(first, 10)},
		{callsAt(first, 30), callsAt(second, 5)},
		{callsAt(first, 30), callsAt(second, 8)},
		{callsAt(first, 20)}, // a process has ended; the higher count stays
	} {
		for range 2 {
			if err := s.RecordChain(ctx, report(chain.Up, second, calls...), gap); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := chainDays(t, s)
	want := chaindb.ChainTraffic{Calls: 38, Rerouted: 2, Lost: 4, Attempts: 44, Failed: 6}
	require.Len(t, r.Days, 1)
	expect.Equal(t, r.Days[0].ChainTraffic, want)
	expect.Equal(t, r.Days[0].Up, 0)
	if w := r.Windows[0]; w.ChainTraffic != want || w.Latency.Calls() != 38 {
		t.Errorf("since the day began: %+v with %d durations", w.ChainTraffic, w.Latency.Calls())
	}
	later := storetest.Must[map[chain.ID]*chaindb.ChainRecord](t)(s.LoadChains(ctx, statusDay, second.Add(time.Minute)))
	if w := later[chain.EthMainnet].Windows[0]; w.Calls != 8 { // rounded down to whole slots
		t.Errorf("since the second slot: %+v", w.ChainTraffic)
	}
}

func TestStatus_SlotsAreDeletedAndTheirDaysStay(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	for i := range 3 {
		at := statusDay.AddDate(0, 0, i)
		if err := s.RecordChain(ctx, report(chain.Up, at, callsAt(at, 10), callsAt(at.Add(chaindb.ChainSlot), 10)),
			gap); err != nil {
			t.Fatal(err)
		}
	}
	if n := storetest.Must[int64](t)(s.DeleteChainSlotsBefore(ctx, statusDay.AddDate(0, 0, 2).Add(time.Hour))); n != 4 {
		t.Errorf("%d slots went, want those of two days", n)
	}
	r := chainDays(t, s)
	in := expect.In(t, "afterwards")
	require.Len(in, r.Days, 3)
	expect.Equal(in, r.Days[0].Calls, 20)
	expect.Equal(in, r.Windows[0].Calls, 20)
}

func TestIncidents_AreListedOnceTheyAreNews(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	p := chaindb.Patience{After: time.Minute, Gap: gap}
	observe := func(id string, down bool, at time.Time) {
		t.Helper()
		if _, err := s.ObserveChain(ctx, id, down, at, p); err != nil {
			t.Fatal(err)
		}
	}
	for i, at := 0, statusDay; i < 8; i, at = i+1, at.Add(30*time.Second) {
		observe("eth_mainnet", i < 4, at)                      // over
		observe("base_mainnet", true, at.Add(2*time.Minute))   // open
		observe("polygon_pos", i == 7, at.Add(10*time.Second)) // not confirmed yet
	}
	all := storetest.Must[[]chaindb.Incident](t)(s.ListIncidents(ctx, statusDay, 50))
	require.Len(t, all, 2)
	expect.Equal(t, all[0].Chain, "base_mainnet")
	expect.False(t, all[0].Over(), all[0])
	expect.Equal(t, all[1].Chain, "eth_mainnet")
	expect.True(t, all[1].EndedAt.Equal(statusDay.Add(2*time.Minute)), all[1].EndedAt)
	if later := storetest.Must[[]chaindb.Incident](t)(s.ListIncidents(ctx, statusDay.Add(time.Hour),
		50)); len(later) != 1 ||
		later[0].Chain != "base_mainnet" {
		t.Errorf("later: %+v", later)
	}
	if one := storetest.Must[[]chaindb.Incident](t)(s.ListIncidents(ctx, statusDay, 1)); len(one) != 1 {
		t.Errorf("one at most: %+v", one)
	}
}
