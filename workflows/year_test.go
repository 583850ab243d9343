package workflows_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
)

// years is how many simulated years the test runs, each with its own seed.
var years = flag.Int("years", 3, "simulated years of a subscription, one for each seed")

const day = 24 * time.Hour

// astray is how webhooks are lost, duplicated and delayed within a year.
var astray = stripe.Policy{Drop: 300, Duplicate: 200, Reorder: 300, Delay: 3 * time.Hour}

// do schedules an action, with up to an hour of random delay.
func (w *world) do(after time.Duration, what func()) {
	start := w.at
	w.script = append(w.script, step{at: start.Add(after + time.Duration(w.random.Int64N(int64(time.Hour)))), do: what})
	slices.SortStableFunc(w.script, func(a, b step) int { return a.at.Compare(b.at) })
}

// use makes calls of some units each and returns how many were admitted.
func (w *world) use(calls int, units plan.Units) (admitted int) {
	w.t.Helper()
	for range calls {
		_, a, err := w.limits.AdmitOrLoad(w.ctx, w.subject, &meter.Call{
			Units: units, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard", Tier: "balanced",
		})
		w.must(err)
		if a.Admitted {
			admitted++
			w.used[a.Receipt.Period] += units
		}
	}
	w.flush()
	return admitted
}

// buy opens a checkout and pays it.
func (w *world) buy(key string) {
	w.t.Helper()
	item, _ := plan.FindItem(key)
	now := w.now()
	c, err := w.store.OpenCheckout(w.ctx, billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: w.owner, Item: key, Country: "DE", OpenedAt: now,
		ExpiresAt: now.Add(time.Hour),
	})
	w.must(err)
	session, _, err := w.way.OpenCheckout(w.ctx, &billing.Checkout{
		ID: c.ID.String(), Account: w.owner, Customer: w.customer, Item: item, VAT: true, SuccessURL: publicURL,
		CancelURL: publicURL, Expires: c.ExpiresAt,
	})
	w.must(err)
	w.must(w.store.SetCheckoutSession(w.ctx, c.ID, session))
	w.open = append(w.open, activities.CheckoutRef{Session: session, Checkout: c.ID.String(), Account: w.owner})
	w.must(w.server.Pay(session, stripe.Visa))
}

func (w *world) account() accountdb.Account {
	w.t.Helper()
	a, err := w.store.LoadAccount(w.ctx, w.owner)
	w.must(err)
	return a
}

// onPlan returns a check that the account is on a plan.
func (w *world) onPlan(want string) func() {
	return func() {
		if a := w.account(); a.Plan != want {
			w.t.Errorf("%s: the account is on %s, want %s", w.now(), a.Plan, want)
		}
	}
}

// subscription returns the id of the account's newest subscription.
func (w *world) subscription() string {
	w.t.Helper()
	sub, err := w.store.LastSubscription(w.ctx, w.owner)
	w.must(err)
	return sub.ID
}

// change moves the subscription to another price, as the operation does.
func (w *world) change(key string, charge bool) {
	w.t.Helper()
	sub, err := w.store.LastSubscription(w.ctx, w.owner)
	w.must(err)
	item, _ := plan.FindItem(key)
	c := billing.Change{Subscription: sub.ID, Item: item, Charge: charge}
	if !charge {
		c.Held = sub.Price
	}
	w.must(w.way.ChangePrice(w.ctx, c))
}

// A customer's year: sign-up, founding Pro paid in two checkouts at once, upgrade, a declined card
// and recovery, a partly used pack, downgrade, cancellation, and a pack that is refunded while it
// is used.
func TestSubscription_YearBooksEveryUnitAndNotifiesOnce(t *testing.T) {
	t.Parallel()
	for seed := range *years {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			//nolint:gosec // a seed
			w := newWorld(t, uint64(seed), time.Date(2026, time.November, 30, 10, 0, 0, 0, time.UTC), astray)
			w.dies = 300
			w.liveAYear()
			w.live()
			w.check()
		})
	}
}

