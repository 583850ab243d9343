package statement_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// customers makes accounts with usage in October and November.
func (d *desk) customers(n int) []accountdb.Account {
	d.t.Helper()
	all := make([]accountdb.Account, n)
	for i := range all {
		all[i] = d.owner(accountdb.KindOwner, "2026-10-03T09:00:00Z")
		key := d.key(all[i].ID, "k")
		d.use(all[i].ID, "2026-10-20T11:00:00Z", line("2026-10-01", key, "eth_mainnet", "standard", "ok", "plan", 7,
			7_000))
		d.use(all[i].ID, "2026-11-20T11:00:00Z", line("2026-11-01", key, "eth_mainnet", "standard", "ok", "plan", 9,
			9_000))
	}
	return all
}

// sweepAll sweeps in pages of a size until the end.
func (d *desk) sweepAll(page int) (sum statement.Swept, pages int) {
	d.t.Helper()
	for !sum.End {
		swept, err := d.Sweep(d.ctx, sum.Last, page, func() {}, slog.New(slog.DiscardHandler))
		d.must(err)
		sum.Add(&swept)
		pages++
	}
	return sum, pages
}

func (d *desk) count(sql string) (n int) {
	d.t.Helper()
	d.must(d.conn.QueryRow(d.ctx, sql).Scan(&n))
	return n
}

func TestSweep_KilledOneLeavesWholeStatementsAndGoesOn(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-02T00:00:00Z")
	d.customers(7)
	d.flushed("2026-11-01T00:05:00Z")
	sum, pages := d.sweepAll(3)
	in := expect.In(t, "October")
	expect.Equal(in, sum.Closed, 7)
	expect.Equal(in, sum.Waiting, 7)
	expect.Equal(in, sum.Accounts, 7)
	expect.Equal(in, pages, 3)
	d.exec("INSERT INTO usage_hours SELECT account_id, period, hour, key_id, agent, chain, service, 'late', class, " +
		"outcome, source, tier, 1, 1000 FROM usage_hours WHERE period = '2026-10-01'")
	d.exec("UPDATE usage_periods SET requests = requests + 1, billable = billable + 1, units = units + 1000, " +
		"plan_units = plan_units + 1000 WHERE period = '2026-10-01'")
	d.flushed("2026-12-02T00:00:00Z")
	// Killed at a point of the reading, the writing, or the commit.
	for after := time.Duration(0); d.count("SELECT count(*) FROM statements WHERE period = '2026-11-01'") ==
		0; after += 2 * time.Millisecond {
		ctx, kill := context.WithTimeout(d.ctx, after)
		_, err := d.Sweep(ctx, account.ID{}, 3, func() {}, slog.New(slog.DiscardHandler))
		kill()
		closed := d.count("SELECT count(*) FROM statements WHERE period = '2026-11-01'")
		if adjusted := d.count("SELECT count(*) FROM statement_adjustments"); closed != adjusted || closed%3 != 0 {
			t.Fatalf("killed after %s (%v): %d statements and %d adjustments", after, err, closed, adjusted)
		}
	}
	sum, _ = d.sweepAll(3)
	expect.Equal(t, sum.Closed, 4)
	expect.Equal(t, sum.Adjusted, 4)
	expect.Equal(t, sum.Failed, 0)
	if sum, _ := d.sweepAll(1000); sum.Closed != 0 || sum.Adjusted != 0 {
		t.Errorf("again: %+v", sum)
	}
	if differing := d.count(`SELECT count(*) FROM usage_periods AS p JOIN statements AS s USING (account_id, period)
		LEFT JOIN statement_adjustments AS a USING (account_id, period) WHERE p.requests <> s.requests + coalesce(a.requests, 0) OR p.units <> s.units + coalesce(a.units, 0)`); differing != 0 {
		t.Errorf("%d periods differ from their usage", differing)
	}
}

func TestSweep_AccountThatCannotBeClosedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-02T00:00:00Z")
	all := d.customers(5)
	d.flushed("2026-11-01T00:05:00Z")
	d.close(all...)
	// The frozen statement of one cannot be read any more, which late usage requires.
	d.exec("UPDATE statements SET content = 'x', content_hash = sha256('x') WHERE account_id = $1", all[2].ID.UUID)
	d.use(all[2].ID, "2026-11-20T11:00:00Z", line("2026-10-01", account.NewKeyID(), "eth_mainnet", "standard", "ok",
		"plan", 1, 1_000))
	d.flushed("2026-12-02T00:00:00Z")
	var log strings.Builder
	swept, err := d.Sweep(d.ctx, account.ID{}, 100, func() {}, slog.New(slog.NewTextHandler(&log, nil)))
	d.must(err)
	expect.Equal(t, swept.Closed, 4)
	expect.Equal(t, swept.Failed, 1)
	expect.Contains(t, log.String(), all[2].ID.String())
	if got := d.get(all[3], "2026-11-01"); got.Status != statement.Closed {
		t.Errorf("another account has %s", wire(t, got))
	}
}

func TestClose_OfOnePeriodSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-02T00:00:00Z")
	a := d.owner(accountdb.KindDoor, "2026-11-03T09:00:00Z")
	ref := usagedb.UsagePeriod{Account: a.ID, Period: "2026-11-01"}
	ended := statement.Ended{At: at(t, "2026-12-01T00:00:00Z"), Plan: "scale"}
	one := func(ref usagedb.UsagePeriod) statement.Outcome {
		t.Helper()
		out, err := d.CloseOne(d.ctx, ref, ended)
		d.must(err)
		return out
	}
	out := one(ref)
	in := expect.In(t, "before any flush")
	expect.True(in, out.Known)
	expect.False(in, out.Closed)
	expect.True(in, out.Ends.Equal(ended.At), out.Ends, ended.At)
	d.flushed("2026-12-01T00:05:00Z")
	out = one(ref)
	in = expect.In(t, "closed")
	expect.True(in, out.Closed)
	expect.HasPrefix(in, out.Hash, "sha256:")
	expect.Equal(in, out, one(ref))
	if s := d.get(a, ref.Period); s.Plan != plan.Free || s.ContentHash != out.Hash {
		t.Errorf("it is %s", wire(t, s))
	}
	for _, none := range []usagedb.UsagePeriod{
		{Account: a.ID, Period: "2026-11-02"}, {Account: account.NewID(), Period: "2026-11-01"},
	} {
		if out := one(none); out != (statement.Outcome{}) {
			t.Errorf("of %v: %+v", none, out)
		}
	}
}
