package usagedb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

// usedLine is a committed line with its hour, which these tests sum by themselves.
type usedLine struct {
	hour time.Time
	account.UsageLine
}

// timed is a committed duration with its hour.
type timed struct {
	hour time.Time
	account.LatencyLine
}

// ledgerOf is an account with forty days of generated usage: across the end of a month and of a
// subscription's period at noon, with refunds of calls of the previous period, and with hours that
// are flushed long after their end.
type ledgerOf struct {
	id    account.ID
	keys  []account.KeyID
	start time.Time
	lines []usedLine
	times []timed
}

const generatedDays = 40

func generate(ctx context.Context, t *testing.T, s *store.Store) *ledgerOf {
	t.Helper()
	r := rand.New(rand.NewPCG(29, 30)) //nolint:gosec // a fixed seed
	g := &ledgerOf{
		id: account.NewID(), keys: []account.KeyID{account.NewKeyID(), account.NewKeyID(), account.NewKeyID()},
		start: time.Date(2026, time.October, 10, 0, 0, 0, 0, time.UTC),
	}
	var buckets []account.UsageBucket
	for n := range 900 {
		at := g.start.Add(time.Duration(r.IntN(generatedDays*24*360)) * 10 * time.Second)
		b := account.UsageBucket{Shard: 7, Slot: at, Account: g.id, Generation: fmt.Sprint(n)}
		for range 1 + r.IntN(4) {
			l := g.line(r, at)
			b.Lines = append(b.Lines, l)
			g.lines = append(g.lines, usedLine{at.Truncate(time.Hour), l})
			took := tookOf(l.Key, l.Chain, []string{"ok", "hit"}[r.IntN(2)],
				time.Duration(1+r.IntN(2000))*time.Millisecond, 1+r.Int64N(9))
			b.Latencies = append(b.Latencies, took)
			g.times = append(g.times, timed{at.Truncate(time.Hour), took})
		}
		buckets = append(buckets, b)
	}
	other := g.line(r, g.start)
	other.Key = account.NewKeyID()
	buckets = append(buckets, bucketOf(account.NewID(), g.start.Add(20*day), "other", other))
	for len(buckets) > 0 { // in random order, several at once, some twice
		n := min(len(buckets), 1+r.IntN(200))
		commit(ctx, t, s, buckets[:n]...)
		commit(ctx, t, s, buckets[:r.IntN(n)]...)
		buckets = buckets[n:]
	}
	return g
}

const day = 24 * time.Hour

func (g *ledgerOf) line(r *rand.Rand, at time.Time) account.UsageLine {
	period, before := "2026-10-01", "2026-10-01"
	switch {
	case !at.Before(time.Date(2026, time.November, 5, 12, 0, 0, 0, time.UTC)): // noon
		period, before = "2026-11-05", "2026-11-01"
	case !at.Before(time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)):
		period = "2026-11-01"
	}
	outcomes := []struct {
		outcome, source string
		sign            int64
	}{
		{"ok", "plan", 1},
		{"ok", "pack:" + g.id.String(), 1},
		{"refund", "plan", -1},
		{"hit", "", 0},
		{"rate_window", "", 0},
		{"bad_gateway", "", 0},
	}
	o := outcomes[r.IntN(len(outcomes))]
	if o.outcome == "refund" && r.IntN(2) == 0 { // of a call of the previous period
		period = before
	}
	l := windowed(g.keys[r.IntN(len(g.keys))], period, []string{"eth_mainnet", "base_mainnet", ""}[r.IntN(3)],
		[]string{"eth_call", "eth_getLogs", ""}[r.IntN(3)], []string{"standard", "heavy", "toolbox"}[r.IntN(3)],
		o.outcome, o.source, 1+r.Int64N(9), 0)
	l.Service, l.Tier = []string{"rpc", "utils"}[r.IntN(2)], []string{"balanced", "fast"}[r.IntN(2)]
	l.Units = storetest.UnitsOf(o.sign * l.Requests)
	if o.outcome == "refund" {
		l.Requests = -l.Requests
	}
	return l
}

