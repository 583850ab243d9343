package usagedb_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

// windowed returns a line with the columns that windows distinguish.
func windowed(key account.KeyID, period, chain, method, class, outcome, source string,
	requests, units int64,
) account.UsageLine {
	l := lineOf(key, outcome, source, requests, units)
	l.Period, l.Chain, l.Method, l.Class = period, chain, method, class
	return l
}

// aMonthOfUsage commits usage of two keys around the end of a period, and as much of another
// account.
func aMonthOfUsage(t *testing.T, commit func([]account.UsageBucket) error) (id account.ID, one, two account.KeyID,
	turn time.Time,
) {
	t.Helper()
	id, one, two = account.NewID(), account.NewKeyID(), account.NewKeyID()
	turn = time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC) // an anchor day
	const before, after, pack = "2026-10-20", "2026-11-20", "pack:11111111-1111-4111-8111-111111111111"
	buckets := []account.UsageBucket{
		bucketOf(id, turn.Add(-25*time.Hour), "a", windowed(one, before, "eth_mainnet", "eth_call", "standard", "ok",
			"plan", 100, 100)), // outside the window
		bucketOf(id, turn.Add(-10*time.Second), "b",
			windowed(one, before, "eth_mainnet", "eth_call", "standard", "ok", "plan", 8, 8),
			windowed(one, before, "eth_mainnet", "eth_getLogs", "heavy", "ok", pack, 3, 6),
			windowed(two, before, "base_mainnet", "eth_call", "standard", "hit", "", 5, 0)),
		bucketOf(id, turn, "c",
			windowed(one, after, "eth_mainnet", "eth_call", "standard", "ok", "plan", 2, 2),
			// A call of the old period that was refunded in the new one counts once, as refused.
			windowed(one, before, "eth_mainnet", "eth_call", "standard", "refund", "plan", -1, -1),
			windowed(one, before, "eth_mainnet", "eth_call", "standard", "bad_gateway", "", 1, 0),
			windowed(two, after, "base_mainnet", "eth_call", "standard", "rate_window", "", 4, 0)),
	}
	other := bucketOf(account.NewID(), turn, "d", windowed(account.NewKeyID(), after, "eth_mainnet", "eth_call",
		"standard", "ok", "plan", 1000, 1000))
	if err := commit(append(buckets, other)); err != nil {
		t.Fatal(err)
	}
	return id, one, two, turn
}

