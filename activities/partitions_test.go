package activities_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/chaindb"
	"github.com/chainaccess/gateway/store/peopledb"
	"github.com/chainaccess/gateway/workflows"
)

func TestUpkeep_KeepsPartitionsForTheRequestedDays(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clock := testkit.NewClock(time.Date(2026, time.November, 20, 23, 59, 0, 0, time.UTC))
	partitions := &activities.Partitions{Store: s, Now: clock.Now}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(partitions)
	keepFor := func(latencyDays int) activities.PartitionReport {
		t.Helper()
		value, err := env.ExecuteActivity(partitions.KeepPartitions, activities.PartitionUpkeep{
			DaysAhead: 7, KeepCallDays: 30, KeepLedgerDays: 35, KeepLatencyDays: latencyDays, KeepPeopleDays: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		var report activities.PartitionReport
		if err := value.Get(&report); err != nil {
			t.Fatal(err)
		}
		return report
	}
	keep := func() activities.PartitionReport { t.Helper(); return keepFor(35) }
	took := account.LatencyLine{
		Key: account.NewKeyID(), Chain: "eth_mainnet", Service: "rpc", Class: "standard", Outcome: "ok", Calls: 1,
	}
	for _, at := range []time.Time{clock.Now(), clock.Now().Add(-4 * 24 * time.Hour)} {
		if err := s.CommitUsage(ctx, []account.UsageBucket{
			{
				Slot: at.Truncate(10 * time.Second), Account: account.NewID(), Generation: "a",
				Latencies: []account.LatencyLine{took},
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got := keep(); got != (activities.PartitionReport{Made: 16}) {
		t.Errorf("first upkeep did %+v, want today and seven days made of call records and of the ledger", got)
	}
	if got := keep(); got != (activities.PartitionReport{}) {
		t.Errorf("repeated upkeep did %+v, want nothing", got)
	}
	clock.Advance(32 * 24 * time.Hour)
	// Ledger and latencies of the earlier day are past their retention, too. A schedule from before
	// latencies deletes none.
	if got := keepFor(0); got != (activities.PartitionReport{Made: 16, Dropped: 2, LedgerForgotten: 1}) {
		t.Errorf("upkeep a month later did %+v, want sixteen made and the days past their keeping dropped", got)
	}
	// One call has four rows: its hour and its day, each by key and for the account.
	if got := keep(); got != (activities.PartitionReport{LatencyDeleted: 4}) {
		t.Errorf("upkeep deleted %+v, want the latencies of the day past their keeping", got)
	}
}

func TestUpkeep_DeletesSignInsADayAfterTheyExpired(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clock := testkit.NewClock(time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC))
	email, refusal := account.ParseEmail("ann@buyer.example")
	if refusal != nil {
		t.Fatal(refusal)
	}
	for i := range byte(3) {
		n := peopledb.NewSignIn{
			ID: peopledb.SignInID{UUID: account.NewUserID().UUID}, Email: email, Link: account.Digest{i, 1},
			Code: account.Digest{i, 2}, Browser: account.Digest{i, 3}, At: clock.Now(),
			ExpiresAt: clock.Now().Add(15 * time.Minute),
		}
		if err := s.StartSignIn(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	partitions := &activities.Partitions{Store: s, Now: clock.Now}
	keep := func(days int) int64 {
		t.Helper()
		report, err := partitions.KeepPartitions(ctx, activities.PartitionUpkeep{
			KeepCallDays: 30, KeepLedgerDays: 35, KeepPeopleDays: days,
		})
		if err != nil {
			t.Fatal(err)
		}
		return report.PeopleDeleted
	}
	clock.Advance(24 * time.Hour)
	if n := keep(1); n != 0 {
		t.Errorf("%d sign-ins were deleted within a day of their end", n)
	}
	clock.Advance(15*time.Minute + time.Second)
	if n := keep(0); n != 0 { // input of a schedule from before this setting
		t.Errorf("%d sign-ins were deleted by a schedule that does not say for how long to keep them", n)
	}
	if n := keep(1); n != 3 {
		t.Errorf("%d sign-ins were deleted a day after their end, want 3", n)
	}
}

func TestUpkeep_DeletesPublishedEvents(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clock := testkit.NewClock(time.Now())
	for _, id := range []string{"evt_done", "evt_open"} {
		if _, err := s.RecordStripeEvent(ctx, &billingdb.StripeEvent{
			ID: id, Type: "invoice.paid", CreatedAt: clock.Now(),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.MarkStripeEvent(ctx, "evt_done", activities.EventSignalled); err != nil {
		t.Fatal(err)
	}
	partitions := &activities.Partitions{Store: s, Now: clock.Now}
	keep := func(days int) int64 {
		t.Helper()
		report, err := partitions.KeepPartitions(ctx, activities.PartitionUpkeep{
			KeepCallDays: 30, KeepLedgerDays: 35, KeepEventDays: days,
		})
		if err != nil {
			t.Fatal(err)
		}
		return report.EventsDeleted
	}
	for _, step := range []struct {
		after time.Duration
		days  int
		want  int64
	}{
		{89 * 24 * time.Hour, workflows.PartitionInput().KeepEventDays, 0},
		{2 * 24 * time.Hour, 0, 0}, // input of a schedule from before this setting
		{0, workflows.PartitionInput().KeepEventDays, 1},
		{400 * 24 * time.Hour, 90, 0}, // events that were not handed on stay
	} {
		clock.Advance(step.after)
		if n := keep(step.days); n != step.want {
			t.Errorf("%d events were deleted after another %s, want %d", n, step.after, step.want)
		}
	}
}

func TestUpkeep_DeletesChainStatusThatNoPageShowsAnyMore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := store.Open(ctx, testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clock := testkit.NewClock(time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC))
	for range 2 {
		calls := chaindb.ChainCalls{Slot: clock.Now(), ChainTraffic: chaindb.ChainTraffic{Calls: 1, Attempts: 1}}
		if err := s.RecordChain(ctx, &chaindb.ChainReport{
			Chain: "eth_mainnet", State: "up", MeasuredAt: clock.Now(), Calls: []chaindb.ChainCalls{calls},
		}, time.Minute); err != nil {
			t.Fatal(err)
		}
		clock.Advance(24 * time.Hour)
	}
	clock.Advance(89 * 24 * time.Hour)
	partitions := &activities.Partitions{Store: s, Now: clock.Now}
	for days, want := range map[int]int64{0: 0, workflows.PartitionInput().KeepStatusDays: 1} {
		report, err := partitions.KeepPartitions(ctx, activities.PartitionUpkeep{
			KeepCallDays: 30, KeepLedgerDays: 35, KeepStatusDays: days,
		})
		if err != nil || report.StatusDeleted != want {
			t.Errorf("kept for %d days: %+v, %v", days, report, err)
		}
	}
}