// sift returns the lines in a window.
func (g *ledgerOf) sift(w *usagedb.UsageWindow) (in []usedLine) {
	for _, l := range g.lines {
		if !l.hour.Before(w.Since.Truncate(time.Hour)) && (w.Keys == nil || slices.Contains(w.Keys, l.Key)) &&
			(w.Chain == "" || w.Chain == l.Chain) &&
			(w.Period.Start.IsZero() || w.Period.Key() == l.Period) {
			in = append(in, l)
		}
	}
	return in
}

func refused(outcome string) bool { return outcome != "ok" && outcome != "hit" && outcome != "refund" }

func sumsOf(lines []usedLine) (s usagedb.UsageSums) {
	for i := range lines {
		l := &lines[i]
		s.Requests, s.Units = s.Requests+l.Requests, s.Units+l.Units
		switch l.Outcome {
		case "ok", "refund":
			s.Billable += l.Requests
		case "hit":
			s.Hits += l.Requests
		}
	}
	return s
}

// tallied sums lines by name, as text. Groups whose sums are all zero are omitted.
func tallied[T any](all []T, name func(*T) (name string, figures []int64)) string {
	sums := map[string][]int64{}
	for i := range all {
		word, figures := name(&all[i])
		if sums[word] == nil {
			sums[word] = make([]int64, len(figures))
		}
		for j, f := range figures {
			sums[word][j] += f
		}
	}
	var text []string
	for word, figures := range sums {
		if slices.ContainsFunc(figures, func(n int64) bool { return n != 0 }) {
			text = append(text, fmt.Sprint(word, " ", figures))
		}
	}
	slices.Sort(text)
	return strings.Join(text, "\n")
}

func figuresOf(s usagedb.UsageSums) []int64 {
	return []int64{s.Requests, s.Billable, s.Hits, int64(s.Units)}
}

func groupsBy(name func(*usedLine) string) func(*usedLine) (string, []int64) {
	return func(l *usedLine) (string, []int64) { return name(l), figuresOf(sumsOf([]usedLine{*l})) }
}

// windows returns windows of many lengths, aligned and not, of the account, of keys and of chains.
func (g *ledgerOf) windows() (all []usagedb.UsageWindow) {
	end := g.start.Add(generatedDays * day)
	for _, since := range []time.Time{
		g.start, g.start.Add(10 * day), g.start.Add(10*day + time.Hour), g.start.Add(11*day - time.Minute),
		end.Add(-30 * day), end.Add(-7*day - 6*time.Hour), end.Add(-day - 5*time.Hour), end.Add(-day),
		end.Add(-3 * time.Hour), time.Date(2026, time.November, 5, 12, 0, 0, 0, time.UTC),
	} {
		for _, keys := range [][]account.KeyID{nil, g.keys[:1], g.keys[1:], {}} {
			all = append(all, usagedb.UsageWindow{Account: g.id, Since: since, Keys: keys},
				usagedb.UsageWindow{Account: g.id, Since: since, Keys: keys, Chain: "base_mainnet"})
		}
	}
	// including the midnight before it
	began := account.Period{Start: time.Date(2026, time.November, 5, 12, 0, 0, 0, time.UTC)}
	for _, keys := range [][]account.KeyID{nil, g.keys[:1]} {
		all = append(all, usagedb.UsageWindow{
			Account: g.id, Since: began.Start.Truncate(day), Keys: keys,
			Period: began,
		})
	}
	return all
}

