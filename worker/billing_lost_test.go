package worker_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/worker"
	"github.com/chainaccess/gateway/workflows"
)

// The worker's sweeps repeat signals of a process that stored an event and died.
func TestStripeEvents_StoredAndUntoldAreFoundByASweep(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), testkit.Postgres(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	record, err := store.Open(ctx, url)
	must(err)
	t.Cleanup(record.Close)
	db, err := pgx.Connect(ctx, url)
	must(err)
	defer func() { _ = db.Close(ctx) }()
	buyer := func(customer string) account.ID {
		id := account.NewID()
		_, err := record.CreateAccount(ctx, accountdb.NewAccount{ID: id, Kind: accountdb.KindOwner, Plan: plan.Free})
		must(err)
		_, err = record.PutCustomer(ctx, id, customer, "DE")
		must(err)
		return id
	}
	checkout := func(of account.ID, session string, ago time.Duration) billingdb.Checkout {
		at := time.Now().Add(-ago)
		c, err := record.OpenCheckout(ctx, billingdb.Checkout{
			ID: billingdb.NewCheckoutID(), Account: of, Item: "pack_s", OpenedAt: at, ExpiresAt: at.Add(time.Hour),
		})
		must(err)
		if session != "" {
			must(record.SetCheckoutSession(ctx, c.ID, session))
		}
		return c
	}
	event := func(id, customer, age string) {
		_, err := record.RecordStripeEvent(ctx, &billingdb.StripeEvent{
			ID: id, Type: "invoice.paid", Customer: customer, CreatedAt: time.Now(),
		})
		must(err)
		_, err = db.Exec(ctx, "UPDATE stripe_events SET received_at = received_at - $2::interval WHERE id = $1",
			id, age)
		must(err)
	}
	told, stale, fresh := buyer("cus_told"), buyer("cus_stale"), buyer("cus_fresh")
	event("evt_lost", "cus_told", "2 minutes")
	event("evt_stranger", "cus_nobody", "2 minutes")
	event("evt_young", "cus_fresh", "0 minutes")
	must(record.UpdateCustomer(ctx, billingdb.Customer{
		Account: stale, ID: "cus_stale", ReadAt: time.Now().Add(-8 * 24 * time.Hour),
	}))
	must(record.UpdateCustomer(ctx, billingdb.Customer{Account: fresh, ID: "cus_fresh", ReadAt: time.Now()}))
	checkout(fresh, "cs_over", 2*time.Hour)
	never, open := checkout(fresh, "", 2*time.Hour), checkout(fresh, "cs_open", 0)

	answers := make(chan struct{})
	close(answers)
	server := testkit.Temporal(t)
	c, o := server.Dial(t), &outside{}
	w := o.worker(t, c, server.Namespace, func(options *worker.Options) {
		options.Store, options.NoticeInterval = record, 20*time.Millisecond
		options.Billing = &activities.Billing{
			Stripe: &slowStripe{answer: answers}, Record: record, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		}
	})
	start(t, w)
	ready(t, w)
	begun := func(id string) bool {
		_, err := c.DescribeWorkflowExecution(ctx, id, "")
		return err == nil
	}
	for _, id := range []string{
		workflows.SubscriptionID(told), workflows.SubscriptionID(stale), workflows.CheckoutID("cs_over"),
	} {
		testkit.Eventually(t, testTimeout, func() bool { return begun(id) }, "%s is begun", id)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		ended, err := record.FindCheckout(ctx, never.ID)
		return err == nil && ended.State == billingdb.CheckoutFailed
	}, "a checkout without a session ends")
	for id, want := range map[string]string{
		"evt_lost": activities.EventSignalled, "evt_stranger": activities.EventNobodys, "evt_young": "",
	} {
		t.Run(id, func(t *testing.T) {
			var result *string
			must(db.QueryRow(ctx, "SELECT result FROM stripe_events WHERE id = $1", id).Scan(&result))
			if (result == nil) != (want == "") || result != nil && *result != want {
				t.Errorf("%v, want %q", result, want)
			}
		})
	}
	for _, id := range []string{workflows.SubscriptionID(fresh), workflows.CheckoutID("cs_open")} {
		if begun(id) {
			t.Errorf("%s is begun, although nothing was lost", id)
		}
	}
	if c, err := record.FindCheckout(ctx, open.ID); err != nil || c.State != billingdb.CheckoutOpen {
		t.Errorf("an open checkout is %+v, %v", c, err)
	}
}
