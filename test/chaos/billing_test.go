package chaos_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/workflows"
)

// billingEnv is a gateway that sells through the sandbox's Stripe. The test alone delivers Stripe's
// events.
type billingEnv struct {
	*flowRig

	stripe *stripe.Server
	way    *billing.Stripe
	flows  *workflows.Client

	mu     sync.Mutex // guards what follows
	events []event
}

// event is a webhook as Stripe signed it.
type event struct{ kind, body, signature string }

func openBillingEnv(t *testing.T) *billingEnv {
	t.Helper()
	b := &billingEnv{}
	var err error
	b.stripe, err = stripe.New(stripe.Options{Clock: time.Now, Send: b.keep})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(b.stripe)
	t.Cleanup(front.Close)
	b.way, err = billing.New(billing.Options{SecretKey: stripe.DefaultSecretKey, APIURL: front.URL, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.way.SetUp(t.Context(), billing.SetUpOptions{}); err != nil {
		t.Fatal(err)
	}
	node := testkit.Upstream(t)
	node.On("eth_chainId", testkit.Result("0x1"))
	node.On("eth_blockNumber", testkit.Result("0x1000000"))
	b.flowRig = newFlowRig(t, fmt.Sprintf("chains:\n  eth_mainnet:\n    upstreams:\n      - { name: a, url: %q }\n",
		node.URL), "STRIPE_SECRET_KEY="+stripe.DefaultSecretKey, "STRIPE_WEBHOOK_SECRET="+stripe.DefaultWebhookSecret,
		"STRIPE_API_URL="+front.URL)
	b.flows = workflows.NewClient(b.temporal)
	return b
}

// keep receives Stripe's webhooks.
func (b *billingEnv) keep(_ context.Context, payload []byte, signature string) error {
	var e struct{ Type string }
	if err := json.Unmarshal(payload, &e); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event{e.Type, string(payload), signature})
	return nil
}

// owner creates an account that began the given number of months ago.
func (b *billingEnv) owner(months int) account.ID {
	b.t.Helper()
	id := account.NewID()
	_, err := b.store.CreateAccount(b.t.Context(),
		accountdb.NewAccount{ID: id, Kind: accountdb.KindOwner, Plan: plan.Free})
	b.must(err)
	_, err = b.db.Exec(b.t.Context(), "UPDATE accounts SET created_at = $2 WHERE id = $1", id.UUID,
		time.Now().AddDate(0, -months, 0))
	b.must(err)
	return id
}

// buy makes an account pay for an item.
func (b *billingEnv) buy(of account.ID, customer, key string) {
	b.t.Helper()
	ctx, now := b.t.Context(), time.Now()
	item, ok := plan.FindItem(key)
	if !ok {
		b.t.Fatalf("no %s is sold", key)
	}
	c, err := b.store.OpenCheckout(ctx, billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: of, Item: key, Country: "DE", OpenedAt: now,
		ExpiresAt: now.Add(time.Hour),
	})
	b.must(err)
	session, _, err := b.way.OpenCheckout(ctx, &billing.Checkout{
		ID: c.ID.String(), Account: of, Customer: customer, Item: item, VAT: true, SuccessURL: b.serve[0].url(),
		CancelURL: b.serve[0].url(), Expires: c.ExpiresAt,
	})
	b.must(err)
	b.must(b.store.SetCheckoutSession(ctx, c.ID, session))
	b.must(b.stripe.Pay(session, stripe.Visa))
}

// told returns the first event of a type that Stripe wants to deliver.
func (b *billingEnv) told(kind string) event {
	b.t.Helper()
	_, err := b.stripe.Deliver(b.t.Context())
	b.must(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.kind == kind {
			return e
		}
	}
	b.t.Fatalf("Stripe tells of no %s", kind)
	return event{}
}

