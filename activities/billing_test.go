package activities_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
)

// billingEnv is the sandbox's Stripe with a real database and a real meter.
type billingEnv struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // a test's own
	server *stripe.Server
	way    *billing.Stripe
	store  *store.Store
	limits *limits.Limits
	looked []account.ID // accounts whose flows were signalled
}

func openBillingEnv(t *testing.T) *billingEnv {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	s := &billingEnv{t: t, ctx: ctx}
	var err error
	s.server, err = stripe.New(stripe.Options{Clock: time.Now, Seed: 1})
	s.must(err)
	front := httptest.NewServer(s.server)
	t.Cleanup(front.Close)
	s.way, err = billing.New(billing.Options{SecretKey: stripe.DefaultSecretKey, APIURL: front.URL, Now: time.Now})
	s.must(err)
	_, err = s.way.SetUp(ctx, billing.SetUpOptions{})
	s.must(err)
	s.store, err = store.Open(ctx, testkit.Postgres(t))
	s.must(err)
	t.Cleanup(s.store.Close)
	m, err := meter.Open(ctx, testkit.Redis(t).URL)
	s.must(err)
	t.Cleanup(func() { _ = m.Close() })
	s.limits = limits.New(s.store, m, nil, time.Now)
	return s
}

func (s *billingEnv) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// newBilling returns a Billing that dies where d says; nil for nowhere.
func (s *billingEnv) newBilling(d *dying) *activities.Billing {
	b := &activities.Billing{
		Stripe: s.way, Record: s.store, Limits: s.limits, Mails: untold{}, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler),
		Look: func(_ context.Context, id account.ID) error {
			s.looked = append(s.looked, id)
			return nil
		},
	}
	if d != nil {
		b.Stripe, b.Record, b.Limits = dyingStripe{s.way, d}, dyingRecord{s.store, d}, dyingLimits{s.limits, d}
	}
	return b
}

type untold struct{}

func (untold) ChargeFailed(context.Context, activities.FailedCharge) error { return nil }

// customer is an account that buys.
type customer struct {
	*billingEnv
	id       account.ID
	customer string
	checkout map[string]billingdb.CheckoutID // by the name that the test gave it
}

func (s *billingEnv) customer(country string) *customer {
	s.t.Helper()
	b := &customer{billingEnv: s, id: account.NewID(), checkout: map[string]billingdb.CheckoutID{}}
	_, err := s.store.CreateAccount(s.ctx, accountdb.NewAccount{ID: b.id, Kind: accountdb.KindOwner, Plan: plan.Free})
	s.must(err)
	customer, err := s.way.EnsureCustomer(s.ctx, b.id, "buyer@a.example", country)
	s.must(err)
	_, err = s.store.PutCustomer(s.ctx, b.id, customer, country)
	s.must(err)
	b.customer = customer
	return b
}

// open opens a checkout of an item under a name of the test's own.
func (b *customer) open(name, key string, vat bool) activities.CheckoutRef {
	b.t.Helper()
	item, _ := plan.FindItem(key)
	now := time.Now()
	c, err := b.store.OpenCheckout(b.ctx, billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: b.id, Item: key, OpenedAt: now, ExpiresAt: now.Add(time.Hour),
	})
	b.must(err)
	session, _, err := b.way.OpenCheckout(b.ctx, &billing.Checkout{
		ID: c.ID.String(), Account: b.id, Customer: b.customer, Item: item, VAT: vat, SuccessURL: "https://a.example",
		CancelURL: "https://a.example", Expires: c.ExpiresAt,
	})
	b.must(err)
	b.must(b.store.SetCheckoutSession(b.ctx, c.ID, session))
	b.checkout[name] = c.ID
	return activities.CheckoutRef{Session: session, Checkout: c.ID.String(), Account: b.id}
}

func (b *customer) buy(name, key string) {
	b.t.Helper()
	b.must(b.server.Pay(b.open(name, key, true).Session, stripe.Visa))
}

func (b *customer) snapshot() subscription.Snapshot {
	b.t.Helper()
	s, err := b.way.Snapshot(b.ctx, b.customer)
	b.must(err)
	return s
}

func (b *customer) states() map[string]billingdb.CheckoutState {
	b.t.Helper()
	all := map[string]billingdb.CheckoutState{}
	for name, id := range b.checkout {
		c, err := b.store.FindCheckout(b.ctx, id)
		b.must(err)
		all[name] = c.State
	}
	return all
}

// dying dies at a step, before or after it.
type dying struct {
	at, n int
	after bool
}

var errDied = errors.New("died")

func (d *dying) step(do func() error) error {
	d.n++
	n := d.n
	if n == d.at && !d.after {
		return errDied
	}
	err := do()
	if n == d.at {
		return errDied
	}
	return err
}

type dyingStripe struct {
	*billing.Stripe
	d *dying
}

func (s dyingStripe) Snapshot(ctx context.Context, customer string) (all subscription.Snapshot, err error) {
	err = s.d.step(func() (err error) { all, err = s.Stripe.Snapshot(ctx, customer); return err })
	return all, err
}