func (w *world) liveAYear() {
	w.do(0, func() { w.use(3, 1000*plan.Unit) })
	w.do(2*time.Hour, func() { w.buy("founding"); w.buy("pro_monthly") })
	w.do(2*day, w.onPlan(plan.Pro))
	for d := 3; d < 364; d += 4 {
		w.do(time.Duration(d)*day, func() {
			w.use(1+w.random.IntN(5), plan.Units(1+w.random.Int64N(20_000))*plan.Unit/2)
		})
	}
	w.do(40*day, func() { w.change("scale_monthly", true) })
	w.do(42*day, w.onPlan(plan.Scale))
	w.do(100*day, func() { w.must(w.server.SetCard(w.customer, stripe.DeclinesLater)) })
	w.do(130*day, w.onPlan(plan.Scale)) // continues while Stripe retries the charge
	w.do(132*day, func() {
		w.must(w.server.SetCard(w.customer, stripe.Visa))
		w.payOpen()
	})
	w.do(134*day, w.onPlan(plan.Scale))
	w.do(170*day, func() { w.buy("pack_s") })
	w.do(172*day, func() { w.usePack(80, 1_000_000*plan.Unit, 400_000*plan.Unit) })
	w.do(200*day, func() { w.change("pro_monthly", false) })
	w.do(202*day, w.onPlan(plan.Scale))
	w.do(244*day, w.onPlan(plan.Pro))
	w.do(260*day, func() { w.must(w.way.CancelAtPeriodEnd(w.ctx, w.subscription(), true)) })
	w.do(262*day, w.onPlan(plan.Pro))
	w.do(305*day, w.onPlan(plan.Free))
	w.do(320*day, func() { w.buy("pack_m") })
	w.do(322*day, func() { w.use(5, 250_000*plan.Unit) })
	w.do(323*day, w.refundPack)
	w.do(332*day, func() {
		if n := w.use(1, 900_000*plan.Unit); n > 1 {
			w.t.Errorf("%d calls are admitted", n)
		}
	})
	w.do(365*day, func() { w.over = true })
}

// payOpen pays open invoices, as the portal does.
func (w *world) payOpen() {
	for _, i := range w.invoices() {
		if i.Status == api.InvoiceStatusOpen {
			w.must(w.server.PayInvoice(i.ID))
		}
	}
}

// usePack uses up the plan's quota and part of the pack.
func (w *world) usePack(limit int, plenty, beyond plan.Units) {
	a := w.account()
	terms, err := a.Terms()
	w.must(err)
	left := terms.Quota() - w.used[terms.Period(w.now()).Key()] + beyond
	for ; left > 0 && limit > 0; limit-- {
		n := min(left, plenty)
		if w.use(1, n) != 1 {
			w.t.Errorf("%s: %s units are refused while a pack is there", w.now(), n)
		}
		left -= n
	}
}

// refundPack refunds the newest pack while units are drawn from it.
func (w *world) refundPack() {
	snapshot, err := w.way.Snapshot(w.ctx, w.customer)
	w.must(err)
	for _, p := range snapshot.Payments {
		if p.Item == "pack_m" {
			w.use(1, 250_000*plan.Unit)
			w.must(w.server.Refund(p.ID, 0))
			w.use(1, 250_000*plan.Unit)
		}
	}
}

// invoices returns all invoices at Stripe that are not drafts.
func (w *world) invoices() []*api.Invoice {
	w.t.Helper()
	c := client.New(stripe.DefaultSecretKey,
		&api.Backends{API: api.GetBackendWithConfig(api.APIBackend, &api.BackendConfig{
			URL: new(w.api), LeveledLogger: &api.LeveledLogger{Level: api.LevelNull},
		})})
	var all []*api.Invoice
	list := c.Invoices.List(&api.InvoiceListParams{Customer: new(w.customer)})
	for list.Next() {
		if i := list.Invoice(); i.Status != api.InvoiceStatusDraft {
			all = append(all, i)
		}
	}
	w.must(list.Err())
	return all
}

// check compares what is recorded at the end with what happened.
func (w *world) check() {
	w.t.Helper()
	w.flush()
	w.checkStatements()
	w.checkMoney()
	w.checkMails()
	var differences []string
	_, err := audit.Run(w.ctx, w.store, w.limits, audit.Options{Account: w.owner}, func(d audit.Difference) {
		differences = append(differences, fmt.Sprintf("%+v", d))
	})
	if err != nil || len(differences) > 0 {
		w.t.Errorf("the audit finds %v, %v", differences, err)
	}
}

