package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/store/usagedb"
	"github.com/chainaccess/gateway/worker"
	"github.com/chainaccess/gateway/workflows"
)

const (
	// testTimeout is longer than an activity of one minute that is lost on its way to a worker,
	// plus its retry.
	testTimeout = 150 * time.Second
	// canary is the credential in an upstream's URL.
	canary = "canary-77c1e0"
)

// outside fakes what a worker uses beyond Temporal, and records its calls.
type outside struct {
	mu        sync.Mutex // guards all below
	published []upstream.Snapshot
	probeErr  error
	upkeeps   int
	flushing  bool
	sending   bool
	flushes   int
}

func (o *outside) Recall(chain.ID, upstream.Posted) {}

func (o *outside) Read(context.Context, chain.ID) (upstream.Posted, error) {
	return upstream.Posted{}, nil
}

func (o *outside) Probe(_ context.Context, id chain.ID) (upstream.Snapshot, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.probeErr != nil {
		return upstream.Snapshot{}, o.probeErr
	}
	return upstream.Snapshot{
		Chain: id, Head: uint64(len(o.published)), HeadKnown: true, MeasuredAt: time.Now(),
		Upstreams: []upstream.UpstreamState{{Name: "first", Usable: true, ChainIDOK: true}},
	}, nil
}

func (o *outside) Publish(_ context.Context, s upstream.Snapshot) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.published = append(o.published, s)
	return nil
}

func (o *outside) EnsurePartitions(context.Context, time.Time, int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.upkeeps++
	return 1, nil
}

func (o *outside) DropPartitionsBefore(context.Context, time.Time) (int, error) { return 0, nil }

func (o *outside) SweepPeople(context.Context, time.Time, int) (int64, error) { return 0, nil }

func (o *outside) DeleteIdleEntries(context.Context, time.Time, int) (int64, error) { return 0, nil }

func (o *outside) UsageWatermark(context.Context) (time.Time, error) { return time.Now(), nil }

func (o *outside) SweepAnonymousKeys(_ context.Context, after account.KeyID, _ accountdb.AnonymousSweep,
	_ int,
) (accountdb.SweptKeys, account.KeyID, bool, error) {
	return accountdb.SweptKeys{}, after, false, nil
}

func (o *outside) DeleteFlushesBefore(context.Context, time.Time) (int64, error) { return 0, nil }

// OpenNotices and the methods below have no notices; other tests use a real database.
func (o *outside) OpenNotices(context.Context, time.Duration, int) ([]usagedb.UsageNotice, error) {
	return nil, nil
}

func (o *outside) FindNotice(context.Context, usagedb.NoticeID) (usagedb.UsageNotice, error) {
	return usagedb.UsageNotice{}, store.ErrNotFound
}

func (o *outside) StartNotice(context.Context, usagedb.NoticeID) error { return store.ErrNotFound }

func (o *outside) EndNotice(context.Context, usagedb.NoticeID, string, bool) (string, error) {
	return "", store.ErrNotFound
}

func (o *outside) LoadAccount(context.Context, account.ID) (accountdb.Account, error) {
	return accountdb.Account{}, store.ErrNotFound
}

func (o *outside) PeriodTotals(context.Context, usagedb.UsagePeriod) (usagedb.PeriodTotals, error) {
	return usagedb.PeriodTotals{}, nil
}

// ListUntoldTickets and the methods below have no tickets; other tests use a real database.
func (o *outside) ListUntoldTickets(context.Context, time.Time, time.Time, ticket.Number,
	int,
) ([]supportdb.TicketNews, error) {
	return nil, nil
}

func (o *outside) MarkTicketTold(context.Context, supportdb.TicketNews) error {
	return store.ErrNotFound
}

func (o *outside) CloseTicket(context.Context, ticket.Number, time.Time) (supportdb.Ticket, error) {
	return supportdb.Ticket{}, store.ErrNotFound
}

func (o *outside) DeleteLatencyBefore(context.Context, time.Time) (int64, error) { return 0, nil }

func (o *outside) DeleteChainSlotsBefore(context.Context, time.Time) (int64, error) { return 0, nil }

func (o *outside) Run(ctx context.Context) error {
	o.set(func() { o.flushing = true; o.flushes++ })
	<-ctx.Done()
	o.set(func() { o.flushing = false })
	return nil
}

func (o *outside) Failed() error { return nil }

func (o *outside) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// rounds counts the published rounds of a chain.
func (o *outside) rounds(id chain.ID) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, s := range o.published {
		if s.Chain == id {
			n++
		}
	}
	return n
}

// courier is the mail sender of an outside.
type courier struct{ *outside }

