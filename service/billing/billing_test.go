package billing_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/billingdb"
)

// A founding Pro is bought, upgraded, downgraded, upgraded again before the downgrade took effect,
// cancelled and resumed. The status always equals that of Stripe.
func TestPlan_IsBoughtChangedCancelledAndResumed(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	began := d.Status(t)
	in := expect.In(t, "before anything is bought")
	expect.Equal(in, began.Tier, plan.Free)
	expect.True(in, began.Live)
	expect.Nil(in, began.Customer)
	expect.Nil(in, began.Subscription.Value)
	expect.Nil(in, began.Payment.Value)
	expect.NotNil(in, began.Packs)
	done := d.Buy(t, "founding", stripe.Visa)
	s := d.Status(t)
	sub := s.Subscription.Value
	if done.State != string(billingdb.CheckoutPaid) && done.State != string(billingdb.CheckoutOpen) ||
		done.Tier != plan.Pro {
		t.Errorf("the browser that came back sees %+v", done)
	}
	in = expect.In(t, "bought")
	require.Equal(in, s.Tier, plan.Pro)
	require.NotNil(in, s.Customer)
	require.Equal(in, s.Country, "DE")
	require.Equal(in, s.VATPercent, 20)
	require.NotNil(in, sub)
	require.NotNil(in, s.Payment.Value)
	require.NotNil(in, s.Founding.Value)
	expect.Equal(t, sub.Plan, plan.Pro)
	expect.Equal(t, sub.Interval, "month")
	expect.Equal(t, sub.PriceCents, 7900)
	expect.Equal(t, sub.Status, subscription.Active)
	expect.True(t, sub.Founding)
	expect.False(t, sub.CancelAtPeriodEnd)
	expect.True(t, sub.PeriodEnd.Equal(servicetest.Opened.AddDate(0, 1, 0)), sub.PeriodEnd)
	card := s.Payment.Value
	expect.Equal(t, card.Brand, "visa")
	expect.Equal(t, card.Last4, "4242")
	expect.Equal(t, s.Founding.Value.State, "taken")
	expect.True(t, s.Founding.Value.Until.Equal(servicetest.Opened.AddDate(1, 0, 0)))
	for _, step := range []struct {
		item, effect, tier, next string
		cents                    int64
	}{
		{"scale_monthly", "now", plan.Scale, "", 29900},
		{"scale_monthly", "none", plan.Scale, "", 29900},
		{"pro_monthly", "period_end", plan.Scale, plan.Pro, 7900}, // the months of the offer continue
		{"builder", "period_end", plan.Scale, plan.Builder, 1200},
		{"scale_monthly", "now", plan.Scale, "", 29900},
	} {
		before := len(d.Invoices(t))
		changed := servicetest.Must[billing.PlanChange](t)(d.ChangePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
			billing.ChangePlanInput{Item: step.item}))
		s := d.Status(t)
		in := expect.In(t, "to %s", step.item)
		expect.Equal(in, changed.Effect, step.effect)
		expect.True(in, changed.InForce)
		expect.Equal(in, s.Tier, step.tier)
		expect.Equal(in, s.NextTier, step.next)
		expect.Equal(in, s.Subscription.Value.PriceCents, step.cents)
		charged, want := len(d.Invoices(t))-before, 0
		if step.item == "scale_monthly" && step.effect == "now" && step.next == "" && before == 1 {
			want = 1 // the upgrade; undoing a downgrade costs nothing
		}
		if charged != want {
			t.Errorf("to %s: %d more invoices, want %d", step.item, charged, want)
		}
	}
	cancelled := servicetest.Must[billing.PlanChange](t)(d.CancelPlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		operation.Nothing{}))
	s = d.Status(t)
	in = expect.In(t, "cancelled")
	expect.Equal(in, cancelled.Effect, "period_end")
	expect.True(in, cancelled.At.Equal(s.Subscription.Value.PeriodEnd), s.Subscription.Value.PeriodEnd)
	expect.True(in, s.Subscription.Value.CancelAtPeriodEnd)
	expect.Equal(in, s.NextTier, plan.Free)
	expect.Equal(in, s.Tier, plan.Scale)
	_, refusal := d.ChangePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.ChangePlanInput{Item: "growth_monthly"})
	refused(t, "a change of what is cancelled", refusal, fault.FieldRefused, "Resume")
	servicetest.Must[billing.PlanChange](t)(d.ResumePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		operation.Nothing{}))
	if s = d.Status(t); s.Subscription.Value.CancelAtPeriodEnd || s.NextTier != "" {
		t.Errorf("resumed: %+v", s)
	}
	again := servicetest.Must[billing.PlanChange](t)(d.ResumePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		operation.Nothing{}))
	if again.Effect != "none" {
		t.Errorf("resumed again: %+v", again)
	}
}

