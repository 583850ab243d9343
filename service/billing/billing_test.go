package billing_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
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
	if began.Tier != plan.Free || !began.Live || began.Customer != nil || began.Subscription.Value != nil ||
		began.Payment.Value != nil || began.Packs == nil {
		t.Errorf("before anything is bought: %+v", began)
	}
	done := d.Buy(t, "founding", stripe.Visa)
	s := d.Status(t)
	sub := s.Subscription.Value
	if done.State != string(billingdb.CheckoutPaid) && done.State != string(billingdb.CheckoutOpen) ||
		done.Tier != plan.Pro {
		t.Errorf("the browser that came back sees %+v", done)
	}
	if s.Tier != plan.Pro || s.Customer == nil || s.Country != "DE" || s.VATPercent != 20 || sub == nil ||
		s.Payment.Value == nil || s.Founding.Value == nil {
		t.Fatalf("bought: %+v", s)
	}
	if sub.Plan != plan.Pro || sub.Interval != "month" || sub.PriceCents != 7900 || sub.Status != subscription.Active ||
		!sub.Founding || sub.CancelAtPeriodEnd ||
		!sub.PeriodEnd.Equal(servicetest.Opened.AddDate(0, 1, 0)) {
		t.Errorf("the subscription is %+v", sub)
	}
	if card := s.Payment.Value; card.Brand != "visa" || card.Last4 != "4242" || s.Founding.Value.State != "taken" ||
		!s.Founding.Value.Until.Equal(servicetest.Opened.AddDate(1, 0, 0)) {
		t.Errorf("card %+v, seat %+v", card, s.Founding.Value)
	}
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
		if changed.Effect != step.effect || !changed.InForce || s.Tier != step.tier || s.NextTier != step.next ||
			s.Subscription.Value.PriceCents != step.cents {
			t.Errorf("to %s: %+v; then %s, next %q, %+v", step.item, changed, s.Tier, s.NextTier, s.Subscription.Value)
		}
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
	if cancelled.Effect != "period_end" || !cancelled.At.Equal(s.Subscription.Value.PeriodEnd) ||
		!s.Subscription.Value.CancelAtPeriodEnd || s.NextTier != plan.Free || s.Tier != plan.Scale {
		t.Errorf("cancelled: %+v, %+v", cancelled, s)
	}
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
	if held := d.Status(t).Founding.Value; held == nil || held.State != "held" || !held.Until.Equal(opened.ExpiresAt) {
		t.Errorf("the seat is %+v", held)
	}
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
	if pack.Units != 7_000_000*plan.Unit || pack.Size != "m" || !strings.Contains(pack.URL, "/pay/") ||
		!strings.Contains(pack.Note, "VAT of 20 %") {
		t.Errorf("the pack's page is %+v", pack)
	}
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
	if len(packs) != 1 || packs[0].Kind != "pack_s" || packs[0].Remaining != 1_200_000*plan.Unit {
		t.Fatalf("packs %+v", packs)
	}
	invoices := d.Invoices(t)
	if len(invoices) != 1 || invoices[0].Net != 1000 || invoices[0].VAT != 200 || invoices[0].Total != 1200 ||
		invoices[0].Status != "paid" {
		t.Fatalf("invoices %+v", invoices)
	}
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
	if len(ladder.Rungs) != len(plan.Ladder()) || ladder.Current != plan.Free || ladder.Cheapest != plan.Free ||
		ladder.Premium != "pack_s" {
		t.Errorf("the ladder says current %q, cheapest %q and %q", ladder.Current, ladder.Cheapest, ladder.Premium)
	}
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
		refused(t, name, refusal, fault.DurableUnavailable, "Payments are off", "support@gateway.example")
	}
	s := servicetest.Must[billing.BillingStatus](t)(o.BillingStatus.Invoke(o.Ctx, ann, operation.Nothing{}))
	if s.Live || s.Tier != plan.Free {
		t.Errorf("the status is %+v", s)
	}
}

func second[T any](_ T, refusal *fault.Error) *fault.Error { return refusal }
