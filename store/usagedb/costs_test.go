package usagedb_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

var (
	costDay   = time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	costUntil = costDay.AddDate(0, 0, 1)
)

func spentOn(day time.Time, method string, requests, units int64, nanos price.Nanos) price.Spent {
	return price.Spent{
		Day: day, Chain: "eth_mainnet", Upstream: "alchemy", Method: method, Requests: requests,
		Cost: price.Cost{Units: units, Nanos: nanos},
	}
}

func costBatch(of account.ID) price.Batch {
	return price.Batch{
		Spent: []price.Spent{
			spentOn(costDay, "eth_call", 2, 52, 23_400),
			spentOn(costDay, "eth_getLogs", 1, 60, 27_000),
		},
		Accounts: []price.AccountSpent{
			{Day: costDay, Account: of.UUID, Chain: "eth_mainnet", Calls: 2, Nanos: 40_000},
		},
	}
}

func TestCosts_OfProcessesAddUp(t *testing.T) {
	t.Parallel()
	const processes = 4
	ctx, s := storetest.Open(t)
	of := account.NewID()
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			if err := s.AddCosts(ctx, costBatch(of)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := storetest.Must[usagedb.Costs](t)(s.GetCosts(ctx, costDay, costUntil, 10))
	want := usagedb.Costs{
		Methods: []price.Spent{
			spentOn(time.Time{}, "eth_getLogs", 4, 240, 108_000),
			spentOn(time.Time{}, "eth_call", 8, 208, 93_600),
		},
		Accounts: []usagedb.Margin{{Account: of, Calls: 8, Cost: 160_000}},
		Calls:    8, OfCalls: 160_000,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
}

func TestCosts_UnitsOfAnUpstreamAddUpSinceADay(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	if err := s.AddCosts(ctx, costBatch(account.NewID())); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		upstream string
		since    time.Time
		want     int64
	}{{"alchemy", costDay, 112}, {"alchemy", costUntil, 0}, {"infura", costDay, 0}} {
		t.Run(c.upstream+c.since.Format(time.DateOnly), func(t *testing.T) {
			if got := storetest.Must[int64](t)(s.SumUnits(ctx, "eth_mainnet", c.upstream, c.since)); got != c.want {
				t.Errorf("%d units, want %d", got, c.want)
			}
		})
	}
}

func TestCosts_AreOfTheDaysAskedFor(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	if err := s.AddCosts(ctx, costBatch(account.NewID())); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		since, until time.Time
		methods      int
	}{
		"the day":        {costDay, costUntil, 2},
		"the day before": {costDay.AddDate(0, 0, -1), costDay, 0},
		"the day after":  {costUntil, costUntil.AddDate(0, 0, 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := storetest.Must[usagedb.Costs](t)(s.GetCosts(ctx, c.since, c.until, 10))
			if len(got.Methods) != c.methods {
				t.Errorf("%d methods, want %d", len(got.Methods), c.methods)
			}
		})
	}
}

func TestCosts_OfACallAreInItsRecord(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := uuid.Must(uuid.NewV7())
	record := usagedb.Call{RequestID: id, StartedAt: time.Now(), Outcome: "ok", Cost: 11_700}
	if err := s.CopyCalls(ctx, []usagedb.Call{record}); err != nil {
		t.Fatal(err)
	}
	found := storetest.Must[[]usagedb.Call](t)(s.FindCalls(ctx, id))
	if len(found) != 1 {
		t.Fatalf("%d records, want one", len(found))
	}
	if found[0].Cost != 11_700 {
		t.Errorf("the record has a cost of %d, want 11700", found[0].Cost)
	}
}
