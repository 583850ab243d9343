// Package worker runs the worker role. It registers workflows and activities on their task queues,
// starts the probes, maintains the schedules, and runs the usage flusher and the mail sender. Those
// two do not need Temporal: while it is down usage is still flushed and mails are sent, and the
// rest is retried. The package contains no business rules.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/workflows"
)

// Flusher moves usage to PostgreSQL until its context ends.
type Flusher interface {
	Run(ctx context.Context) error
	Failed() error
}

// MailSender sends mails until its context ends.
type MailSender interface {
	Run(ctx context.Context)
}

// Store is the part of PostgreSQL that workflows use.
type Store interface {
	activities.PartitionStore
	activities.NoticeStore
	BillingStore
	TicketStore
	ListUnconfirmed(ctx context.Context, older, younger time.Duration, after *paymentdb.Settlement,
		limit int) ([]paymentdb.Settlement, error)
}

// Options configures a Worker. Fields without a default are required. The comment of a field ends
// with its default.
type Options struct {
	// Temporal should be a lazy connection, because the worker itself waits for the server. The
	// caller closes it.
	Temporal  client.Client
	Namespace string // of that connection; "default"
	Store     Store
	Messenger activities.Messenger
	Doors     *activities.Doors
	// Settlements is required even if nothing is sold: earlier settlements are watched to their
	// end.
	Settlements *activities.Settlements
	// Billing is required even if payments are off: what was bought earlier is maintained.
	Billing    *activities.Billing
	Statements *activities.Statements
	Prober     activities.Prober
	Board      activities.Board
	Flusher    Flusher
	Mails      MailSender
	Chains     func() []chain.ID // chains to probe, read at every start and after ChainsChanged
	Now        func() time.Time
	Logger     *slog.Logger // slog.Default()
	// OnSwept is called with the result of each page of swept anonymous keys; nil for none.
	OnSwept func(accountdb.SweptKeys)

	KeepCallDays int // retention of call records; 30

	ProbeInterval  time.Duration // between rounds of a chain's probe; the workflow's default, five seconds
	ProbeTimeout   time.Duration // of one attempt; the workflow's default, ten seconds
	NoticeInterval time.Duration // between sweeps of notices, tickets and billing; ten seconds
	FinalityDelay  time.Duration // from a grant until its finality is checked; twenty minutes
	CheckInterval  time.Duration // between checks of Temporal, which restore what is missing; ten seconds
	MaxBackoff     time.Duration // maximum between attempts to start; thirty seconds
	StopTimeout    time.Duration // for running activities when the worker stops; ten seconds
}

// stickyTimeout is how long a workflow task waits for the worker that has the workflow in its
// cache.
const stickyTimeout = 2 * time.Second

// firstBackoff is the pause after the first failed attempt to start; it doubles.
const firstBackoff = time.Second

// errStarting is the state before the first attempt ended.
var errStarting = errors.New("the worker is starting")

// Worker is one process of the worker role. Any number may run concurrently.
type Worker struct {
	o Options

	changed chan struct{} // by ChainsChanged
	found   bool          // the namespace was found once; owned by keepDurable's goroutine
	swept   time.Time     // last sweep of settlements; owned by sweepSettlements' goroutine

	mu      sync.Mutex // guards durable
	durable error      // why workflows are not run; nil when they are
}

// New returns a worker, which does nothing before Run.
func New(o Options) (*Worker, error) {
	if o.Temporal == nil || o.Store == nil || o.Messenger == nil || o.Doors == nil || o.Settlements == nil ||
		o.Billing == nil || o.Statements == nil || o.Prober == nil || o.Board == nil ||
		o.Flusher == nil || o.Mails == nil || o.Chains == nil || o.Now == nil {
		return nil, errors.New(
			"worker: Temporal, Store, Messenger, Doors, Settlements, Billing, Statements, Prober, Board, Flusher, " +
				"Mails, Chains and Now are required")
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	for value, byDefault := range map[*time.Duration]time.Duration{
		&o.NoticeInterval: 10 * time.Second, &o.FinalityDelay: 20 * time.Minute, &o.CheckInterval: 10 * time.Second,
		&o.MaxBackoff: 30 * time.Second, &o.StopTimeout: 10 * time.Second,
	} {
		if *value <= 0 {
			*value = byDefault
		}
	}
	return &Worker{o: o, changed: make(chan struct{}, 1), durable: errStarting}, nil
}

// Run works until ctx ends, then lets running activities finish and flushes once more. Failures of
// Temporal are logged and retried, so the error is the flusher's last one, if any.
func (w *Worker) Run(ctx context.Context) error {
	var (
		beside sync.WaitGroup
		err    error
	)
	beside.Go(func() { w.keepDurable(ctx) })
	beside.Go(func() { w.o.Mails.Run(ctx) })
	if flushErr := w.o.Flusher.Run(ctx); flushErr != nil {
		err = fmt.Errorf("usage flusher: %w", flushErr)
	}
	beside.Wait()
	return err
}

// ChainsChanged tells the worker that chains or upstreams have changed: it starts new probes, and
// running ones begin a round at once.
func (w *Worker) ChainsChanged() {
	select {
	case w.changed <- struct{}{}:
	default: // a change is pending already
	}
}

// Ready returns nil while workflows run and usage is flushed; otherwise it returns what does not
// and why. It is safe for concurrent use.
func (w *Worker) Ready() error {
	var failed []error
	if err := w.state(); err != nil {
		failed = append(failed, fmt.Errorf("durable work waits for Temporal: %w", err))
	}
	if err := w.o.Flusher.Failed(); err != nil {
		failed = append(failed, fmt.Errorf("usage is not flushed: %w", err))
	}
	return errors.Join(failed...)
}

func (w *Worker) state() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.durable
}

