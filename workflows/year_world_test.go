package workflows_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/workflows"
)

// world is an account, a Stripe, and everything between them, in simulated time. The workflow runs
// in Temporal's test environment, which skips time; the clocks of Stripe and Redis are set to it;
// PostgreSQL gets explicit instants. Webhooks are lost and delayed by the seed.
type world struct {
	t        *testing.T
	ctx      context.Context //nolint:containedctx // a test's own
	random   *mathrand.Rand
	redis    *testkit.RedisServer
	server   *stripe.Server
	way      *billing.Stripe
	api      string // URL of the server
	store    *store.Store
	meter    *meter.Meter
	limits   *limits.Limits
	compiler *statement.Compiler
	db       *pgx.Conn
	bought   *activities.Billing

	owner    account.ID
	users    []account.UserID
	customer string
	subject  *meter.Subject
	dies     int // probability in thousandths that a process dies before it hands on a stored event

	mu   sync.Mutex // guards what follows
	at   time.Time  // while no flow runs
	env  *testsuite.TestWorkflowEnvironment
	told bool // the flow has a signal that it did not act on yet

	carried *workflows.SubscriptionInput
	open    []activities.CheckoutRef
	closing []activities.Closing
	closed  map[string]int // by period: how many times the flow closed it
	script  []step
	over    bool
	used    map[string]plan.Units // by period
	looks   int
}

// step is a scheduled action.
type step struct {
	at time.Time
	do func()
}

func newWorld(t *testing.T, seed uint64, start time.Time, policy stripe.Policy) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*testTimeout)
	t.Cleanup(cancel)
	w := &world{
		//nolint:gosec // repeatable
		t: t, ctx: ctx, random: mathrand.New(mathrand.NewPCG(seed, 7)), at: start, owner: account.NewID(),
		used: map[string]plan.Units{}, closed: map[string]int{},
	}
	w.redis = testkit.Redis(t, testkit.WithClock())
	var err error
	w.server, err = stripe.New(stripe.Options{Start: start, Seed: seed, Policy: policy, Send: w.take})
	w.must(err)
	front := httptest.NewServer(w.server)
	t.Cleanup(front.Close)
	w.api = front.URL
	w.way, err = billing.New(billing.Options{SecretKey: stripe.DefaultSecretKey, APIURL: front.URL, Now: w.now})
	w.must(err)
	url := testkit.Postgres(t)
	w.store, err = store.Open(ctx, url)
	w.must(err)
	t.Cleanup(w.store.Close)
	w.db, err = pgx.Connect(ctx, url)
	w.must(err)
	t.Cleanup(func() { _ = w.db.Close(context.Background()) })
	w.clock()
	w.meter, err = meter.Open(ctx, w.redis.URL)
	w.must(err)
	t.Cleanup(func() { _ = w.meter.Close() })
	w.limits = limits.New(w.store, w.meter, nil, w.now)
	w.compiler = &statement.Compiler{Store: w.store, Now: w.now}
	mails, err := outbox.New(w.store, notify.Site{
		Name: "Chain Access Gateway", URL: publicURL, Contact: "help@gateway.example",
	}, pepper, w.now)
	w.must(err)
	w.bought = &activities.Billing{
		Stripe: w, Record: w.store, Limits: w.limits, Mails: &activities.ChargeMails{
			People: w.store, Letters: mails, PublicURL: publicURL,
		},
		Look: func(ctx context.Context, id account.ID) error { return w.SignalSubscription(ctx, id, "checkout") },
		Close: func(_ context.Context, c activities.Closing) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.closing = append(w.closing, c)
			w.closed[c.Period.Key]++
			return nil
		},
		Now: w.now, Logger: slog.New(slog.DiscardHandler),
	}
	w.populate()
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// populate creates the account with two users and a key, and its Stripe customer.
func (w *world) populate() {
	_, err := w.store.CreateAccount(w.ctx,
		accountdb.NewAccount{ID: w.owner, Kind: accountdb.KindOwner, Plan: plan.Free})
	w.must(err)
	_, err = w.db.Exec(w.ctx, "UPDATE accounts SET created_at = $2 WHERE id = $1", w.owner.UUID, w.at.Add(-time.Hour))
	w.must(err)
	for i := range 2 {
		user := account.UserID{UUID: uuid.Must(uuid.NewV7())}
		w.users = append(w.users, user)
		address := fmt.Sprintf("user%d@buyer.example", i)
		_, err = w.db.Exec(w.ctx, "INSERT INTO users (id, email, email_key, created_at) VALUES ($1, $2, $2, $3)",
			user.UUID, address, w.at)
		w.must(err)
		_, err = w.db.Exec(w.ctx,
			"INSERT INTO members (account_id, user_id, role, joined_at, last_used_at) VALUES ($1, $2, 'owner', $3, $3)",
			w.owner.UUID, user.UUID, w.at)
		w.must(err)
	}
	var digest account.Digest
	_, _ = rand.Read(digest[:])
	key := accountdb.NewKey{
		ID: account.NewKeyID(), Account: w.owner, Digest: digest[:], Prefix: "cag_12345678",
		Door: account.DoorAccount, Daily: account.Unlimited,
	}
	_, err = w.store.CreateKey(w.ctx, key)
	w.must(err)
	w.subject = meter.NewSubject(account.Identity{
		Key: key.ID, Account: w.owner, Door: account.DoorAccount, Plan: plan.Free,
	}, digest)
	_, err = w.way.SetUp(w.ctx, billing.SetUpOptions{})
	w.must(err)
	id, err := w.way.EnsureCustomer(w.ctx, w.owner, "user0@buyer.example", "DE")
	w.must(err)
	c, err := w.store.PutCustomer(w.ctx, w.owner, id, "DE")
	w.must(err)
	w.customer = c.ID
}