func TestUsage_DaysAreTheSumsOfTheirHours(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	ctx, s := storetest.Open(t)
	g := generate(ctx, t, s)
	for _, w := range g.windows() {
		name := fmt.Sprintf("since %s, %d keys, chain %q", w.Since.Format(time.RFC3339), len(w.Keys), w.Chain)
		in := g.sift(&w)
		same := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", name, what, got, want)
			}
		}
		report := storetest.Must[usagedb.UsageReport](t)(s.ReportUsage(ctx, &w, 1000))
		if want := sumsOf(in); report.Whole != want {
			t.Errorf("%s: the whole is %+v, want %+v", name, report.Whole, want)
		}
		group := func(word func(*usagedb.UsageGroup) string) func(*usagedb.UsageGroup) (string, []int64) {
			return func(u *usagedb.UsageGroup) (string, []int64) { return word(u), figuresOf(u.UsageSums) }
		}
		same("by class", tallied(report.ByClass.Groups, group(func(u *usagedb.UsageGroup) string { return u.Class })),
			tallied(in, groupsBy(func(l *usedLine) string { return l.Class })))
		same("by key", tallied(report.ByKey.Groups,
			group(func(u *usagedb.UsageGroup) string { return u.Key.String() })),
			tallied(in, groupsBy(func(l *usedLine) string { return l.Key.String() })))
		same("by method", tallied(report.ByMethod.Groups,
			group(func(u *usagedb.UsageGroup) string { return u.Method })),
			tallied(in, groupsBy(func(l *usedLine) string { return l.Method })))
		same("by chain", tallied(report.ByChain.Groups, group(func(u *usagedb.UsageGroup) string { return u.Chain })),
			tallied(in, groupsBy(func(l *usedLine) string { return l.Chain })))

		same("answered", tallied(storetest.Must[[]usagedb.AnsweredUsage](t)(s.AnsweredUsage(ctx, &w)),
			func(a *usagedb.AnsweredUsage) (string, []int64) {
				return fmt.Sprint(a.Service, a.Method, a.Class, a.Tier), []int64{a.Billable, a.Hits, int64(a.Units)}
			}), tallied(in, func(l *usedLine) (string, []int64) {
			of := sumsOf([]usedLine{*l})
			return fmt.Sprint(l.Service, l.Method, l.Class, l.Tier), []int64{of.Billable, of.Hits, int64(of.Units)}
		}))
		g.holdSteps(ctx, t, s, &w, name)
		g.holdFailures(ctx, t, s, &w, name)
		g.holdLatency(ctx, t, s, &w, name)
	}
	g.holdSums(ctx, t, s)
}

func (g *ledgerOf) holdSteps(ctx context.Context, t *testing.T, s *store.Store, w *usagedb.UsageWindow, name string) {
	t.Helper()
	since := w.Since.Truncate(time.Hour)
	for _, step := range []time.Duration{time.Hour, 6 * time.Hour, day, 2 * day} {
		got := tallied(storetest.Must[[]usagedb.UsageStep](t)(s.UsageSteps(ctx, w, step)),
			func(u *usagedb.UsageStep) (string, []int64) {
				return u.Start.Format(time.RFC3339), append(figuresOf(u.UsageSums), int64(u.PackUnits), u.Computed)
			})
		want := tallied(g.sift(w), func(l *usedLine) (string, []int64) {
			of := sumsOf([]usedLine{*l})
			var pack, computed int64
			if strings.HasPrefix(l.Source, "pack:") {
				pack = int64(l.Units)
			}
			if l.Service == "utils" {
				computed = of.Billable
			}
			return since.Add(l.hour.Sub(since).Truncate(step)).Format(time.RFC3339), append(figuresOf(of), pack,
				computed)
		})
		if got != want {
			t.Errorf("%s, by steps of %s:\n%s\nwant\n%s", name, step, got, want)
		}
	}
}