func TestUsageWindow_AddsUpAcrossPeriods(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, one, two, turn := aMonthOfUsage(t, func(b []account.UsageBucket) error { return s.CommitUsage(ctx, b) })
	sums := func(requests, billable, hits, units int64) usagedb.UsageSums {
		return usagedb.UsageSums{Requests: requests, Billable: billable, Hits: hits, Units: storetest.UnitsOf(units)}
	}
	all := usagedb.UsageWindow{Account: id, Since: turn.Add(-time.Minute)}
	report := storetest.Must[usagedb.UsageReport](t)(s.ReportUsage(ctx, &all, 20))
	if want := sums(22, 12, 5, 15); report.Whole != want || report.Whole.Refused() != 5 {
		t.Errorf("the whole is %+v, want %+v", report.Whole, want)
	}
	for what, c := range map[string]struct {
		got  usagedb.UsageGroups
		want []usagedb.UsageGroup
	}{
		"by class": {
			report.ByClass, []usagedb.UsageGroup{
				{Class: "standard", UsageSums: sums(19, 9, 5, 9)}, {Class: "heavy", UsageSums: sums(3, 3, 0, 6)},
			},
		},
		"by key": {
			report.ByKey, []usagedb.UsageGroup{
				{Key: one, UsageSums: sums(13, 12, 0, 15)}, {Key: two, UsageSums: sums(9, 0, 5, 0)},
			},
		},
		"by method": {report.ByMethod, []usagedb.UsageGroup{
			{Method: "eth_call", UsageSums: sums(19, 9, 5, 9)}, {Method: "eth_getLogs", UsageSums: sums(3, 3, 0, 6)},
		}},
		"by chain": {report.ByChain, []usagedb.UsageGroup{
			{Chain: "eth_mainnet", UsageSums: sums(13, 12, 0, 15)}, {
				Chain: "base_mainnet", UsageSums: sums(9, 0, 5, 0),
			},
		}},
	} {
		t.Run(what, func(t *testing.T) {
			if !slices.Equal(c.got.Groups, c.want) || c.got.All != int64(len(c.want)) {
				t.Errorf("%s it is %+v, want %+v", what, c.got, c.want)
			}
		})
	}
	// A list is cut to its largest groups, and still has the number of all groups.
	cut := storetest.Must[usagedb.UsageReport](t)(s.ReportUsage(ctx, &all, 1)).ByKey
	in := expect.In(t, "cut to one")
	require.Len(in, cut.Groups, 1)
	expect.Equal(in, cut.Groups[0].Key, one)
	expect.Equal(in, cut.All, 2)
	for what, c := range map[string]struct {
		window usagedb.UsageWindow
		want   usagedb.UsageSums
	}{
		"one key": {
			usagedb.UsageWindow{Account: id, Since: all.Since, Keys: []account.KeyID{two}}, sums(9, 0, 5, 0),
		},
		"a chain": {usagedb.UsageWindow{Account: id, Since: all.Since, Chain: "eth_mainnet"}, sums(13, 12, 0, 15)},
		"no key": {
			usagedb.UsageWindow{Account: id, Since: all.Since, Keys: []account.KeyID{}}, usagedb.UsageSums{},
		},
		"since the turn": {usagedb.UsageWindow{Account: id, Since: turn}, sums(6, 1, 0, 1)},
		"a stranger": {
			usagedb.UsageWindow{Account: account.NewID(), Since: all.Since, Keys: []account.KeyID{one}},
			usagedb.UsageSums{},
		},
		"longer ago": {
			usagedb.UsageWindow{Account: id, Since: turn.Add(-30 * 24 * time.Hour)}, sums(122, 112, 5, 115),
		},
	} {
		t.Run(what, func(t *testing.T) {
			if got := storetest.Must[usagedb.UsageReport](t)(s.ReportUsage(ctx, &c.window, 20)).Whole; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestUsageWindow_IsReadByStepsAndByAnsweredAndRefused(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, one, two, turn := aMonthOfUsage(t, func(b []account.UsageBucket) error { return s.CommitUsage(ctx, b) })
	w := usagedb.UsageWindow{Account: id, Since: turn.Add(-2 * time.Hour)}
	steps := storetest.Must[[]usagedb.UsageStep](t)(s.UsageSteps(ctx, &w, time.Hour))
	want := []usagedb.UsageStep{
		{Start: turn.Add(-time.Hour), UsageSums: usagedb.UsageSums{
			Requests: 16, Billable: 11, Hits: 5, Units: storetest.UnitsOf(14),
		}, PackUnits: storetest.UnitsOf(6)},
		{Start: turn, UsageSums: usagedb.UsageSums{Requests: 6, Billable: 1, Units: storetest.UnitsOf(1)}},
	}
	if !slices.Equal(steps, want) {
		t.Errorf("by hours it is %+v, want %+v", steps, want)
	}
	whole := storetest.Must[[]usagedb.UsageStep](t)(s.UsageSteps(ctx, &w, 6*time.Hour))
	in := expect.In(t, "in one step")
	require.Len(in, whole, 1)
	expect.Equal(in, whole[0].Requests, 22)
	expect.True(in, whole[0].Start.Equal(w.Since), whole[0].Start, w.Since)
	answered := storetest.Must[[]usagedb.AnsweredUsage](t)(s.AnsweredUsage(ctx, &w))
	wantAnswered := []usagedb.AnsweredUsage{
		{
			Service: "rpc", Method: "eth_call", Class: "standard", Tier: "balanced", Billable: 9, Hits: 5,
			Units: storetest.UnitsOf(9),
		},
		{
			Service: "rpc", Method: "eth_getLogs", Class: "heavy", Tier: "balanced", Billable: 3,
			Units: storetest.UnitsOf(6),
		},
	}
	if !slices.Equal(answered, wantAnswered) {
		t.Errorf("answered were %+v, want %+v", answered, wantAnswered)
	}
	failures := storetest.Must[usagedb.Failures](t)(s.Failures(ctx, &w, 20))
	byMethod := []usagedb.FailureGroup{
		{Chain: "base_mainnet", Method: "eth_call", Requests: 4}, {
			Chain: "eth_mainnet", Method: "eth_call", Requests: 1,
		},
	}
	expect.EqualSlices(t, failures.ByReason, []usagedb.FailureGroup{
		{Reason: "rate_window", Requests: 4}, {Reason: "bad_gateway", Requests: 1},
	})
	expect.EqualSlices(t, failures.ByMethod, byMethod)
	expect.Equal(t, failures.AllReasons, 2)
	expect.Equal(t, failures.AllMethods, 2)
	failed := storetest.Must[[]usagedb.FailureStep](t)(s.FailureSteps(ctx, &w, time.Hour, byMethod[:1]))
	in = expect.In(t, "of base_mainnet, by hours, were refused")
	require.Len(in, failed, 1)
	expect.Equal(in, failed[0].Requests, 4)
	expect.Equal(in, failed[0].Chain, "base_mainnet")
	expect.True(in, failed[0].Start.Equal(turn), failed[0].Start, turn)
	w.Keys = []account.KeyID{one}
	if own := storetest.Must[usagedb.Failures](t)(s.Failures(ctx, &w, 20)); len(own.ByReason) != 1 ||
		own.ByReason[0].Reason != "bad_gateway" {
		t.Errorf("of the other key %s is told %+v", two, own)
	}
	// The account's days also count a refunded call once.
	days := storetest.Must[[]usagedb.DayUsage](t)(s.UsageByDay(ctx, id, turn, turn, account.Period{}))
	require.Len(t, days, 1)
	expect.Equal(t, days[0].Requests, 6)
	expect.Equal(t, days[0].Refused, 5)
	expect.Equal(t, days[0].Standard, storetest.UnitsOf(1))
}

func TestFailedCalls_AreTheNewestOfTheirKeysAndNothingElse(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, one, two := account.NewID(), account.NewKeyID(), account.NewKeyID()
	at := time.Now().UTC().Truncate(time.Second)
	callAt := func(ago time.Duration, of account.ID, key account.KeyID, class, outcome string) usagedb.Call {
		return usagedb.Call{
			RequestID: uuid.Must(uuid.NewV7()), StartedAt: at.Add(-ago), Account: of, Key: key, Chain: "eth_mainnet",
			Service: "rpc", Method: "eth_call", Class: class, Outcome: outcome, HTTPStatus: 429,
			Duration: 1500 * time.Microsecond,
		}
	}
	calls := []usagedb.Call{
		callAt(time.Second, id, one, "standard", "rate_window"),
		callAt(2*time.Second, id, two, "standard", "upstream_timeout"),
		callAt(3*time.Second, id, one, "standard", "rate_window"), callAt(4*time.Second, id, one, "standard", "ok"),
		callAt(5*time.Second, id, one, "standard", "hit"), callAt(6*time.Second, id, one, "standard", "client_gone"),
		callAt(7*time.Second, id, one, "management", "field_refused"),
		callAt(8*time.Second, account.NewID(), one, "standard", "rate_window"),
		callAt(48*time.Hour, id, one, "standard", "rate_window"),
	}
	if err := s.CopyCalls(ctx, calls); err != nil {
		t.Fatal(err)
	}
	w := usagedb.UsageWindow{Account: id, Since: at.Add(-24 * time.Hour)}
	ids := func(limit int) string {
		var list []string
		for _, c := range storetest.Must[[]usagedb.Call](t)(s.FailedCalls(ctx, &w, at, limit)) {
			list = append(list, c.RequestID.String())
		}
		return strings.Join(list, " ")
	}
	first, second, third := calls[0].RequestID.String(), calls[1].RequestID.String(), calls[2].RequestID.String()
	if got, want := ids(20), first+" "+second+" "+third; got != want {
		t.Errorf("failed are %s, want %s", got, want)
	}
	if got := ids(1); got != first {
		t.Errorf("the newest is %s, want %s", got, first)
	}
	w.Keys = []account.KeyID{two}
	if got := ids(20); got != second {
		t.Errorf("of the second key are %s, want %s", got, second)
	}
	c := storetest.Must[[]usagedb.Call](t)(s.FailedCalls(ctx, &w, at, 1))[0]
	expect.Equal(t, c.Outcome, "upstream_timeout")
	expect.Equal(t, c.HTTPStatus, 429)
	expect.Equal(t, c.Duration, 1500*time.Microsecond)
	expect.Equal(t, c.Method, "eth_call")
}

// The failures of an account with many calls and few failures are read from their own index; no
// other row is read.
func TestFailedCalls_AreReadFromTheirIndex(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, testkit.Postgres(t)))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	id := uuid.New()
	_, err := conn.Exec(ctx,
		`INSERT INTO calls SELECT gen_random_uuid(), 0, now() - n * interval '1 second', $1, $1, 'eth_mainnet', 'rpc', 'eth_call', 'standard', '',
		CASE WHEN n % 500 = 0 THEN 'rate_window' ELSE 'ok' END, 200, 1000, '', 1, 1, 1, 1 FROM generate_series(1, 20000) AS n`, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "ANALYZE calls"); err != nil {
		t.Fatal(err)
	}
	for what, keys := range map[string]string{
		"an account": "", "an agent without failures": fmt.Sprintf("AND key_id = ANY('{%s}'::uuid[])", uuid.New()),
	} {
		rows, err := conn.Query(ctx,
			fmt.Sprintf(
				`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT request_id FROM calls WHERE account_id = '%s' %s
			AND started_at >= now() - interval '1 day' AND started_at < now() AND outcome NOT IN ('ok', 'hit', 'client_gone') AND class <> 'management'
			ORDER BY started_at DESC, request_id, batch_index LIMIT 20`, id, keys))
		if err != nil {
			t.Fatal(err)
		}
		lines := storetest.Must[[]string](t)(pgx.CollectRows(rows, pgx.RowTo[string]))
		// Rows removed by a filter were read; rows outside an index condition were not.
		plan := strings.Join(lines, "\n")
		in := expect.In(t, "the plan of %s", what)
		expect.Contains(in, plan, "calls_default_account_id_started_at_key_id_idx")
		expect.NotContains(in, plan, "Seq Scan")
		expect.NotContains(in, plan, "Removed")
	}
}

// The sum drawn from packs is read whenever an account is loaded, so years of usage must cost only
// the rows of packs.
func TestPackUsage_IsReadFromItsIndex(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	conn := storetest.Must[*pgx.Conn](t)(pgx.Connect(ctx, testkit.Postgres(t)))
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	id := uuid.New()
	_, err := conn.Exec(ctx,
		`INSERT INTO account_days SELECT $1, '2026-01-01', '2026-01-01Z'::timestamptz + n / 100 * interval '1 day', 'eth_mainnet', 'rpc', n::text, 'standard', 'ok',
		CASE WHEN n % 500 = 0 THEN 'pack:one' ELSE 'plan' END, '', 1, 1 FROM generate_series(1, 20000) AS n`, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "ANALYZE account_days"); err != nil {
		t.Fatal(err)
	}
	query := storetest.Must[[]byte](t)(os.ReadFile("../queries/usage.sql"))
	_, rest, _ := strings.Cut(string(query), "-- name: SumPacks :many\n")
	sum, _, _ := strings.Cut(rest, ";")
	sum = strings.NewReplacer("sqlc.arg(account)", "$1", "sqlc.arg(sources)", "$2").Replace(sum)
	rows, err := conn.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+sum, id, []string{"pack:one"})
	if err != nil {
		t.Fatal(err)
	}
	if plan := strings.Join(storetest.Must[[]string](t)(pgx.CollectRows(rows, pgx.RowTo[string])),
		"\n"); !strings.Contains(plan,
		"account_days_from_packs") || strings.Contains(plan, "Seq Scan") {
		t.Errorf("the plan is\n%s", plan)
	}
}