// now returns the simulated time.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.env != nil {
		return w.env.Now().UTC()
	}
	return w.at
}

// clock sets the clocks of Redis and Stripe to the simulated time.
func (w *world) clock() {
	now := w.now()
	w.redis.SetClock(w.t, time.Until(now))
	w.server.Advance(now)
}

// Snapshot and the methods below reach Stripe at the simulated time.
func (w *world) Snapshot(ctx context.Context, customer string) (subscription.Snapshot, error) {
	w.mu.Lock()
	w.told = false
	w.looks++
	w.mu.Unlock()
	w.clock()
	return w.way.Snapshot(ctx, customer)
}

func (w *world) ReadSession(ctx context.Context, session string) (subscription.Session, error) {
	return w.way.ReadSession(ctx, session)
}

func (w *world) CancelNow(ctx context.Context, sub, key string) error {
	return w.way.CancelNow(ctx, sub, key)
}

func (w *world) RefundPayment(ctx context.Context, payment, key string) error {
	return w.way.RefundPayment(ctx, payment, key)
}

func (w *world) SetTax(ctx context.Context, sub string, vat bool) error {
	return w.way.SetTax(ctx, sub, vat)
}

// take receives a webhook: it stores an event once and hands it on, unless the process dies in
// between.
func (w *world) take(ctx context.Context, payload []byte, signature string) error {
	from, err := billing.ReadEvent(payload, signature, stripe.DefaultWebhookSecret, w.server.Now())
	if err != nil {
		return err
	}
	e := &billingdb.StripeEvent{
		ID: from.ID, Type: from.Type, APIVersion: from.APIVersion, Object: from.Object, Customer: from.Customer,
		Session: from.Session, CreatedAt: from.Created,
	}
	if _, err := w.store.RecordStripeEvent(ctx, e); err != nil {
		return err
	}
	if w.random.IntN(1000) < w.dies {
		return nil // Stripe got its answer
	}
	_, err = activities.HandOn(ctx, w.store, w, e)
	return err
}

// SignalSubscription signals the flow, or has it started.
func (w *world) SignalSubscription(_ context.Context, _ account.ID, hint string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = true
	if w.env != nil {
		w.env.SignalWorkflow(workflows.SignalLook, hint)
	}
	return nil
}

// SignalCheckout is not needed: open checkouts are followed every minute here.
func (w *world) SignalCheckout(context.Context, activities.CheckoutRef, string) error { return nil }

// turn does everything that is due.
func (w *world) turn() {
	w.clock()
	_, err := w.server.Deliver(w.ctx)
	w.must(err)
	events, err := w.store.ListOpenStripeEvents(w.ctx, 0, 100)
	w.must(err)
	for i := range events { // the worker's sweeps
		_, err := activities.HandOn(w.ctx, w.store, w, &events[i])
		w.must(err)
	}
	unread, err := w.store.ListUnreadCustomers(w.ctx, w.now().Add(-26*time.Hour), w.now().Add(-7*24*time.Hour),
		nil, 100)
	w.must(err)
	for i := range unread {
		w.must(w.SignalSubscription(w.ctx, unread[i].Account, "sweep"))
	}
	var open []activities.CheckoutRef
	for _, ref := range w.open {
		state, err := w.bought.FollowCheckout(w.ctx, ref)
		w.must(err)
		if state == activities.CheckoutOpen || state == activities.CheckoutPaying {
			open = append(open, ref)
		}
	}
	w.open = open
	w.freeze()
	for len(w.script) > 0 && !w.script[0].at.After(w.now()) {
		do := w.script[0].do
		w.script = w.script[1:]
		do()
	}
}