// setState stores whether workflows run, and logs changes.
func (w *Worker) setState(err error) {
	w.mu.Lock()
	before := w.durable
	w.durable = err
	w.mu.Unlock()
	switch {
	case err == nil && before != nil:
		w.o.Logger.Info("durable work runs", "namespace", w.o.Namespace, "chains", len(w.o.Chains()))
	case err != nil && (before == nil || before.Error() != err.Error()):
		w.o.Logger.Error("durable work waits for Temporal; will retry, and usage is flushed meanwhile", "error", err)
	}
}

// keepDurable restarts runDurable with backoff until ctx ends.
func (w *Worker) keepDurable(ctx context.Context) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		worked, err := w.runDurable(ctx)
		if ctx.Err() != nil {
			return
		}
		w.setState(err)
		if worked {
			backoff = firstBackoff
		}
		timer := time.NewTimer(backoff)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		backoff = min(2*backoff, w.o.MaxBackoff)
	}
}

// runDurable starts polling, or returns why it cannot. Once started it returns when ctx ends or a
// worker fails permanently.
func (w *Worker) runDurable(ctx context.Context) (worked bool, err error) {
	if err := w.all(ctx, w.prepared()); err != nil {
		return false, err
	}
	failed := make(chan error, len(queues))
	for _, q := range queues {
		polling := worker.New(w.o.Temporal, q.name, worker.Options{
			WorkerStopTimeout:                  w.o.StopTimeout,
			MaxConcurrentActivityExecutionSize: q.most,
			// Clients wait for answers of flows, so tasks of a dead worker must move to another one
			// soon.
			StickyScheduleToStartTimeout: stickyTimeout,
			OnFatalError:                 func(err error) { failed <- fmt.Errorf("task queue %s: %w", q.name, err) },
		})
		q.register(polling, w.o)
		if err := polling.Start(); err != nil {
			return false, fmt.Errorf("start polling task queue %s: %w", q.name, err)
		}
		defer polling.Stop()
	}
	if err := w.all(ctx, w.begin()); err != nil {
		return false, err
	}
	w.setState(nil)
	var carrying sync.WaitGroup
	carried, stop := context.WithCancel(ctx)
	carrying.Go(func() { w.carryNotices(carried) })
	carrying.Go(func() { w.sweepSettlements(carried) })
	carrying.Go(func() { w.sweepTickets(carried) })
	if w.o.Billing.Stripe != nil { // otherwise the flows could only wait
		carrying.Go(func() { w.sweepBilling(carried) })
	}
	defer carrying.Wait()
	defer stop()
	return true, w.watch(ctx, failed)
}

// begin returns the steps that start probes and update schedules once task queues are polled.
func (w *Worker) begin() []step {
	flows := workflows.NewClient(w.o.Temporal)
	return []step{w.startProbes, flows.ScheduleStatementSweep, w.schedulePartitions}
}

func (w *Worker) schedulePartitions(ctx context.Context) error {
	return workflows.NewClient(w.o.Temporal).SchedulePartitionUpkeep(ctx, w.o.KeepCallDays)
}

// startProbes starts or reconfigures the probe of every chain, which begins a round with this
// worker's settings at once. The probe of a chain that no worker knows any more ends by itself,
// because another worker may still have it.
func (w *Worker) startProbes(ctx context.Context) error {
	c := workflows.NewClient(w.o.Temporal)
	for _, id := range w.o.Chains() {
		in := w.probe(id)
		if err := c.StartProbe(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worker) probe(id chain.ID) workflows.ProbeInput {
	return workflows.ProbeInput{
		Chain: id, IntervalMillis: w.o.ProbeInterval.Milliseconds(), TimeoutMillis: w.o.ProbeTimeout.Milliseconds(),
	}
}

// watch checks Temporal every CheckInterval, for Ready, until ctx ends or a worker fails
// permanently. It restores what is missing: a server may have lost its data, or a person may have
// ended a probe. The workers themselves survive an outage.
func (w *Worker) watch(ctx context.Context, failed <-chan error) error {
	tick := time.NewTicker(w.o.CheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-w.changed:
			if err := within(ctx, w.startProbes); err != nil {
				return err
			}
		case <-tick.C:
			w.setState(w.all(ctx, w.ensured()))
		}
	}
}