func (s dyingStripe) CancelNow(ctx context.Context, sub, key string) error {
	return s.d.step(func() error { return s.Stripe.CancelNow(ctx, sub, key) })
}

func (s dyingStripe) RefundPayment(ctx context.Context, payment, key string) error {
	return s.d.step(func() error { return s.Stripe.RefundPayment(ctx, payment, key) })
}

type dyingRecord struct {
	*store.Store
	d *dying
}

func (r dyingRecord) PutSubscription(ctx context.Context, id account.ID, sub *subscription.Subscription) error {
	return r.d.step(func() error { return r.Store.PutSubscription(ctx, id, sub) })
}

func (r dyingRecord) PutInvoices(ctx context.Context, id account.ID, invoices []subscription.Invoice) error {
	return r.d.step(func() error { return r.Store.PutInvoices(ctx, id, invoices) })
}

func (r dyingRecord) EndCheckout(ctx context.Context, id billingdb.CheckoutID, state billingdb.CheckoutState,
	at time.Time,
) (c billingdb.Checkout, err error) {
	err = r.d.step(func() (err error) { c, err = r.Store.EndCheckout(ctx, id, state, at); return err })
	return c, err
}

func (r dyingRecord) UpdateCustomer(ctx context.Context, c billingdb.Customer) error {
	return r.d.step(func() error { return r.Store.UpdateCustomer(ctx, c) })
}

type dyingLimits struct {
	*limits.Limits
	d *dying
}

//nolint:gocritic // the interface's
func (f dyingLimits) Entitle(ctx context.Context, id account.ID, e subscription.Entitlement,
	by accountdb.Author,
) (a accountdb.Account, err error) {
	err = f.d.step(func() (err error) { a, err = f.Limits.Entitle(ctx, id, e, by); return err })
	return a, err
}

//nolint:gocritic // the interface's
func (f dyingLimits) GrantPack(ctx context.Context, p accountdb.Pack,
	by accountdb.Author,
) (granted accountdb.Pack, fresh bool, err error) {
	err = f.d.step(func() (err error) { granted, fresh, err = f.Limits.GrantPack(ctx, p, by); return err })
	return granted, fresh, err
}

func (f dyingLimits) VoidPack(ctx context.Context, origin, reason string,
	by accountdb.Author,
) (void accountdb.Pack, fresh bool, err error) {
	err = f.d.step(func() (err error) { void, fresh, err = f.Limits.VoidPack(ctx, origin, reason, by); return err })
	return void, fresh, err
}

// Two plans are paid in two checkouts, and two packs; one pack is refunded. The worker dies before
// or after every step, and another one continues. Each time there is one subscription, one refund
// of the other, and each pack once.
func TestReconcile_CrashLeavesNothingUndoneOrDoneTwice(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	steps := 1
	for at := 0; at <= steps; at++ { // 0 does not die, and counts the steps
		for _, after := range []bool{false, true} {
			d := &dying{at: at, after: after}
			b := s.customer("DE")
			b.buy("first", "pro_monthly")
			b.buy("second", "scale_monthly")
			b.buy("kept", "pack_s")
			b.buy("returned", "pack_m")
			if _, err := s.newBilling(d).Reconcile(s.ctx, b.id); (err != nil) != (at > 0) {
				t.Errorf("step %d: %v", at, err)
			}
			b.settled(at, after, billingdb.CheckoutPaid, 2, 0)
			for _, p := range b.snapshot().Payments {
				if p.Item == "pack_m" {
					s.must(s.server.Refund(p.ID, 0))
				}
			}
			again := &dying{at: at, after: after}
			_, _ = s.newBilling(again).Reconcile(s.ctx, b.id)
			b.settled(at, after, billingdb.CheckoutRefunded, 2, 1)
			if at == 0 {
				steps = d.n
			}
		}
	}
	if steps < 12 {
		t.Errorf("only %d steps", steps)
	}
}

