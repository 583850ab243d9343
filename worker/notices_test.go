package worker_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
	"github.com/chainaccess/gateway/worker"
	"github.com/chainaccess/gateway/workflows"
)

// metered is an account with a small quota, on a real meter and a real database.
type metered struct {
	ctx     context.Context //nolint:containedctx // a test's own
	store   *store.Store
	meter   *meter.Meter
	limits  *limits.Limits
	subject *meter.Subject
	account account.ID
}

func newMetered(t *testing.T, quota plan.Units) *metered {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*testTimeout)
	t.Cleanup(cancel)
	m := &metered{ctx: ctx, account: account.NewID()}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	m.store, err = store.Open(ctx, testkit.Postgres(t))
	must(err)
	t.Cleanup(m.store.Close)
	m.meter, err = meter.Open(ctx, testkit.Redis(t).URL)
	must(err)
	t.Cleanup(func() { _ = m.meter.Close() })
	hasher, err := account.NewHasher(bytes.Repeat([]byte("pepper"), 8))
	must(err)
	m.limits = limits.New(m.store, m.meter, hasher, time.Now)
	_, err = m.store.CreateAccount(ctx, accountdb.NewAccount{
		ID: m.account, Kind: accountdb.KindOwner,
		Plan: plan.Enterprise,
	})
	must(err)
	contract := account.Custom{Quota: quota, Rate: account.RateWindow{Limit: 1000, Per: time.Second}}
	_, err = m.limits.SetEnterprise(ctx, m.account, contract, accountdb.Author{
		Actor: "operator", Origin: "ops", Reason: "a test",
	})
	must(err)
	var digest account.Digest
	_, err = rand.Read(digest[:])
	must(err)
	key := accountdb.NewKey{
		ID: account.NewKeyID(), Account: m.account, Digest: digest[:], Prefix: "cag_12345678",
		Door: account.DoorAccount, Daily: account.Unlimited,
	}
	_, err = m.store.CreateKey(ctx, key)
	must(err)
	m.subject = meter.NewSubject(account.Identity{Key: key.ID, Account: m.account, Plan: plan.Enterprise}, digest)
	return m
}

// use makes calls of one unit each, and flushes them.
func (m *metered) use(t *testing.T, calls int) {
	t.Helper()
	for range calls {
		_, a, err := m.limits.AdmitOrLoad(m.ctx, m.subject, &meter.Call{
			Units: plan.Unit, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
			Tier: "balanced",
		})
		if err != nil || !a.Admitted {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if err := flush.New(m.meter, m.store, flush.FromStore(m.store), flush.Options{
		Logger: slog.New(slog.DiscardHandler),
	}).FlushAll(m.ctx); err != nil {
		t.Fatal(err)
	}
}

// ref returns the reference of a notice in the account's current period.
func (m *metered) ref(t *testing.T, percent int) activities.NoticeRef {
	t.Helper()
	now, err := m.meter.Now(m.ctx)
	if err != nil {
		t.Fatal(err)
	}
	start, _ := plan.CalendarMonth(now)
	return activities.NoticeRef{Account: m.account, Period: start.Format(time.DateOnly), Percent: percent}
}

func (m *metered) row(t *testing.T, percent int) (n usagedb.UsageNotice, found bool) {
	t.Helper()
	ref := m.ref(t, percent)
	n, err := m.store.FindNotice(m.ctx, usagedb.NoticeID{
		UsagePeriod: usagedb.UsagePeriod{Account: ref.Account, Period: ref.Period}, Percent: percent,
	})
	return n, err == nil
}

// runs counts the runs of notice workflows in any state.
func runs(t *testing.T, c client.Client, namespace string) int64 {
	t.Helper()
	found, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: namespace, Query: "WorkflowType = '" + workflows.UsageNoticeWorkflow + "'",
	})
	if err != nil {
		t.Fatal(err)
	}
	return found.GetCount()
}

func TestNotice_IsDeliveredOnceByAnyWorker(t *testing.T) {
	t.Parallel()
	const quota = 50
	m := newMetered(t, quota*plan.Unit)
	server := testkit.Temporal(t)
	c := server.Dial(t)
	o := &outside{}
	// Noticed before any worker runs: the row waits in PostgreSQL.
	m.use(t, quota*4/5)
	n, found := m.row(t, 80)
	in := expect.In(t, "the flush noticed")
	require.True(in, found)
	require.True(in, n.StartedAt.IsZero())
	require.Equal(in, n.Units, quota*4/5*plan.Unit)
	for range 2 {
		w := o.worker(t, c, server.Namespace, func(options *worker.Options) {
			options.Store = m.store
			options.NoticeInterval = 20 * time.Millisecond
		})
		start(t, w)
		ready(t, w)
	}
	ended := func(percent int) {
		t.Helper()
		testkit.Eventually(t, testTimeout, func() bool {
			n, found := m.row(t, percent)
			return found && n.Result == activities.NoticeNoRecipient && !n.StartedAt.IsZero() && n.DeliveredAt.IsZero()
		}, "the notice of %d percent says that there is nobody to write to", percent)
		var result string
		if err := c.GetWorkflow(m.ctx, workflows.UsageNoticeID(m.ref(t, percent)), "").Get(m.ctx,
			&result); err != nil || result != activities.NoticeNoRecipient {
			t.Errorf("the workflow of %d percent ended with %q, %v", percent, result, err)
		}
	}
	ended(80)
	m.use(t, 1) // above the same share again
	if _, found := m.row(t, 100); found {
		t.Fatal("all of the allowance was noticed before it was used")
	}
	m.use(t, quota/5-1)
	ended(100)
	testkit.Eventually(t, testTimeout, func() bool {
		return runs(t, c, server.Namespace) == 2
	}, "there are two runs, one for each notice")
}

func TestNotice_LostByTemporalIsStartedAgain(t *testing.T) {
	t.Parallel()
	const quota = 5
	m := newMetered(t, quota*plan.Unit)
	m.use(t, quota*4/5)
	ref := m.ref(t, 80)
	server := testkit.Temporal(t)
	c := server.Dial(t)
	// A terminated run leaves the row without a result.
	durable := workflows.NewClient(c)
	for range 2 { // the second start finds the first
		if err := durable.StartUsageNotice(m.ctx, ref); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.TerminateWorkflow(m.ctx, workflows.UsageNoticeID(ref), "", "a test"); err != nil {
		t.Fatal(err)
	}
	o := &outside{}
	w := o.worker(t, c, server.Namespace, func(options *worker.Options) {
		options.Store = m.store
		options.NoticeInterval = 20 * time.Millisecond
	})
	start(t, w)
	testkit.Eventually(t, testTimeout, func() bool {
		n, found := m.row(t, 80)
		return found && n.Result == activities.NoticeNoRecipient
	}, "the notice is delivered by another run")
	var result string
	if err := c.GetWorkflow(m.ctx, workflows.UsageNoticeID(ref), "").Get(m.ctx, &result); err != nil ||
		result != activities.NoticeNoRecipient {
		t.Errorf("the workflow ended with %q, %v", result, err)
	}
	// It has a result, so nothing starts it again.
	if err := durable.StartUsageNotice(m.ctx, ref); err != nil {
		t.Errorf("beginning it again gave %v", err)
	}
	described, err := c.DescribeWorkflowExecution(m.ctx, workflows.UsageNoticeID(ref), "")
	if err != nil || described.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("the workflow is %s, %v, want it left completed",
			described.GetWorkflowExecutionInfo().GetStatus(), err)
	}
}