// checkStatements verifies that every unit is in the statement of its period, and that the flow
// closed every period once.
func (w *world) checkStatements() {
	owner := w.account()
	stated := map[string]plan.Units{}
	entries, err := w.compiler.List(w.ctx, &owner)
	w.must(err)
	for _, e := range entries {
		s, err := w.compiler.Get(w.ctx, &owner, e.Name)
		w.must(err)
		if s.Totals.Units > 0 {
			stated[e.Name] = s.Totals.Units
		}
		if (s.Status == statement.Closed) != w.now().After(s.EndsAt) || len(s.Adjustments) > 0 {
			w.t.Errorf("%s: the statement of %s to %s is %s, with %d adjustments", w.now(), s.StartsAt, s.EndsAt,
				s.Status, len(s.Adjustments))
		}
	}
	maps.DeleteFunc(w.used, func(_ string, u plan.Units) bool { return u == 0 })
	if !maps.Equal(stated, w.used) {
		w.t.Errorf("the statements say %v, used were %v", stated, w.used)
	}
	if n := len(w.closed); n < 10 {
		w.t.Errorf("the flow had %d periods closed: %v", n, w.closed)
	}
	for period, n := range w.closed {
		if n != 1 {
			w.t.Errorf("the flow had %s closed %d times", period, n)
		}
	}
}

