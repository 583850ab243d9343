package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/worker"
)

// slowStripe blocks all requests until it is released; then it returns an error.
type slowStripe struct {
	activities.Stripe // nothing else is called

	answer  chan struct{}
	mu      sync.Mutex // guards what follows
	waiting int
	most    int
}

func (s *slowStripe) Snapshot(ctx context.Context, _ string) (subscription.Snapshot, error) {
	s.count(1)
	defer s.count(-1)
	select {
	case <-s.answer:
	case <-ctx.Done():
	}
	return subscription.Snapshot{}, errors.New("not today")
}

func (s *slowStripe) ReadSession(context.Context, string) (subscription.Session, error) {
	return subscription.Session{}, errors.New("not today")
}

func (s *slowStripe) count(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting += by
	s.most = max(s.most, s.waiting)
}

func (s *slowStripe) seen() (waiting, limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting, s.most
}

// unread is a database with customers for whom Stripe was never read.
func unread(t *testing.T, customers int) *store.Store {
	t.Helper()
	url := testkit.Postgres(t)
	record, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)
	for i := range customers {
		a, err := record.CreateAccount(t.Context(), accountdb.NewAccount{
			ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Free,
		})
		if err == nil {
			_, err = record.PutCustomer(t.Context(), a.ID, fmt.Sprintf("cus_%d", i), "DE")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	if _, err := db.Exec(t.Context(),
		"UPDATE billing_customers SET created_at = created_at - interval '8 days'"); err != nil {
		t.Fatal(err)
	}
	return record
}

// Every customer is swept, page by page, with at most sixteen requests to Stripe at a time.
func TestCustomerSweep_DoesNotOverrunStripe(t *testing.T) {
	t.Parallel()
	const customers = 120 // more than a page
	record, server, slow := unread(t, customers), testkit.Temporal(t), &slowStripe{answer: make(chan struct{})}
	c, o := server.Dial(t), &outside{}
	w := o.worker(t, c, server.Namespace, func(options *worker.Options) {
		options.Store, options.NoticeInterval = record, 20*time.Millisecond
		options.Billing = &activities.Billing{
			Stripe: slow, Record: record, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		}
	})
	start(t, w)
	ready(t, w)
	var let sync.Once
	t.Cleanup(func() { let.Do(func() { close(slow.answer) }) }) // runs before the worker is stopped
	flows := func() int64 {
		found, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: server.Namespace, Query: "WorkflowType = 'subscription' AND ExecutionStatus = 'Running'",
		})
		if err != nil {
			return 0
		}
		return found.GetCount()
	}
	testkit.Eventually(t, testTimeout, func() bool { return flows() == customers }, "the flow of every customer looks")
	testkit.Eventually(t, testTimeout, func() bool { waiting, _ := slow.seen(); return waiting >= 16 }, "sixteen ask")
	let.Do(func() { close(slow.answer) })
	if _, limit := slow.seen(); limit != 16 {
		t.Errorf("%d asked at a time, want 16", limit)
	}
}

// Without a Stripe key the sweep must not run: the flows of all customers would wait in vain.
func TestCustomerSweep_SweepsNobodyWithoutPayments(t *testing.T) {
	t.Parallel()
	record, server := unread(t, 1), testkit.Temporal(t)
	c, o := server.Dial(t), &outside{}
	swept := &countedSweeps{Store: record}
	w := o.worker(t, c, server.Namespace, func(options *worker.Options) {
		options.Store, options.NoticeInterval = swept, 20*time.Millisecond
	})
	start(t, w)
	ready(t, w)
	testkit.Eventually(t, testTimeout, func() bool { return o.rounds(chain.EthMainnet) >= 5 }, "the worker works")
	if n := swept.asked(); n > 0 {
		t.Errorf("customers were looked for %d times", n)
	}
}

// countedSweeps counts the sweeps of customers.
type countedSweeps struct {
	*store.Store

	mu    sync.Mutex // guards looks
	looks int
}

func (s *countedSweeps) ListUnreadCustomers(ctx context.Context, lasting, others time.Time, after *billingdb.Customer,
	limit int,
) ([]billingdb.Customer, error) {
	s.mu.Lock()
	s.looks++
	s.mu.Unlock()
	return s.Store.ListUnreadCustomers(ctx, lasting, others, after, limit)
}

func (s *countedSweeps) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}