func (g *ledgerOf) holdFailures(ctx context.Context, t *testing.T, s *store.Store, w *usagedb.UsageWindow,
	name string,
) {
	t.Helper()
	failed := slices.DeleteFunc(g.sift(w), func(l usedLine) bool { return !refused(l.Outcome) })
	failures := storetest.Must[usagedb.Failures](t)(s.Failures(ctx, w, 1000))
	count := func(f *usagedb.FailureGroup) (string, []int64) {
		return f.Reason + " " + f.Chain + " " + f.Method, []int64{f.Requests}
	}
	if got, want := tallied(failures.ByReason, count), tallied(failed, func(l *usedLine) (string, []int64) {
		return l.Outcome + "  ", []int64{l.Requests}
	}); got != want {
		t.Errorf("%s, by reason:\n%s\nwant\n%s", name, got, want)
	}
	if got, want := tallied(failures.ByMethod, count), tallied(failed, func(l *usedLine) (string, []int64) {
		return " " + l.Chain + " " + l.Method, []int64{l.Requests}
	}); got != want {
		t.Errorf("%s, by method:\n%s\nwant\n%s", name, got, want)
	}
	since, of := w.Since.Truncate(time.Hour), failures.ByMethod[:min(len(failures.ByMethod), 3)]
	for _, step := range []time.Duration{6 * time.Hour, day} {
		got := tallied(storetest.Must[[]usagedb.FailureStep](t)(s.FailureSteps(ctx, w, step, of)),
			func(f *usagedb.FailureStep) (string, []int64) {
				return f.Start.Format(time.RFC3339) + f.Chain + " " + f.Method, []int64{f.Requests}
			})
		want := tallied(failed, func(l *usedLine) (string, []int64) {
			n := l.Requests
			if !slices.ContainsFunc(of, func(f usagedb.FailureGroup) bool {
				return f.Chain == l.Chain && f.Method == l.Method
			}) {
				n = 0
			}
			return since.Add(l.hour.Sub(since).Truncate(step)).Format(time.RFC3339) + l.Chain + " " + l.Method,
				[]int64{n}
		})
		if got != want {
			t.Errorf("%s, failures by steps of %s:\n%s\nwant\n%s", name, step, got, want)
		}
	}
}

func (g *ledgerOf) holdLatency(ctx context.Context, t *testing.T, s *store.Store, w *usagedb.UsageWindow, name string) {
	t.Helper()
	since := w.Since.Truncate(time.Hour)
	for _, q := range []usagedb.LatencyQuery{
		{Until: g.start.Add(generatedDays * day)},
		{Until: since.Add(3*time.Hour + time.Minute), ByChain: true},
		{Until: since.Add(8*day + 5*time.Hour), ByChain: true, Step: day},
		{Until: since.Add(3*day + 30*time.Minute), ByKey: true, ByChain: true, Step: 6 * time.Hour},
		{Until: since.Add(9 * day), ByKey: true},
	} {
		q.Account, q.Since, q.Keys, q.Chain = g.id, w.Since, w.Keys, w.Chain
		text := func(key account.KeyID, on string, start time.Time, outcome string, bucket int) string {
			if !q.ByKey {
				key = account.KeyID{}
			}
			if !q.ByChain {
				on = ""
			}
			if q.Step == 0 {
				start = since
			} else {
				start = since.Add(start.Sub(since).Truncate(q.Step))
			}
			return fmt.Sprint(key, on, start.Format(time.RFC3339), outcome, bucket)
		}
		type cell struct {
			name  string
			calls int64
		}
		var got, want []cell
		for _, f := range storetest.Must[[]usagedb.LatencyFigures](t)(s.Latency(ctx, q)) {
			for bucket := range f.Relayed {
				got = append(got, cell{text(f.Key, f.Chain, f.Start, "ok", bucket), f.Relayed[bucket]},
					cell{text(f.Key, f.Chain, f.Start, "hit", bucket), f.Hits[bucket]})
			}
		}
		for _, l := range g.times {
			if !l.hour.Before(since) && l.hour.Before(q.Until) && (q.Keys == nil || slices.Contains(q.Keys, l.Key)) &&
				(q.Chain == "" || q.Chain == l.Chain) {
				want = append(want, cell{text(l.Key, l.Chain, l.hour, l.Outcome, l.Bucket), l.Calls})
			}
		}
		figures := func(c *cell) (string, []int64) { return c.name, []int64{c.calls} }
		if got, want := tallied(got, figures), tallied(want, figures); got != want {
			t.Errorf("%s, latency until %s by steps of %s:\n%s\nwant\n%s", name, q.Until, q.Step, got, want)
		}
	}
}