func TestPlan_DeclinedUpgradeChangesNothing(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Buy(t, "pro_monthly", stripe.DeclinesLater)
	_, refusal := d.ChangePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.ChangePlanInput{Item: "scale_monthly"})
	refused(t, "a declined card", refusal, fault.FieldRefused, "declined", "nothing")
	if s := d.Status(t); s.Tier != plan.Pro || s.Subscription.Value.Item != "pro_monthly" {
		t.Errorf("after it: %+v", s.Subscription.Value)
	}
	// The next charge is declined too. While it is past due, no change is accepted.
	d.Stripe.Advance(servicetest.Opened.AddDate(0, 1, 0).Add(2 * time.Hour))
	_, refusal = d.ChangePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner), billing.ChangePlanInput{Item: "builder"})
	refused(t, "past due", refusal, fault.FieldRefused, "Pay the open invoice")
}

func TestPlan_SecondIsNotBoughtByMistake(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	first, opened := d.Start(t, "founding")
	if seats, err := d.Store.SeatsTaken(d.Ctx); err != nil || seats != 1 {
		t.Errorf("%d seats are taken (%v)", seats, err)
	}
	held := d.Status(t).Founding.Value
	require.NotNil(t, held)
	expect.Equal(t, held.State, "held")
	expect.True(t, held.Until.Equal(opened.ExpiresAt), opened.ExpiresAt)
	if !d.Told("checkout " + first.CheckoutID) {
		t.Error("nobody follows the checkout")
	}
	// Another checkout expires it and returns its seat once Stripe confirmed that.
	_, second := d.Start(t, "pro_monthly")
	if state := d.Checkout(t, first.CheckoutID).State; state != billingdb.CheckoutExpired {
		t.Errorf("the first checkout is %s", state)
	}
	if seats, err := d.Store.SeatsTaken(d.Ctx); err != nil || seats != 0 {
		t.Errorf("%d seats are taken (%v)", seats, err)
	}
	if err := d.Stripe.Pay(opened.Session, stripe.Visa); err == nil {
		t.Error("the first checkout can still be paid")
	}
	if err := d.Stripe.Pay(second.Session, stripe.Visa); err != nil {
		t.Fatal(err)
	}
	// Paid, but not seen yet.
	_, refusal := d.StartCheckout.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.StartCheckoutInput{Item: "scale_monthly"})
	refused(t, "while one is paid", refusal, fault.FieldRefused, "paid just now")
	servicetest.Must[billing.FinishedCheckout](t)(d.FinishCheckout.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.FinishCheckoutInput{CheckoutID: second.ID.String()}))
	_, refusal = d.StartCheckout.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.StartCheckoutInput{Item: "scale_monthly"})
	refused(t, "a second plan", refusal, fault.FieldRefused, "subscription already")
}

