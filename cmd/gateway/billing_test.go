package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/workflows"
)

// bought is a customer on Pro with a pack, two invoices and an open checkout.
func (b *accountsEnv) bought(t *testing.T) (account.ID, subscription.Snapshot) {
	t.Helper()
	id, now := account.NewID(), time.Now().UTC().Truncate(time.Second)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.store.CreateAccount(b.ctx, accountdb.NewAccount{ID: id, Kind: accountdb.KindOwner, Plan: plan.Free})
	must(err)
	_, err = b.store.PutCustomer(b.ctx, id, "cus_shown", "DE")
	must(err)
	invoice := subscription.Invoice{
		ID: "in_1", Number: "CAG-0001", Subscription: "sub_shown", Payment: "pi_1", Status: subscription.InvoicePaid,
		Reason: "subscription_create", Currency: "usd", Net: 99_00, VAT: 19_80, Total: 118_80, Paid: 118_80,
		CreatedAt: now, PaidAt: now, PeriodStart: now, PeriodEnd: now.AddDate(0, 1, 0), Attempts: 1,
	}
	failed := invoice
	failed.ID, failed.Number, failed.Status, failed.Paid, failed.PaidAt, failed.Reason, failed.NextAttempt = "in_2",
		"CAG-0002", subscription.InvoiceOpen, 0, time.Time{}, "subscription_cycle", now.AddDate(0, 0, 3)
	s := subscription.Snapshot{
		Customer: "cus_shown", Country: "AT", Card: &subscription.Card{
			Brand: "visa", Last4: "4242", ExpMonth: 7, ExpYear: 2031,
		}, ReadAt: now,
		Subscriptions: []subscription.Subscription{{
			ID: "sub_shown", Status: subscription.PastDue, Price: "pro_monthly", PriceCents: 99_00, StartedAt: now,
			PeriodStart: now, PeriodEnd: now.AddDate(0, 1, 0), Taxed: true,
		}},
		Invoices: []subscription.Invoice{invoice, failed},
		Payments: []subscription.Payment{
			{ID: "pi_pack", Item: "pack_s", Succeeded: true, Amount: 12_00, Currency: "usd", CreatedAt: now},
		},
	}
	_, err = b.store.OpenCheckout(b.ctx, billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: id, Item: "pack_m",
		Country: "DE", OpenedAt: now, ExpiresAt: now.Add(time.Hour),
	})
	must(err)
	return id, s
}

// said is a Stripe with a fixed snapshot.
type said struct {
	activities.Stripe
	snapshot subscription.Snapshot
}

func (s said) Snapshot(context.Context, string) (subscription.Snapshot, error) {
	return s.snapshot, nil
}

// nobody discards messages about failed charges.
type nobody struct{}

func (nobody) ChargeFailed(context.Context, activities.FailedCharge) error { return nil }

func TestBillingCommand_ReconcileMatchesStripeAndShowTellsIt(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	server := testkit.Temporal(t)
	b.env["TEMPORAL_ADDRESS"], b.env["TEMPORAL_NAMESPACE"] = server.Address, server.Namespace
	id, snapshot := b.bought(t)
	w := worker.New(server.Dial(t), workflows.QueueBilling, worker.Options{})
	workflows.RegisterBilling(w)
	w.RegisterActivity(&activities.Billing{
		Stripe: said{snapshot: snapshot}, Record: b.store, Limits: b.limits, Mails: nobody{}, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler), Close: func(context.Context, activities.Closing) error { return nil },
	})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)

	for range 2 { // it is idempotent
		exit, out, errs := run(t, b.env, "ops", "billing", "reconcile", id.String())
		if exit != 0 ||
			!strings.Contains(out, "is on pro: subscription sub_shown is past_due; the metering period ends ") {
			t.Fatalf("reconcile: exit code %d, %q, %q", exit, out, errs)
		}
	}
	exit, out, errs := run(t, b.env, "ops", "billing", "show", id.String())
	for _, part := range []string{
		"cus_shown", "AT", "visa ending in 4242, 07/2031", "sub_shown, past_due, pro_monthly at $99.00",
		"payment/pi_pack", "1,200,000", "CAG-0001", "CAG-0002", "$19.80", "pack_m", workflows.SubscriptionID(id),
	} {
		if exit != 0 || !strings.Contains(out, part) {
			t.Errorf("show: exit code %d, %q; %q lacks %q", exit, errs, out, part)
		}
	}
	_, out, _ = run(t, b.env, "ops", "billing", "show", id.String(), "--json")
	var v operator.BillingView
	err := json.Unmarshal([]byte(out), &v)
	require.NoError(t, err)
	expect.Equal(t, v.Plan, plan.Pro)
	expect.Len(t, v.Packs, 1)
	expect.Len(t, v.Invoices, 2)
	expect.Len(t, v.Checkouts, 1)
	expect.NotNil(t, v.ReadAt)
}

func TestBillingCommand_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := openAccountsEnv(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"show", "acme"}, `not "acme"`},
		{[]string{"show", account.NewID().String()}, "there is no account"},
		{[]string{"reconcile", "acme"}, `not "acme"`},
	} {
		t.Run(c.says, func(t *testing.T) {
			exit, out, errs := run(t, b.env, append([]string{"ops", "billing"}, c.args...)...)
			expect.Equal(t, exit, 1)
			expect.Equal(t, out, "")
			expect.Contains(t, errs, c.says)
		})
	}
}

func addEndpoint(t *testing.T, at string) {
	t.Helper()
	dashboard := client.New(stripe.DefaultSecretKey,
		&api.Backends{API: api.GetBackendWithConfig(api.APIBackend, &api.BackendConfig{
			URL: new(at), LeveledLogger: &api.LeveledLogger{Level: api.LevelNull},
		})})
	_, err := dashboard.WebhookEndpoints.New(&api.WebhookEndpointParams{
		URL: new("https://gateway.example/webhooks/stripe"), EnabledEvents: api.StringSlice(billing.Events()),
		APIVersion: api.String(billing.APIVersion),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBillingCommand_SetUpCreatesProductsOnceAndChecksThem(t *testing.T) {
	t.Parallel()
	server, err := stripe.New(stripe.Options{Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(server)
	t.Cleanup(front.Close)
	env := map[string]string{
		"STRIPE_SECRET_KEY": stripe.DefaultSecretKey, "STRIPE_API_URL": front.URL,
		"PUBLIC_URL": "https://gateway.example",
	}
	exit, out, errs := run(t, env, "ops", "billing", "setup", "--check")
	expect.Equal(t, exit, 1, errs)
	expect.Contains(t, out, "missing", errs)
	expect.NotContains(t, out, "made", errs)
	for _, state := range []string{"made", "there"} {
		exit, out, errs := run(t, env, "ops", "billing", "setup")
		if done := state == "there"; (exit == 0) != done ||
			strings.Contains(errs, "add https://gateway.example/webhooks/stripe in Stripe's dashboard") == done {
			t.Fatalf("%s: exit code %d, %q, %q", state, exit, out, errs)
		}
		addEndpoint(t, front.URL) // as the output tells the operator to do
		for _, key := range []string{"pro_monthly", "scale_yearly", "builder", "pack_l"} {
			at := strings.Index(out, "price "+key)
			row, _, _ := strings.Cut(out[max(at, 0):], "\n")
			if at < 0 || !strings.Contains(row, state) {
				t.Errorf("%s is not %s: %q", key, state, out)
			}
		}
	}
}
