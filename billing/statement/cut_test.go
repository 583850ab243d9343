package statement_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// subscribe begins a subscription at an instant and records it at a later one.
func (d *desk) subscribe(a *accountdb.Account, began, noticed string) {
	d.t.Helper()
	by := accountdb.Author{Actor: "test", Origin: "test", At: at(d.t, noticed)}
	changed, err := d.store.ChangeAccount(d.ctx, a.ID, "entitle", by, func(a *accountdb.Account) error {
		a.Plan, a.Cycle = plan.Pro, plan.Cycle{Anchor: at(d.t, began)}
		return nil
	})
	d.must(err)
	*a = changed
}

// A cut that is noticed long after Stripe's end does not close the period before the usage that
// counted in it meanwhile is recorded.
func TestStatement_CutPeriodClosesOnceUsageIsRecordedPastTheCut(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-11-10T15:00:10Z")
	a := d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z")
	key := d.key(a.ID, "indexer")
	d.subscribe(&a, "2026-11-10T12:00:00Z", "2026-11-10T15:00:00Z")
	d.flushed("2026-11-10T14:59:50Z")
	const cut = "2026-11-01"
	if s := d.get(a, cut); s.Status != statement.Closing {
		t.Errorf("when the cut was just made it is %s", wire(t, s))
	}
	closeOne := func() statement.Outcome {
		t.Helper()
		out, err := d.CloseOne(d.ctx, usagedb.UsagePeriod{Account: a.ID, Period: cut},
			statement.Ended{At: at(t, "2026-11-10T12:00:00Z"), Plan: plan.Free})
		d.must(err)
		return out
	}
	out := closeOne()
	expect.False(t, out.Closed)
	expect.True(t, out.Due.Equal(at(t, "2026-11-10T15:05:00Z")), out.Due)
	expect.True(t, out.Ends.Equal(at(t, "2026-11-10T12:00:00Z")), out.Ends)
	// What was counted until the cut was in force, flushed later.
	d.use(a.ID, "2026-11-10T15:00:09Z", account.UsageLine{
		Period: cut, Key: key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
		Outcome: "ok", Source: "plan", Tier: "balanced", Requests: 9, Units: 9_000,
	})
	d.wait("2026-11-10T15:04:59Z")
	if r := d.close(a); r != (statement.Report{Waiting: 1}) {
		t.Errorf("before the grace is over: %+v", r)
	}
	d.wait("2026-11-10T15:05:00Z")
	if out := closeOne(); !out.Closed {
		t.Errorf("after it: %+v", out)
	}
	s := d.get(a, cut)
	expect.Equal(t, s.Totals.Requests, 9)
	expect.Equal(t, s.Plan, plan.Free)
	expect.True(t, s.EndsAt.Equal(at(t, "2026-11-10T12:00:00Z")), s.EndsAt)
	// Cut again under the same name: the later cut applies.
	second := d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z")
	d.exec(`INSERT INTO ended_periods (account_id, period, starts_at, ends_at, plan, cut_at) VALUES ($1, `+
		`'2026-11-01', $2, $3, 'free', $4)`,
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

// A plan that an operator set later is the plan of a period that was not cut.
func TestStatement_PlanOfAnUncutPeriodComesFromTheRecord(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-01T00:10:00Z")
	a := d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z")
	_, err := d.store.ChangeAccount(d.ctx, a.ID, "set_plan", accountdb.Author{Actor: "test", Origin: "test"},
		func(a *accountdb.Account) error {
			a.Plan = plan.Builder
			return nil
		})
	d.must(err)
	// PostgreSQL's clock dates the changes.
	d.exec("UPDATE audit_log SET at = $2 WHERE account_id = $1", a.ID.UUID, at(t, "2026-11-20T12:00:00Z"))
	d.flushed("2026-12-01T00:10:00Z")
	out, err := d.CloseOne(d.ctx, usagedb.UsagePeriod{Account: a.ID, Period: "2026-11-01"},
		statement.Ended{At: at(t, "2026-12-01T00:00:00Z"), Plan: plan.Free})
	d.must(err)
	if s := d.get(d.load(a.ID), "2026-11-01"); !out.Closed || s.Plan != plan.Builder {
		t.Errorf("closed %t, it is %s", out.Closed, wire(t, s))
	}
}

// A page where more accounts fail than a passing failure explains is an error, until SweepOn
// continues without them.
func TestSweep_FailingAccountsDoNotHoldUpThoseBehindThem(t *testing.T) {
	t.Parallel()
	d := open(t, "2026-12-02T00:00:00Z")
	d.flushed("2026-12-02T00:00:00Z")
	var all []accountdb.Account
	for range 24 {
		all = append(all, d.owner(accountdb.KindOwner, "2026-11-03T09:00:00Z"))
	}
	// No statement can be stored for the first ones.
	for _, a := range all[:22] {
		d.use(a.ID, "2026-11-20T11:00:00Z", line("2026-11-01", account.NewKeyID(), "eth_mainnet", "standard", "ok",
			"plan", 1, 1_000))
	}
	d.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF EXISTS (SELECT FROM usage_periods AS u WHERE u.account_id = NEW.account_id) THEN RAISE EXCEPTION 'not this one'; END IF; RETURN NEW; END $$`)
	d.exec("CREATE TRIGGER refuse BEFORE INSERT ON statements FOR EACH ROW EXECUTE FUNCTION refuse()")
	quiet := slog.New(slog.DiscardHandler)
	if swept, err := d.Sweep(d.ctx, account.ID{}, 24, func() {}, quiet); err == nil {
		t.Errorf("the page is done with %+v", swept)
	}
	swept, err := d.SweepOn(d.ctx, account.ID{}, 24, func() {}, quiet)
	d.must(err)
	in := expect.In(t, "told to go")
	expect.Equal(in, swept.Failed, 22)
	expect.Equal(in, swept.Closed, 2)
	expect.Equal(in, swept.Last, all[23].ID)
}