func TestPurchase_IsForOwnersAndTheirAccountOnly(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	bob := d.Join(t, d.Owner, "bob@buyer.example")
	key := servicetest.Must[keys.CreatedKey](t)(d.CreateKey.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		keys.CreateKeyInput{Name: "agent"})).PlaintextToken
	door := servicetest.Must[keys.Welcome](t)(d.GetKey.Invoke(d.Ctx, servicetest.Browser(""), keys.GetKeyInput{})).Key
	_, refusal := d.StartCheckout.Invoke(d.Ctx, servicetest.Browser(bob), billing.StartCheckoutInput{Item: "builder"})
	refused(t, "a member", refusal, fault.WrongKindOfKey, "owners")
	_, refusal = d.BuyPack.Invoke(d.Ctx, servicetest.Browser(bob), billing.BuyPackInput{Size: "s"})
	refused(t, "a member's pack", refusal, fault.WrongKindOfKey, "owners")
	_, refusal = d.BuyPack.Invoke(d.Ctx, servicetest.Holder(door), billing.BuyPackInput{Size: "s"})
	refused(t, "a door key's pack", refusal, fault.WrongKindOfKey, "adopt this key")
	_, refusal = d.StartCheckout.Invoke(d.Ctx, servicetest.Holder(key), billing.StartCheckoutInput{Item: "builder"})
	refused(t, "a key's plan", refusal, fault.KeyInvalid)
	pack := servicetest.Must[billing.PackCheckout](t)(d.BuyPack.Invoke(d.Ctx, servicetest.Holder(key),
		billing.BuyPackInput{Size: "m"}))
	in := expect.In(t, "the pack's page")
	expect.Equal(in, pack.Units, 7_000_000*plan.Unit)
	expect.Equal(in, pack.Size, "m")
	expect.Contains(in, pack.URL, "/pay/")
	expect.Contains(in, pack.Note, "VAT of 20 %")
	// No money moves before a person pays, so every program of the account may open a checkout.
	agents, _ := d.AgentKey(t, d.AccountID)
	for who, key := range map[string]string{"an adopted key": d.AdoptedKey(t, d.AccountID), "an agent's key": agents} {
		if pack := servicetest.Must[billing.PackCheckout](t)(d.BuyPack.Invoke(d.Ctx, servicetest.Holder(key),
			billing.BuyPackInput{Size: "s"})); !strings.Contains(pack.URL, "/pay/") {
			t.Errorf("%s gets %+v", who, pack)
		}
	}
	// A checkout of another account is not found.
	started, _ := d.Start(t, "pack_s")
	eve := d.SignIn(t, "eve@other.example")
	_, refusal = d.FinishCheckout.Invoke(d.Ctx, servicetest.Browser(eve), billing.FinishCheckoutInput{
		CheckoutID: started.CheckoutID,
	})
	refused(t, "another's checkout", refusal, fault.NotYours)
	_, refusal = d.OpenPortal.Invoke(d.Ctx, servicetest.Browser(eve), operation.Nothing{})
	refused(t, "a portal of nobody", refusal, fault.FieldRefused, "Nothing was bought")
}

func TestPack_IsPaidOnceAndShownUntilItIsVoid(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Buy(t, "pack_s", stripe.Visa)
	d.Billing.Reconcile(d.Ctx, d.AccountID) //nolint:errcheck // a second reconcile changes nothing, as the status shows
	packs := d.Status(t).Packs
	require.Len(t, packs, 1)
	require.Equal(t, packs[0].Kind, "pack_s")
	require.Equal(t, packs[0].Remaining, 1_200_000*plan.Unit)
	invoices := d.Invoices(t)
	require.Len(t, invoices, 1)
	require.Equal(t, invoices[0].Net, 1000)
	require.Equal(t, invoices[0].VAT, 200)
	require.Equal(t, invoices[0].Total, 1200)
	require.Equal(t, invoices[0].Status, "paid")
	page := servicetest.Must[billing.InvoicePage](t)(d.ShowInvoice.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.ShowInvoiceInput{ID: invoices[0].ID}))
	portal := servicetest.Must[billing.Portal](t)(d.OpenPortal.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		operation.Nothing{}))
	if !strings.Contains(page.URL, "/invoice/") || !strings.Contains(portal.URL, "/portal/") {
		t.Errorf("pages %q and %q", page.URL, portal.URL)
	}
	eve := d.SignIn(t, "eve@other.example")
	_, refusal := d.ShowInvoice.Invoke(d.Ctx, servicetest.Browser(eve), billing.ShowInvoiceInput{ID: invoices[0].ID})
	refused(t, "another's invoice", refusal, fault.NotYours)

	// A dispute that names no customer refunds all of it: the webhook finds the customer, and the
	// pack is void.
	all, err := d.Way.Snapshot(d.Ctx, *d.Status(t).Customer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stripe.Dispute(all.Payments[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Stripe.Deliver(d.Ctx); err != nil {
		t.Fatal(err)
	}
	if !d.Told("charge.dispute.created " + d.AccountID.String()) {
		t.Errorf("the dispute told %q", d.Signals)
	}
	if err := d.LookNow(d.Ctx, d.AccountID); err != nil {
		t.Fatal(err)
	}
	if packs := d.Status(t).Packs; len(packs) != 0 {
		t.Errorf("a void pack is shown: %+v", packs)
	}
}

func TestVAT_FollowsTheCustomersCountry(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	at := servicetest.Browser(d.Owner)
	at.Country = func() string { return "us" }
	started := servicetest.Must[billing.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, at,
		billing.StartCheckoutInput{
			Item: "pack_s",
		}))
	if started.VATPercent != 0 || started.Country != "US" {
		t.Errorf("from the US: %+v", started)
	}
	started = servicetest.Must[billing.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, at, billing.StartCheckoutInput{
		Item: "pack_s", Country: "FR",
	}))
	if started.VATPercent != 20 || started.Country != "FR" {
		t.Errorf("with a French address: %+v", started)
	}
	if s := d.Status(t); s.Country != "FR" || s.VATPercent != 20 {
		t.Errorf("the customer is in %q with %d %%", s.Country, s.VATPercent)
	}
	_, refusal := d.StartCheckout.Invoke(d.Ctx, at, billing.StartCheckoutInput{Item: "pack_s", Country: "XX"})
	refused(t, "no country", refusal, fault.FieldRefused, "country")
	_, refusal = d.StartCheckout.Invoke(d.Ctx, at, billing.StartCheckoutInput{Item: "enterprise"})
	refused(t, "nothing that is sold", refusal, fault.FieldRefused, "item")
}