// Run works until ctx ends.
func (c courier) Run(ctx context.Context) {
	c.set(func() { c.sending = true })
	<-ctx.Done()
	c.set(func() { c.sending = false })
}

func (o *outside) worker(t *testing.T, c client.Client, namespace string, change func(*worker.Options)) *worker.Worker {
	t.Helper()
	options := worker.Options{
		Temporal: c, Namespace: namespace, Store: o, Messenger: activities.NoRecipients{}, Doors: &activities.Doors{},
		Settlements: &activities.Settlements{}, Billing: &activities.Billing{}, Statements: &activities.Statements{},
		Prober: o, Board: o, Flusher: o, Mails: courier{o}, Now: time.Now,
		Chains: func() []chain.ID {
			return []chain.ID{chain.EthMainnet, chain.SolanaMainnet}
		}, Logger: slog.New(slog.DiscardHandler),
		ProbeInterval: 100 * time.Millisecond, ProbeTimeout: 5 * time.Second, CheckInterval: 100 * time.Millisecond,
		MaxBackoff: time.Second,
	}
	if change != nil {
		change(&options)
	}
	w, err := worker.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// start runs a worker and returns the function that stops it and waits for its end.
func start(t *testing.T, w *worker.Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func ready(t *testing.T, w *worker.Worker) {
	t.Helper()
	testkit.Eventually(t, testTimeout, func() bool { return w.Ready() == nil }, "the worker is ready: %v", w.Ready())
}

func details(t *testing.T, c client.Client, id chain.ID) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	value, err := c.QueryWorkflow(ctx, workflows.ProbeID(id), "", "__temporal_workflow_metadata")
	if err != nil {
		t.Fatal(err)
	}
	var metadata sdkpb.WorkflowMetadata
	if err := value.Get(&metadata); err != nil {
		t.Fatal(err)
	}
	return metadata.GetCurrentDetails()
}

// eventsOf reads the history of a workflow's newest run.
func eventsOf(t *testing.T, c client.Client, id string) []*history.HistoryEvent {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	var events []*history.HistoryEvent
	pages := c.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for pages.HasNext() {
		event, err := pages.Next()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	return events
}

// historyOf returns everything that the server stores of a workflow, as text with decoded payloads.
func historyOf(t *testing.T, c client.Client, id string) string {
	t.Helper()
	var all strings.Builder
	for _, event := range eventsOf(t, c, id) {
		all.WriteString(protojson.Format(event))
		for _, p := range event.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads() {
			all.Write(p.GetData())
		}
	}
	return all.String()
}

func TestProbe_PublishesAndSurvivesARestartOfTheWorker(t *testing.T) {
	t.Parallel()
	server := testkit.Temporal(t)
	c := server.Dial(t)
	o := &outside{}
	first := o.worker(t, c, server.Namespace, nil)
	stop := start(t, first)
	ready(t, first)
	for _, id := range []chain.ID{chain.EthMainnet, chain.SolanaMainnet} {
		testkit.Eventually(t, testTimeout, func() bool {
			return o.rounds(id) >= 3
		}, "three rounds of %s are published", id)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.upkeeps > 0
	}, "the partition upkeep ran at the start")
	if got := details(t, c, chain.EthMainnet); !strings.Contains(got, "| first | usable |") {
		t.Errorf("the probe shows %q", got)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		found, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: server.Namespace, Query: "Stage = 'healthy' AND ExecutionStatus = 'Running'",
		})
		return err == nil && found.GetCount() == 2
	}, "both probes are found by their stage")

	stop()
	stopped := o.rounds(chain.EthMainnet)
	before, err := c.DescribeWorkflowExecution(context.Background(), workflows.ProbeID(chain.EthMainnet), "")
	if err != nil {
		t.Fatal(err)
	}
	// The next deployment asks for rounds an hour apart: the same run adopts the new interval.
	second := o.worker(t, c, server.Namespace, func(w *worker.Options) { w.ProbeInterval = time.Hour })
	start(t, second)
	ready(t, second)
	testkit.Eventually(t, testTimeout, func() bool { return o.rounds(chain.EthMainnet) > stopped }, "the probe goes on")
	after, err := c.DescribeWorkflowExecution(context.Background(), workflows.ProbeID(chain.EthMainnet), "")
	if err != nil {
		t.Fatal(err)
	}
	if first, now := before.GetWorkflowExecutionInfo(),
		after.GetWorkflowExecutionInfo(); first.GetExecution().GetRunId() != now.GetExecution().GetRunId() {
		t.Error("the restart began another run of the probe")
	}
	testkit.Eventually(t, testTimeout, func() bool {
		for _, event := range eventsOf(t, c, workflows.ProbeID(chain.EthMainnet)) {
			if event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration() > time.Hour/2 {
				return true
			}
		}
		return false
	}, "the probe waits an hour for the next round")
}

