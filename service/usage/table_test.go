package usage_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
)

func TestUsageTable_HasAllItsLinesOrIsRefused(t *testing.T) {
	t.Parallel()
	if usage.MaxLines != 100_000 { // docs/decisions/0077; spreadsheet programs open a million lines
		t.Errorf("a table has at most %d lines", usage.MaxLines)
	}
	const most = 1_200
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	b.BoundTables(most)
	b.Days(t, b.KeyID, 1, most)
	table := servicetest.Must[usage.UsageTable](t)(b.ExportUsage.Invoke(b.Ctx, b.Ann, usage.ExploreUsageInput{}))
	if rows := tableRows(t, table.Text); len(rows) != most {
		t.Errorf("%d lines are a table of %d", most, len(rows))
	}
	b.Days(t, b.KeyID, most+1, most+1)
	_, refusal := b.ExportUsage.Invoke(b.Ctx, b.Ann, usage.ExploreUsageInput{})
	in := expect.In(t, "one more")
	require.NotNil(in, refusal)
	expect.Equal(in, refusal.Reason, fault.FieldRefused)
	expect.Equal[any](in, refusal.Data["most_rows"], most)
	expect.Contains(in, refusal.Message, "more than 1,200 rows")
	// The smaller range that the refusal suggests is accepted.
	if _, refusal := b.ExportUsage.Invoke(b.Ctx, b.Ann, usage.ExploreUsageInput{
		Chain: "base_mainnet",
	}); refusal != nil {
		t.Errorf("a chain of them is refused: %v", refusal)
	}
}

func TestUsageTable_IsMadeOneAtATimePerAccount(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	b.Days(t, b.KeyID, 1, 3)
	db := b.Connect(t)
	held, err := db.Begin(b.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(b.Ctx, "LOCK TABLE usage_days IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	first := make(chan *fault.Error, 2)
	export := func(c *operation.Caller) {
		_, refusal := b.ExportUsage.Invoke(b.Ctx, c, usage.ExploreUsageInput{})
		first <- refusal
	}
	waiting := func(n int) func() bool {
		return func() bool {
			var found int
			err := held.QueryRow(b.Ctx,
				"SELECT count(*) FROM pg_locks WHERE relation = 'usage_days'::regclass AND NOT granted").Scan(&found)
			return err == nil && found == n
		}
	}
	go export(b.Ann)
	testkit.Eventually(t, 30*time.Second, waiting(1), "the first table waits for its lines")
	_, refusal := b.ExportUsage.Invoke(b.Ctx, b.Ann, usage.ExploreUsageInput{Range: "30d"})
	in := expect.In(t, "a second table")
	require.NotNil(in, refusal)
	expect.Equal(in, refusal.Reason, fault.RateWindow)
	expect.Greater(in, refusal.RetryAfter, 0)
	expect.Contains(in, refusal.Message, "one is made at a time")
	go export(b.Eve) // of another account
	testkit.Eventually(t, 30*time.Second, waiting(2), "another account's table waits for its lines, too")
	if err := held.Commit(b.Ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if refusal := <-first; refusal != nil {
			t.Errorf("a table that was begun is refused: %v", refusal)
		}
	}
	servicetest.Must[usage.UsageTable](t)(b.ExportUsage.Invoke(b.Ctx, b.Ann, usage.ExploreUsageInput{}))
}