// tell posts an event to the API and returns the status; 0 when there is no answer.
func (b *billingEnv) tell(e event) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.serve[0].url()+"/webhooks/stripe",
		strings.NewReader(e.body))
	b.must(err)
	req.Header.Set("Stripe-Signature", e.signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// answers waits until the API accepts requests, even if it is not ready.
func (b *billingEnv) answers() {
	b.t.Helper()
	testkit.Eventually(b.t, patience, func() bool {
		resp, err := http.Get(b.serve[0].url() + "/healthz") //nolint:noctx // of this machine
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, "the API answers: %s", b.serve[0].Tail(5))
}

// dies starts a worker that is killed at the given hit of a fault point, and waits for its death.
// The functions before run while it lives.
func (b *billingEnv) dies(at faultpoint.Point, hit int, before ...func()) {
	b.t.Helper()
	b.doomed(b.worker, at, hit)
	for _, do := range before {
		do()
	}
	b.buried(b.worker, string(at))
}

// lost fails the pending activity of a flow whose worker is dead. Temporal would otherwise notice
// only after the activity's timeout, a minute later.
func (b *billingEnv) lost(flow string) func() {
	dead := fmt.Sprintf("%d@", b.worker.PID())
	return func() {
		b.t.Helper()
		ctx, cancel := context.WithTimeout(b.t.Context(), patience)
		defer cancel()
		seen, err := b.temporal.DescribeWorkflowExecution(ctx, flow, "")
		b.must(err)
		for _, a := range seen.GetPendingActivities() {
			if a.GetState() != enums.PENDING_ACTIVITY_STATE_STARTED || !strings.HasPrefix(a.GetLastWorkerIdentity(),
				dead) {
				continue
			}
			err := b.temporal.CompleteActivityByID(ctx, b.space, flow, "", a.GetActivityId(), nil,
				temporal.NewApplicationError("its worker died", "lost"))
			b.must(err)
			return
		}
		b.t.Fatalf("%s has no activity of the dead worker: %v", flow, seen.GetPendingActivities())
	}
}

func TestBilling_PurchasesAndStatementsOutliveTheirProcesses(t *testing.T) {
	t.Parallel()
	b := openBillingEnv(t)
	b.purchases()
	b.statements()
	b.must(errors.Join(b.serve[0].Stop(t.Context()), b.worker.Stop(t.Context())))
	b.checkLogs()
}

// purchases kills the process that stored an event, the worker that signalled the flow, and the
// flow's workers between the steps of a reconciliation.
func (b *billingEnv) purchases() {
	b.t.Helper()
	ctx, api := b.t.Context(), b.serve[0]
	of := b.owner(0)
	customer, err := b.way.EnsureCustomer(ctx, of, "buyer@buyer.example", "DE")
	b.must(err)
	_, err = b.store.PutCustomer(ctx, of, customer, "DE")
	b.must(err)
	b.buy(of, customer, "pro_monthly")
	b.buy(of, customer, "pack_s")
	e, flow := b.told("invoice.paid"), workflows.SubscriptionID(of)

	b.doomed(api, faultpoint.EventStored, 1)
	b.answers()
	if status := b.tell(e); status != 0 {
		b.t.Fatalf("the process that is killed answered HTTP %d", status)
	}
	b.buried(api, string(faultpoint.EventStored))
	b.start(api)
	b.answers()
	if status := b.tell(e); status != http.StatusOK { // Stripe got no answer, so it retries
		b.t.Fatalf("told again, the API answered HTTP %d", status)
	}
	open := "SELECT count(*) FROM stripe_events WHERE result IS NULL"
	if n := b.number(open); n != 1 {
		b.t.Fatalf("%d events are open, want the one whose process died", n)
	}
	// old enough for the sweep, which takes its signal as lost
	_, err = b.db.Exec(ctx, "UPDATE stripe_events SET received_at = received_at - interval '2 minutes'")
	b.must(err)

	b.dies(faultpoint.EventSignalled, 1)
	if _, err := b.temporal.DescribeWorkflowExecution(ctx, flow, ""); err != nil || b.number(open) != 1 {
		b.t.Fatalf("the flow was not told (%v), or the event is marked", err)
	}
	b.dies(faultpoint.ReconcileStep, 3) // the purchase is granted
	if n := b.number("SELECT count(*) FROM packs WHERE account_id = $1", of.UUID); n != 1 || b.number(open) != 0 {
		b.t.Fatalf("%d packs are granted, %d events open", n, b.number(open))
	}
	b.dies(faultpoint.ReconcileStep, 5, b.lost(flow)) // failed charges are reported, and the checkouts are not ended
	again := b.lost(flow)
	b.start(b.worker)
	again()
	testkit.Eventually(b.t, patience, func() bool {
		return b.number("SELECT count(*) FROM checkouts WHERE account_id = $1 AND state = 'paid'", of.UUID) == 2
	}, "the purchases are done: %s", b.worker.Tail(5))

	for what, c := range map[string]struct {
		sql  string
		want int
	}{
		"events":         {"SELECT count(*) FROM stripe_events WHERE $1::uuid IS NOT NULL", 1},
		"events told":    {"SELECT count(*) FROM stripe_events WHERE result = 'signalled' AND $1::uuid IS NOT NULL", 1},
		"subscriptions":  {"SELECT count(*) FROM subscriptions WHERE account_id = $1 AND status = 'active'", 1},
		"packs":          {"SELECT count(*) FROM packs WHERE account_id = $1", 1},
		"invoices":       {"SELECT count(*) FROM invoices WHERE account_id = $1 AND status = 'paid'", 2},
		"accounts on it": {"SELECT count(*) FROM accounts WHERE id = $1 AND plan = 'pro'", 1},
	} {
		if n := b.number(c.sql, of.UUID); n != c.want {
			b.t.Errorf("%d %s, want %d", n, what, c.want)
		}
	}
	now, err := b.flows.LookAtSubscription(ctx, of)
	require.NoError(b.t, err)
	expect.Equal(b.t, now.Plan, plan.Pro)
	expect.Equal(b.t, now.Status, subscription.Active)
	expect.Empty(b.t, now.Odd)
}

// statements kills a worker in the transaction that closes a statement, and another one after the
// commit.
func (b *billingEnv) statements() {
	b.t.Helper()
	ctx := b.t.Context()
	of, key, digest := b.owner(4), account.NewKeyID(), make([]byte, 32)
	copy(digest, key.UUID[:])
	_, err := b.store.CreateKey(ctx, accountdb.NewKey{
		ID: key, Account: of, Digest: digest, Prefix: "cag_12345678",
		Door: account.DoorAccount, Daily: account.Unlimited,
	})
	b.must(err)
	// The month before the last one ended long ago, even on the first day of a month.
	month, _ := plan.CalendarMonth(time.Now())
	end := month.AddDate(0, -1, 0)
	begin := end.AddDate(0, -1, 0)
	name := begin.Format(time.DateOnly)
	b.must(b.store.CommitUsage(ctx, []account.UsageBucket{{
		Shard: account.Shard(of), Slot: end.Add(-time.Hour), Account: of, Generation: "g", Lines: []account.UsageLine{{
			Period: name, Key: key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
			Outcome: "ok", Source: "plan", Tier: "balanced", Requests: 7, Units: 7 * plan.Unit,
		}},
	}}))
	b.must(b.store.PutInvoices(ctx, of, []subscription.Invoice{{
		ID: "in_of_that_month", Status: subscription.InvoicePaid, Reason: "manual", Currency: "usd", Net: 1000,
		Total: 1000, Paid: 1000, CreatedAt: begin.Add(time.Hour), PaidAt: begin.Add(time.Hour), PeriodStart: begin,
		PeriodEnd: end,
	}}))
	testkit.Eventually(b.t, patience, func() bool {
		return b.number("SELECT count(*) FROM usage_watermarks WHERE watermark > $1",
			end.Add(time.Hour)) == account.Shards
	}, "all usage of that month is recorded")
	b.must(b.worker.Stop(ctx))

	closing := activities.Closing{
		Account: of, Period: activities.BillingPeriod{Key: name, Start: begin, End: end, Plan: plan.Free},
	}
	flow := workflows.StatementID(&closing)
	closed := "SELECT count(*) FROM statements WHERE account_id = $1 AND period = $2"
	told := "SELECT count(*) FROM statement_invoices WHERE account_id = $1 AND period = $2"
	b.must(b.flows.CloseStatement(ctx, closing))
	b.dies(faultpoint.StatementFrozen, 1)
	if n, m := b.number(closed, of.UUID, begin), b.number(told, of.UUID, begin); n+m != 0 {
		b.t.Fatalf("killed before it committed, the closing left %d statements that tell of %d invoices", n, m)
	}
	b.dies(faultpoint.StatementClosed, 1, b.lost(flow))
	hash := func() (text string) {
		b.t.Helper()
		var sum []byte
		var requests, units int64
		err := b.db.QueryRow(ctx,
			"SELECT content_hash, requests, units FROM statements WHERE account_id = $1 AND period = $2", of.UUID,
			begin).Scan(&sum, &requests, &units)
		b.must(err)
		if requests != 7 || units != int64(7*plan.Unit) {
			b.t.Errorf("the statement has %d requests of %d thousandths", requests, units)
		}
		return hex.EncodeToString(sum)
	}
	first := hash()
	again := b.lost(flow)
	b.start(b.worker)
	again()
	done, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var ended workflows.StatementEnd
	if err := b.temporal.GetWorkflow(done, flow, "").Get(done, &ended); err != nil || ended.Stage != "closed" {
		b.t.Errorf("the closing ended %+v, %v", ended, err)
	}
	now := hash()
	expect.Equal(b.t, now, first)
	expect.Equal(b.t, b.number(closed, of.UUID, begin), 1)
	expect.Equal(b.t, b.number(told, of.UUID, begin), 1)
	if !strings.Contains(ended.Hash, first) {
		b.t.Errorf("the flow was told the hash %q, want %s", ended.Hash, first)
	}
}