func TestProbe_AddedChainIsProbedAtOnce(t *testing.T) {
	t.Parallel()
	server := testkit.Temporal(t)
	o := &outside{}
	var chains atomic.Pointer[[]chain.ID]
	chains.Store(&[]chain.ID{chain.EthMainnet})
	w := o.worker(t, server.Dial(t), server.Namespace, func(options *worker.Options) {
		options.Chains = func() []chain.ID { return *chains.Load() }
		options.ProbeInterval = time.Hour
	})
	start(t, w)
	ready(t, w)
	testkit.Eventually(t, testTimeout, func() bool {
		return o.rounds(chain.EthMainnet) > 0
	}, "the first chain is probed")
	before := o.rounds(chain.EthMainnet)
	if o.rounds(chain.BaseMainnet) != 0 {
		t.Fatal("the other chain is probed before it is there")
	}
	chains.Store(&[]chain.ID{chain.EthMainnet, chain.BaseMainnet})
	w.ChainsChanged()
	testkit.Eventually(t, testTimeout, func() bool {
		return o.rounds(chain.BaseMainnet) > 0 && o.rounds(chain.EthMainnet) > before
	}, "the added chain is probed, and the other one again")
}

func TestProbe_HistoriesHoldNoAddressOfAnUpstream(t *testing.T) {
	t.Parallel()
	server := testkit.Temporal(t)
	c := server.Dial(t)
	o := &outside{probeErr: errors.New("Post https://" + canary + ".example: no such host")}
	w := o.worker(t, c, server.Namespace, nil)
	start(t, w)
	ready(t, w)
	testkit.Eventually(t, testTimeout, func() bool {
		return strings.Contains(details(t, c, chain.EthMainnet), "rounds failed in a row")
	}, "the failure shows in the details")
	o.set(func() { o.probeErr = nil })
	for _, id := range []chain.ID{chain.EthMainnet, chain.SolanaMainnet} {
		testkit.Eventually(t, testTimeout, func() bool {
			return o.rounds(id) > 0 && details(t, c, id) != ""
		}, "the probe of %s recovers", id)
		for what, text := range map[string]string{
			"history": historyOf(t, c, workflows.ProbeID(id)), "details": details(t, c, id),
		} {
			if text == "" || strings.Contains(text, canary) {
				t.Errorf("the %s of %s is empty or holds the address of an upstream", what, id)
			}
		}
	}
}

func TestWorker_FlushesUsageAndSendsMailsWithoutTemporal(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewLazyClient(client.Options{
		HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o := &outside{}
	w := o.worker(t, c, "", nil)
	stop := start(t, w)
	testkit.Eventually(t, testTimeout, func() bool {
		return w.Ready() != nil && strings.Contains(w.Ready().Error(), "TEMPORAL_ADDRESS")
	}, "the worker says what it waits for: %v", w.Ready())
	o.mu.Lock()
	flushing := o.flushing
	o.mu.Unlock()
	testkit.Eventually(t, testTimeout, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.sending
	}, "mails are sent while Temporal is away")
	if !flushing {
		t.Error("usage is not flushed while Temporal is away")
	}
	stop()
	if o.flushing || o.flushes != 1 {
		t.Errorf("the flusher was started %d times and still runs: %t", o.flushes, o.flushing)
	}
	if o.sending {
		t.Error("the courier was left behind")
	}
}

func TestWorker_NamesAMissingNamespaceAndThenPreparesIt(t *testing.T) {
	t.Parallel()
	server := testkit.Temporal(t)
	options := client.Options{HostPort: server.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
	options.Namespace = server.Namespace + "-new"
	c, err := client.NewLazyClient(options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o := &outside{}
	w := o.worker(t, c, options.Namespace, nil)
	start(t, w)
	testkit.Eventually(t, testTimeout, func() bool {
		return w.Ready() != nil && strings.Contains(w.Ready().Error(),
			"temporal operator namespace create -n "+options.Namespace)
	}, "the worker says how to make the namespace: %v", w.Ready())

	namespaces, err := client.NewNamespaceClient(options)
	if err != nil {
		t.Fatal(err)
	}
	defer namespaces.Close()
	err = namespaces.Register(context.Background(), &workflowservice.RegisterNamespaceRequest{
		Namespace: options.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	ready(t, w)
	testkit.Eventually(t, testTimeout, func() bool {
		return o.rounds(chain.EthMainnet) > 1
	}, "the probe runs, with its search attribute")
}

func TestWorker_NeedsItsDependencies(t *testing.T) {
	t.Parallel()
	if _, err := worker.New(worker.Options{}); err == nil {
		t.Error("a worker without anything was made")
	}
}