// freeze closes the statements that the flow asked for and whose usage is flushed.
func (w *world) freeze() {
	w.mu.Lock()
	due := w.closing
	w.closing = nil
	w.mu.Unlock()
	for _, c := range due {
		if w.now().Before(c.Period.End.Add(statement.Grace + time.Minute)) {
			w.later(c)
			continue
		}
		w.flush()
		owner, err := w.store.LoadAccount(w.ctx, w.owner)
		w.must(err)
		report, err := w.compiler.Close(w.ctx, []accountdb.Account{owner}, statement.Only(c.Period.Key))
		w.must(err)
		if report.Waiting == 1 && w.now().Before(c.Period.End.Add(statement.Grace+noticed)) {
			w.later(c) // usage was booked to the period until the cut was noticed
			continue
		}
		if report.Closed != 1 {
			w.t.Errorf("closing %+v gave %+v", c.Period, report)
		}
	}
}

// noticed bounds how long after a cut it is noticed, even if Stripe is silent.
const noticed = 10 * time.Minute

// later leaves a statement to the next turn.
func (w *world) later(c activities.Closing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = append(w.closing, c)
}

func (w *world) flush() {
	w.must(flush.New(w.meter, w.store, flush.FromStore(w.store), flush.Options{
		Logger: slog.New(slog.DiscardHandler),
	}).FlushAll(w.ctx))
}

// next returns when something is due next: at least twice a day, and soon while a purchase or a
// closing is in progress.
func (w *world) next() time.Time {
	now := w.now()
	at := now.Add(12 * time.Hour)
	sooner := func(t time.Time) {
		if t.Before(at) {
			at = t
		}
	}
	if len(w.script) > 0 {
		sooner(w.script[0].at)
	}
	if due, ok := w.server.Next(); ok {
		sooner(due)
	}
	if n, due := w.server.Waiting(); n > 0 {
		sooner(due)
	}
	w.mu.Lock()
	if len(w.open) > 0 || len(w.closing) > 0 {
		sooner(now.Add(time.Minute))
	}
	w.mu.Unlock()
	if least := now.Add(time.Second); at.Before(least) {
		return least
	}
	return at
}

// live runs the script to its end, with the flow while there is one.
func (w *world) live() {
	for !w.over {
		w.mu.Lock()
		begin := w.told || w.carried != nil
		w.mu.Unlock()
		if begin {
			w.run()
			continue
		}
		next := w.next()
		w.mu.Lock()
		w.at = next
		w.mu.Unlock()
		w.turn()
	}
}

// run runs the flow until it ends or continues as new.
func (w *world) run() {
	env := newEnvironment()
	env.SetStartTime(w.at)
	env.SetTestTimeout(testTimeout)
	workflows.RegisterBilling(env)
	env.RegisterActivity(w.bought)
	in := workflows.SubscriptionInput{Account: w.owner}
	w.mu.Lock()
	if w.carried != nil {
		in, w.carried = *w.carried, nil
	}
	signal := w.told
	w.env = env
	w.mu.Unlock()
	if signal {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalLook, "begin") }, 0)
	}
	var schedule func()
	schedule = func() {
		env.RegisterDelayedCallback(func() {
			w.turn()
			if w.over {
				env.CancelWorkflow()
				return
			}
			schedule()
		}, w.next().Sub(w.now()))
	}
	schedule()
	env.ExecuteWorkflow(workflows.SubscriptionWorkflow, in)
	err := env.GetWorkflowError()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.env = env.Now().UTC(), nil
	if next, ok := errors.AsType[*workflow.ContinueAsNewError](err); ok {
		w.carried = &workflows.SubscriptionInput{}
		w.must(converter.GetDefaultDataConverter().FromPayloads(next.Input, w.carried))
		return
	}
	if err != nil && !w.over {
		w.t.Fatal(err)
	}
}
