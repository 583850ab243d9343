package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/flush"
)

// begin starts the load.
func (r *rig) begin() {
	for _, c := range r.connections {
		r.load.Go(func() { c.run(r.stop) })
	}
}

// finish stops the load and the processes cleanly, flushes the rest, and compares the client's
// tally with PostgreSQL, and PostgreSQL with the meter.
func (r *rig) finish() {
	r.t.Helper()
	underLoad := r.audit()
	close(r.stop)
	r.load.Wait()
	testkit.Eventually(r.t, patience, func() bool {
		return r.lostCalls() == 0
	}, "calls whose reply was lost are reclaimed")
	for _, p := range append(r.serve[:], r.worker) {
		if err := errors.Join(p.Stop(r.t.Context()), p.Err()); err != nil {
			r.t.Errorf("%s did not end in order: %v: %s", p.name, err, p.Tail(5))
		}
	}
	r.flushRest()
	r.checkLogs()
	log := r.log.read(r.t)
	tally := count(log, r.outages, r.wiped.mayHaveTaken)
	lines := r.lines()
	for _, wrong := range tally.compare(lines) {
		r.t.Error(wrong)
	}
	r.wiped.check(r.t, log, lines)
	r.checkAllowances()
	r.checkCounters(log)
	r.checkTotals()
	if !r.refundsWithoutCharge(log) {
		for when, differences := range map[string]string{"under load": underLoad, "in the end": r.audit()} {
			if differences != "" {
				r.t.Errorf("gateway ops audit, %s: %s", when, differences)
			}
		}
	}
	for _, check := range r.atEnd {
		check()
	}
	r.t.Logf("%d calls: %d answered, %d hits, %d refused, %d given back, %d answered 503, %d of which nothing is "+
		"known, %d not sent; %d replies of Redis swallowed",
		len(log), tally.fates[answered], tally.fates[hit], tally.fates[refused],
		tally.fates[refunded]+tally.fates[unrefunded], tally.fates[unrelayed], tally.fates[unknown],
		tally.fates[unsent], r.proxy.lost.Load())
	for f, least := range map[fate]int64{answered: 100, refused: 20, refunded: 5, hit: 1} {
		if tally.fates[f] < least {
			r.t.Errorf("only %d calls of kind %d, want %d at least: the load proves nothing", tally.fates[f], f, least)
		}
	}
	if r.t.Failed() {
		name := strings.ReplaceAll(r.t.Name(), "/", "$/")
		r.t.Logf("go test -race ./test/chaos -run '^%s$' -seed %d -long=%t repeats the moments; -artifacts keeps the "+
			"client's log and those of the processes",
			name, *seed, *long)
	}
}

// lostCalls returns the number of calls that wait to be reclaimed.
func (r *rig) lostCalls() (n int) {
	r.t.Helper()
	if err := r.db.QueryRow(r.t.Context(), `SELECT count(*) FROM lost_calls`).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// flushRest flushes what the processes left, including open slots, until the meter holds no usage.
func (r *rig) flushRest() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := flush.New(r.meter, r.store, flush.FromStore(r.store), flush.Options{}).FlushAll(ctx); err != nil {
		r.t.Fatal(err)
	}
	for _, key := range r.scan("{u*") {
		_, name, _ := strings.Cut(key, "}:")
		in := expect.In(r.t, "after everything was flushed, the meter still holds %s", key)
		expect.NotEqual(in, name, "dirty")
		expect.NotEqual(in, name, "sealed")
		expect.False(in, strings.HasPrefix(name, "b:"), name)
		expect.False(in, strings.HasPrefix(name, "s:"), name)
	}
}

// audit runs gateway ops audit. It returns the output, or "" when everything balances.
func (r *rig) audit() string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), program(r.t), "ops", "audit") //nolint:gosec // built by the harness
	cmd.Env = slices.Concat(r.env, []string{"REDIS_URL=" + r.redis.URL})
	text, err := cmd.CombinedOutput()
	if err == nil || r.wiped != nil && onlyUnbilled(string(text)) {
		return ""
	}
	return fmt.Sprintf("%v: %s", err, text)
}

// onlyUnbilled reports whether an audit names only calls that were served and not billed, which
// happens when Redis lost everything.
func onlyUnbilled(text string) bool {
	named := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "account ") {
			if !strings.Contains(line, ": calls: ") {
				return false
			}
			named++
		}
	}
	return named > 0
}

// scan lists the keys of Redis that match.
func (r *rig) scan(match string) []string {
	r.t.Helper()
	var all []string
	iter := r.rdb.Scan(r.t.Context(), 0, match+"*", 1000).Iterator()
	for iter.Next(r.t.Context()) {
		all = append(all, iter.Val())
	}
	if err := iter.Err(); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// lines reads all usage lines from PostgreSQL.
func (r *rig) lines() []line {
	r.t.Helper()
	rows, err := r.db.Query(r.t.Context(),
		`SELECT key_id::text, method, tier, outcome, sum(requests)::bigint, sum(units)::bigint
FROM usage_hours GROUP BY key_id, method, tier, outcome`)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	var all []line
	for rows.Next() {
		var l line
		if err := rows.Scan(&l.key, &l.method, &l.tier, &l.outcome, &l.requests, &l.units); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, l)
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// checkLogs fails when a process's log contains something that must never be logged.
func (r *rig) checkLogs() {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "*.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the rig's own
		if err != nil {
			r.t.Fatal(err)
		}
		for _, bad := range []string{"DATA RACE", "panic", "usage bucket refused"} {
			if at := strings.Index(string(text), bad); at >= 0 {
				r.t.Errorf("%s: %.4000s", filepath.Base(file), text[at:])
			}
		}
	}
}

// wipe is a loss of all data in Redis.
type wipe struct {
	begun  time.Time // when the loss was triggered, by this machine's clock
	at     time.Time // when it was complete
	before []line    // PostgreSQL's lines just before the loss
}

// unflushed is how old usage may be that is not in PostgreSQL while a worker runs: two slots.
const unflushed = 20 * time.Second

// mayHaveTaken reports whether a call's lines may have been lost in the wipe.
func (w *wipe) mayHaveTaken(e *entry) bool {
	return w != nil && e.Sent <= w.at.UnixMicro() && e.Ended >= w.at.Add(-unflushed).UnixMicro()
}

// caught reports whether a call was in flight during the wipe.
func (w *wipe) caught(e *entry) bool {
	return w != nil && e.Sent <= w.at.UnixMicro() && e.Ended >= w.begun.UnixMicro()
}

// check verifies that PostgreSQL still has what it had before the wipe, and all calls that began
// after it.
func (w *wipe) check(t *testing.T, log []entry, lines []line) {
	t.Helper()
	if w == nil {
		return
	}
	var after []entry
	for _, e := range log {
		if e.Sent > w.at.UnixMicro() {
			after = append(after, e)
		}
	}
	before, now, since := sum(w.before), sum(lines), count(after, nil, nil)
	for at := range union(now.charges, since.charges) {
		least := before.charges[at]
		if s := since.charges[at]; s != nil {
			least += s.least
		}
		if now.charges[at] < least {
			t.Errorf("charges of %v: PostgreSQL has %d, want %d at least: what it had before Redis lost everything, "+
				"and what came after", at, now.charges[at], least)
		}
	}
	if since.fates[answered] == 0 {
		t.Error("no call was answered after Redis had lost everything")
	}
	t.Logf("after the wipe %d calls were answered", since.fates[answered])
}
