package statement_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/statement"
	"github.com/chainaccess/gateway/store"
)

// subscribe begins a subscription at an instant, which is noticed at another one, by the clock of who does.
func (d *desk) subscribe(a *store.Account, began, noticed string) {
	d.t.Helper()
	by := store.Author{Actor: "test", Origin: "test", At: at(d.t, noticed)}
	changed, err := d.store.ChangeAccount(d.ctx, a.ID, "entitle", by, func(a *store.Account) error {
		a.Plan, a.Cycle = plan.Pro, plan.Cycle{Anchor: at(d.t, began)}
		return nil
	})
	d.must(err)
	*a = changed
}

// A cut that is noticed long after the end that Stripe tells does not close the period before the usage that was counted into it meanwhile is recorded.
func TestACutPeriodIsClosedOnceUsageIsRecordedPastTheCut(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-11-10T15:00:10Z")
	a := d.owner(store.KindOwner, "2026-11-03T09:00:00Z")
	key := d.key(a.ID, "indexer")
	d.subscribe(&a, "2026-11-10T12:00:00Z", "2026-11-10T15:00:00Z")
	d.flushed("2026-11-10T14:59:50Z")
	const cut = "2026-11-01"
	if s := d.get(a, cut); s.Status != statement.Closing {
		t.Errorf("when the cut was just made it is %s", wire(t, s))
	}
	closeOne := func() statement.Outcome {
		t.Helper()
		out, err := d.CloseOne(d.ctx, store.UsagePeriod{Account: a.ID, Period: cut}, statement.Ended{At: at(t, "2026-11-10T12:00:00Z"), Plan: plan.Free})
		d.must(err)
		return out
	}
	if out := closeOne(); out.Closed || !out.Due.Equal(at(t, "2026-11-10T15:05:00Z")) || !out.Ends.Equal(at(t, "2026-11-10T12:00:00Z")) {
		t.Errorf("closing it came to %+v", out)
	}
	// What was counted until the cut was in force, flushed later.
	d.use(a.ID, "2026-11-10T15:00:09Z", account.UsageLine{
		Period: cut, Key: key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard", Outcome: "ok", Source: "plan", Tier: "balanced",
		Requests: 9, Units: 9_000,
	})
	d.wait("2026-11-10T15:04:59Z")
	if r := d.close(a); r != (statement.Report{Waiting: 1}) {
		t.Errorf("before the grace is over: %+v", r)
	}
	d.wait("2026-11-10T15:05:00Z")
	if out := closeOne(); !out.Closed {
		t.Errorf("after it: %+v", out)
	}
	if s := d.get(a, cut); s.Totals.Requests != 9 || s.Plan != plan.Free || !s.EndsAt.Equal(at(t, "2026-11-10T12:00:00Z")) {
		t.Errorf("frozen is %s", wire(t, s))
	}
	// Cut again under the same name, later: the later cut counts.
	second := d.owner(store.KindOwner, "2026-11-03T09:00:00Z")
	d.exec(`INSERT INTO ended_periods (account_id, period, starts_at, ends_at, plan, cut_at) VALUES ($1, '2026-11-01', $2, $3, 'free', $4)`,
		second.ID.UUID, at(t, "2026-11-01T00:00:00Z"), at(t, "2026-11-01T01:00:00Z"), at(t, "2026-11-01T02:00:00Z"))
	d.subscribe(&second, "2026-11-09T12:00:00Z", "2026-11-10T16:00:00Z")
	if r := d.close(second); r != (statement.Report{Waiting: 1}) {
		t.Errorf("cut twice: %+v", r)
	}
	d.clock.Advance(time.Hour)
	d.flushed("2026-11-10T16:05:00Z")
	if r := d.close(second); r != (statement.Report{Closed: 1}) {
		t.Errorf("cut twice, after the grace: %+v", r)
	}
}
