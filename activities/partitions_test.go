package activities_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/store"
)

func TestPartitionUpkeepKeepsTheDaysItIsAskedFor(t *testing.T) {
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
	keep := func() activities.PartitionReport {
		t.Helper()
		value, err := env.ExecuteActivity(partitions.KeepPartitions, activities.PartitionUpkeep{DaysAhead: 7, KeepCallDays: 30, KeepLedgerDays: 35})
		if err != nil {
			t.Fatal(err)
		}
		var report activities.PartitionReport
		if err := value.Get(&report); err != nil {
			t.Fatal(err)
		}
		return report
	}
	if got := keep(); got != (activities.PartitionReport{Made: 16}) {
		t.Errorf("first upkeep did %+v, want today and seven days made of call records and of the ledger", got)
	}
	if got := keep(); got != (activities.PartitionReport{}) {
		t.Errorf("repeated upkeep did %+v, want nothing", got)
	}
	clock.Advance(32 * 24 * time.Hour)
	if got := keep(); got != (activities.PartitionReport{Made: 16, Dropped: 2}) {
		t.Errorf("upkeep a month later did %+v, want sixteen made and the two days of records past their keeping dropped", got)
	}
}