// checkMoney verifies that what Stripe sold is recorded once: invoices, subscriptions, packs,
// checkouts.
func (w *world) checkMoney() {
	recorded, err := w.store.ListInvoices(w.ctx, w.owner, time.Time{}, w.now().Add(day), 1000)
	w.must(err)
	var have, want []string
	for _, i := range recorded {
		have = append(have, fmt.Sprintf("%s %s %d %d", i.ID, i.Status, i.Total, i.Paid))
	}
	for _, i := range w.invoices() {
		want = append(want, fmt.Sprintf("%s %s %d %d", i.ID, i.Status, i.Total, i.AmountPaid))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		w.t.Errorf("recorded are the invoices\n%s\nStripe has\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	var subs, live, packs, void, refunded, open int
	w.must(w.db.QueryRow(w.ctx,
		`SELECT (SELECT count(*) FROM subscriptions), (SELECT count(*) FROM subscriptions WHERE ended_at IS NULL),
		(SELECT count(*) FROM packs), (SELECT count(*) FROM packs WHERE voided_at IS NOT NULL),
		(SELECT count(*) FROM checkouts WHERE state = 'refunded'), (SELECT count(*) FROM checkouts WHERE state = 'open')`).Scan(&subs, &live, &packs, &void, &refunded, &open))
	snapshot, err := w.way.Snapshot(w.ctx, w.customer)
	w.must(err)
	var back []string // the second subscription and the pack
	for i := range snapshot.Payments {
		if p := &snapshot.Payments[i]; p.TakenBack() {
			back = append(back, fmt.Sprintf("%d of %d", p.Refunded, p.Amount))
		}
	}
	slices.Sort(back)
	if !slices.Equal(back, []string{"11880 of 11880", "6000 of 6000"}) &&
		!slices.Equal(back, []string{"6000 of 6000", "9480 of 9480"}) {
		w.t.Errorf("the money that went back is %v", back)
	}
	expect.Equal(w.t, subs, 2)
	expect.Equal(w.t, live, 0)
	expect.Equal(w.t, packs, 2)
	expect.Equal(w.t, void, 1)
	expect.Equal(w.t, refunded, 2)
	expect.Equal(w.t, open, 0)
}

// checkMails verifies that there is one mail for each user and declined renewal.
func (w *world) checkMails() {
	var want []string
	for _, i := range w.invoices() {
		if i.BillingReason == api.InvoiceBillingReasonSubscriptionCycle && i.AttemptCount > 1 {
			for _, u := range w.users {
				want = append(want, fmt.Sprintf("charge/%s/%s", i.ID, u))
			}
		}
	}
	rows, err := w.db.Query(w.ctx, "SELECT reason FROM mails")
	w.must(err)
	defer rows.Close()
	var have []string
	for rows.Next() {
		var reason string
		w.must(rows.Scan(&reason))
		have = append(have, reason)
	}
	slices.Sort(want)
	slices.Sort(have)
	if len(want) != len(w.users) || !slices.Equal(have, want) {
		w.t.Errorf("queued are the mails %q, want %q", have, want)
	}
}

// A yearly plan that began on the 31st renews its quota twelve times, on the 31st or on the last
// day of a shorter month.
func TestSubscription_YearlyFromThe31stResetsItsQuotaTwelveTimes(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	start := time.Date(2027, time.January, 31, 10, 0, 0, 0, time.UTC)
	w := newWorld(t, 1, start, stripe.Policy{Drop: 1000})
	w.script = []step{{at: start.Add(time.Minute), do: func() { w.buy("scale_yearly") }}}
	var resets []string
	for n := range 12 {
		at := plan.AddMonths(start, n).Add(day)
		w.script = append(w.script, step{at: at, do: func() {
			if n := w.use(61, 1_000_000*plan.Unit); n != 60 { // the quota covers 60 of them
				t.Errorf("%s: %d calls are admitted", w.now(), n)
			}
			owner := w.account()
			begun, _ := owner.Cycle.Period(w.now())
			resets = append(resets, begun.Format(time.DateOnly))
		}})
	}
	w.script = append(w.script, step{at: start.AddDate(1, 0, 2), do: func() { w.over = true }})
	w.live()
	want := []string{
		"2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31", "2027-06-30", "2027-07-31", "2027-08-31",
		"2027-09-30", "2027-10-31", "2027-11-30", "2027-12-31",
	}
	if !slices.Equal(resets, want) {
		t.Errorf("the periods are %v, want %v", resets, want)
	}
	for _, period := range want {
		if w.closed[period] != 1 {
			t.Errorf("%s was closed %d times", period, w.closed[period])
		}
	}
	w.flush()
	w.checkStatements()
}

// Stripe does not answer for hours around the end of a period, and no webhook ever arrives. Every
// call still belongs to one period, and the late change is found.
func TestSubscription_TrafficCrossesABoundaryWhileStripeIsSilent(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	start := time.Date(2026, time.November, 30, 10, 0, 0, 0, time.UTC)
	w := newWorld(t, 1, start, stripe.Policy{Drop: 1000})
	w.script = []step{{at: start.Add(time.Minute), do: func() { w.buy("pro_monthly") }}}
	var boundary time.Time
	w.script = append(w.script, step{at: start.Add(day), do: func() {
		a := w.account()
		_, boundary = a.Cycle.Period(w.now())
		for after, do := range map[time.Duration]func(){
			-30 * time.Minute: func() { w.server.SetDown(true) },
			-time.Minute:      func() { w.use(3, 1000*plan.Unit) },
			time.Minute:       func() { w.use(5, 1000*plan.Unit) },
			90 * time.Minute:  func() { w.use(7, 1000*plan.Unit) },
			3 * time.Hour:     func() { w.onPlan(plan.Pro)(); w.server.SetDown(false) },
			5 * time.Hour:     func() { w.over = true },
		} {
			w.script = append(w.script, step{at: boundary.Add(after), do: do})
		}
		slices.SortStableFunc(w.script, func(a, b step) int { return a.at.Compare(b.at) })
	}})
	w.live()
	w.flush()
	before, after := w.used[start.Format(time.DateOnly)], w.used[boundary.Format(time.DateOnly)]
	if before != 3000*plan.Unit || after != 12_000*plan.Unit {
		t.Errorf("%s units before and %s after; %v", before, after, w.used)
	}
	owner := w.account()
	for period, want := range w.used {
		if s, err := w.compiler.Get(w.ctx, &owner, period); err != nil || s.Totals.Units != want {
			t.Errorf("the statement of %s says %s, want %s, %v", period, s.Totals.Units, want, err)
		}
	}
	sub, err := w.store.LastSubscription(w.ctx, w.owner)
	require.NoError(t, err)
	expect.True(t, sub.PeriodStart.Equal(boundary), sub.PeriodStart, boundary)
	expect.Equal(t, w.closed[start.Format(time.DateOnly)], 1)
}