func TestCheckout_CountIsBoundedPerAccount(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	var last *fault.Error
	for n := range 30 {
		caller := servicetest.Browser(d.Owner)
		caller.Network = netip.MustParsePrefix("198.51.100.7/32")
		if _, last = d.BuyPack.Invoke(d.Ctx, caller, billing.BuyPackInput{Size: "s"}); last != nil {
			if n != 10 {
				t.Errorf("%d were begun", n)
			}
			break
		}
	}
	refused(t, "more", last, fault.FieldRefused, "10 checkouts")
}

// While Stripe does not answer, nothing is sold. A checkout that may have been created holds its
// seat until it expires.
func TestPurchase_WaitsWhileStripeIsAwayAndAllElseGoesOn(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Start(t, "pack_s") // so that there is a customer
	d.Stripe.SetDown(true)
	_, refusal := d.StartCheckout.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.StartCheckoutInput{Item: "founding"})
	refused(t, "a purchase", refusal, fault.DurableUnavailable, "did not answer")
	if refusal != nil && refusal.RetryAfter <= 0 {
		t.Error("it does not say when to come again")
	}
	if seats, err := d.Store.SeatsTaken(d.Ctx); err != nil || seats != 1 {
		t.Errorf("%d seats are held (%v); the page may have been made", seats, err)
	}
	if s := d.Status(t); s.Tier != plan.Free || !s.Live {
		t.Errorf("the status is %+v", s)
	}
	ladder := servicetest.Must[billing.PriceLadder](t)(d.PriceLadder.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		operation.Nothing{}))
	// pay per call is not on sale here
	in := expect.In(t, "the ladder says current")
	expect.Len(in, ladder.Rungs, len(plan.Ladder()))
	expect.Equal(in, ladder.Current, plan.Free)
	expect.Equal(in, ladder.Cheapest, plan.Free)
	expect.Equal(in, ladder.Premium, "pack_s")
	for _, r := range ladder.Rungs {
		if r.Key == plan.Founding().Key && (!r.OnSale || *r.SeatsLeft != 99) {
			t.Errorf("the founding rung is %+v", r)
		}
	}
}

func TestPurchase_IsRefusedWithoutAStripeKey(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t, func(o *service.Options) { o.Contact = "support@gateway.example" })
	ann := servicetest.Browser(o.SignIn(t, "ann@buyer.example"))
	for name, refusal := range map[string]*fault.Error{
		"start_checkout": second(o.StartCheckout.Invoke(o.Ctx, ann, billing.StartCheckoutInput{Item: "builder"})),
		"buy_pack":       second(o.BuyPack.Invoke(o.Ctx, ann, billing.BuyPackInput{Size: "s"})),
		"change_plan":    second(o.ChangePlan.Invoke(o.Ctx, ann, billing.ChangePlanInput{Item: "builder"})),
		"cancel_plan":    second(o.CancelPlan.Invoke(o.Ctx, ann, operation.Nothing{})),
		"portal":         second(o.OpenPortal.Invoke(o.Ctx, ann, operation.Nothing{})),
		"webhook":        o.ReceiveStripeEvent(o.Ctx, []byte("{}"), "t=1,v1=00"),
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, name, refusal, fault.DurableUnavailable, "Payments are off", "support@gateway.example")
		})
	}
	s := servicetest.Must[billing.BillingStatus](t)(o.BillingStatus.Invoke(o.Ctx, ann, operation.Nothing{}))
	if s.Live || s.Tier != plan.Free {
		t.Errorf("the status is %+v", s)
	}
}

func second[T any](_ T, refusal *fault.Error) *fault.Error { return refusal }