// settled reconciles twice more and verifies that what was bought is in force once.
func (b *customer) settled(at int, after bool, returned billingdb.CheckoutState, packs, void int) {
	b.t.Helper()
	var kept string // either is the older one: both were paid in the same second
	for range 2 {
		known, err := b.newBilling(nil).Reconcile(b.ctx, b.id)
		in := expect.In(b.t, "step %d, %t", at, after)
		require.NoError(in, err)
		if kept != "" {
			require.Equal(in, known.Plan, kept)
		}
		require.Equal(in, known.Status, subscription.Active)
		require.True(in, known.Lasts)
		kept = known.Plan
	}
	what := fmt.Sprintf("died at step %d, after it: %t", at, after)
	plans := map[string]map[string]billingdb.CheckoutState{
		plan.Pro:   {"first": billingdb.CheckoutPaid, "second": billingdb.CheckoutRefunded},
		plan.Scale: {"first": billingdb.CheckoutRefunded, "second": billingdb.CheckoutPaid},
	}
	want := plans[kept]
	if want != nil {
		want["kept"], want["returned"] = billingdb.CheckoutPaid, returned
	}
	if got := b.states(); !maps.Equal(got, want) {
		b.t.Errorf("%s: the checkouts are %v", what, got)
	}
	snapshot := b.snapshot()
	live := 0
	for i := range snapshot.Subscriptions {
		if sub := &snapshot.Subscriptions[i]; !sub.Status.Over() {
			live++
			if sub.Price != kept+"_monthly" {
				b.t.Errorf("%s: %s goes on, the account has %s", what, sub.Price, kept)
			}
		}
	}
	back := 0
	for i := range snapshot.Payments {
		if p := &snapshot.Payments[i]; p.Refunded > 0 {
			back++
			if p.Refunded != p.Amount {
				b.t.Errorf("%s: %s of %s went back", what, p.Refunded, p.Amount)
			}
		}
	}
	granted, err := b.store.ListPacks(b.ctx, b.id)
	b.must(err)
	gone := 0
	for i := range granted {
		if !granted[i].VoidedAt.IsZero() {
			gone++
		}
	}
	in := expect.In(b.t, "%s", what)
	expect.Equal(in, live, 1)
	expect.Equal(in, back, 1+void)
	expect.Len(in, granted, packs)
	expect.Equal(in, gone, void)
}

func TestVAT_FollowsTheCustomersCountry(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	b := s.customer("US")
	s.must(s.server.Pay(b.open("plan", "pro_monthly", false).Session, stripe.Visa))
	taxed := func(want bool) {
		t.Helper()
		if _, err := s.newBilling(nil).Reconcile(s.ctx, b.id); err != nil {
			t.Fatal(err)
		}
		if sub := b.snapshot().Subscriptions[0]; sub.Taxed != want {
			t.Errorf("taxed %t, want %t", sub.Taxed, want)
		}
	}
	taxed(false)
	s.must(s.server.SetCountry(b.customer, "AT"))
	taxed(true)
	c, err := s.store.FindCustomer(s.ctx, b.id)
	require.NoError(t, err)
	expect.Equal(t, c.Country, "AT")
	expect.NotNil(t, c.Card)
	expect.False(t, c.ReadAt.IsZero())
	s.must(s.server.SetCountry(b.customer, "CH"))
	taxed(false)
}

func TestCheckout_IsFollowedUntilTheAccountHasWhatItBought(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	b := s.customer("DE")
	ref := b.open("plan", "builder", true)
	follow := func(want string) {
		t.Helper()
		if state, err := s.newBilling(nil).FollowCheckout(s.ctx, ref); err != nil || state != want {
			t.Errorf("it is %s, %v; want %s", state, err, want)
		}
	}
	follow(activities.CheckoutOpen)
	s.must(s.server.Pay(ref.Session, stripe.Visa))
	follow(activities.CheckoutPaying)
	if !slices.Equal(s.looked, []account.ID{b.id}) {
		t.Errorf("told were the flows of %v", s.looked)
	}
	if known, err := s.newBilling(nil).Reconcile(s.ctx, b.id); err != nil || known.Plan != plan.Builder {
		t.Fatalf("%+v, %v", known, err)
	}
	follow("paid")

	ref = b.open("left", "pack_s", true)
	follow(activities.CheckoutOpen)
	_, err := s.way.ExpireSession(s.ctx, ref.Session)
	s.must(err)
	follow("expired")
	other := ref
	other.Checkout = b.open("other", "pack_s", true).Checkout
	if state, err := s.newBilling(nil).FollowCheckout(s.ctx, other); err == nil {
		t.Errorf("a session of another checkout is %s", state)
	}
}

func TestBilling_GuessesNothingWithoutStripe(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	b := s.customer("DE")
	ref := b.open("plan", "pro_monthly", true)
	s.must(s.server.Pay(ref.Session, stripe.Visa))
	kind := func(err error) string {
		failed, _ := errors.AsType[*temporal.ApplicationError](err)
		if failed == nil {
			return ""
		}
		return failed.Type()
	}
	without := s.newBilling(nil)
	without.Stripe = nil
	_, reconciled := without.Reconcile(s.ctx, b.id)
	_, followed := without.FollowCheckout(s.ctx, ref)
	s.server.SetDown(true)
	_, down := s.newBilling(nil).Reconcile(s.ctx, b.id)
	s.server.SetDown(false)
	expect.Equal(t, kind(reconciled), activities.ErrPaymentsOff)
	expect.Equal(t, kind(followed), activities.ErrPaymentsOff)
	expect.Equal(t, kind(down), activities.ErrStripeAway)
	if a, err := s.store.LoadAccount(s.ctx, b.id); err != nil || a.Plan != plan.Free {
		t.Errorf("%+v, %v", a, err)
	}
	if known, err := without.Reconcile(s.ctx, account.NewID()); err != nil || known.Customer {
		t.Errorf("a stranger: %+v, %v", known, err)
	}
}