// holdSums compares the sums by day, service, reason and period.
func (g *ledgerOf) holdSums(ctx context.Context, t *testing.T, s *store.Store) {
	t.Helper()
	for _, since := range []time.Time{g.start.Add(3*day + 7*time.Hour), g.start.Add(38*day + time.Hour)} {
		for _, key := range []account.KeyID{{}, g.keys[2]} {
			w := usagedb.UsageWindow{Account: g.id, Since: since}
			if !key.IsZero() {
				w.Keys = []account.KeyID{key}
			}
			in := g.sift(&w)
			want := map[account.Service]int64{}
			for i := range in {
				want[account.Service(in[i].Service)] += int64(in[i].Units)
			}
			for service, units := range storetest.Must[map[account.Service]plan.Units](t)(s.SumServices(ctx, g.id, key,
				since)) {
				if want[service] != int64(units) {
					t.Errorf("service %s since %s is %d, want %d", service, since, units, want[service])
				}
			}
			got := tallied(storetest.Must[[]ticket.RefusalCount](t)(s.SumRefusals(ctx, &w)),
				func(r *ticket.RefusalCount) (string, []int64) {
					return fmt.Sprint(r.Reason, r.Chain, r.Method), []int64{r.Count}
				})
			if refusals := tallied(slices.DeleteFunc(in, func(l usedLine) bool { return !refused(l.Outcome) }),
				func(l *usedLine) (string, []int64) {
					return fmt.Sprint(l.Outcome, chain.ID(l.Chain), l.Method), []int64{l.Requests}
				}); got != refusals {
				t.Errorf("refused since %s:\n%s\nwant\n%s", since, got, refusals)
			}
		}
	}
	days := storetest.Must[[]usagedb.DayUsage](t)(s.UsageByDay(ctx, g.id, g.start, g.start.Add(generatedDays*day),
		account.Period{}))
	got := tallied(days, func(d *usagedb.DayUsage) (string, []int64) {
		return d.Day.Format(time.DateOnly), []int64{
			d.Requests, int64(d.Standard), int64(d.Heavy), int64(d.Other), d.Hits, d.Refused,
		}
	})
	want := tallied(g.lines, func(l *usedLine) (string, []int64) {
		f := []int64{l.Requests, 0, 0, 0, 0, 0}
		f[map[string]int{"standard": 1, "heavy": 2, "toolbox": 3}[l.Class]] = int64(l.Units)
		if l.Outcome == "hit" {
			f[4] = l.Requests
		}
		if refused(l.Outcome) {
			f[5] = l.Requests
		}
		return l.hour.Format(time.DateOnly), f
	})
	if got != want {
		t.Errorf("by day:\n%s\nwant\n%s", got, want)
	}
	for _, period := range []string{"2026-10-01", "2026-11-01", "2026-11-05"} {
		of := usagedb.UsagePeriod{Account: g.id, Period: period}
		if e := storetest.Must[usagedb.UsageEvidence](t)(s.UsageEvidence(ctx, of)); e.Unequal != nil ||
			e.Totals != e.Hours {
			t.Errorf("the books of %s differ: %+v, %+v and %+v", period, e.Unequal, e.Totals, e.Hours)
		}
		err := s.ReadStatements(ctx, func(b *billingdb.StatementTx) error {
			name := func(l *billingdb.StatementLine) (string, []int64) {
				n := &l.Totals
				return fmt.Sprint(l.Key, l.Agent, l.Chain, l.Class, l.Limit),
					[]int64{
						n.Requests, n.Billable, n.Hits, n.Refused, n.Refunded, int64(n.Units), int64(n.PlanUnits),
						int64(n.PackUnits),
					}
			}
			live, err := b.LiveLines(ctx, of, []string{"rate_window"})
			if err != nil {
				return err
			}
			kept, err := b.Lines(ctx, []usagedb.UsagePeriod{of}, []string{"rate_window"})
			if got, want := tallied(live, name), tallied(kept, name); got != want || want == "" {
				t.Errorf("of the days %s's statement is\n%s\nof the hours\n%s", period, got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A worker of a version without rollups would add to the hours only. Its flushes are refused, and
// wait in Redis.
func TestFlush_WithoutSumsIsRefused(t *testing.T) {
	t.Parallel()
	ctx, _, conn := setupDatabase(t)
	_, err := conn.Exec(ctx,
		"INSERT INTO usage_flushes (shard, slot, account_id, generation) VALUES (7, now(), $1, 'old')", uuid.New())
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "23502" {
		t.Errorf("it ended with %v, want it refused for a column that is not null", err)
	}
	var left int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM usage_flushes").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d entries are left, %v", left, err)
	}
}
