// Package worker owns the durable role: it registers workflows and activities on their task queues,
// starts what always runs, keeps the schedules, and runs the usage flusher and the sender of mails
// beside them. Those two do not need Temporal: while it is away usage is still recorded and mails
// are sent, and the rest is tried again. It holds no rules of its own.
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
	"github.com/chainaccess/gateway/store"
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

// Store is the record, as far as durable work needs it.
type Store interface {
	activities.PartitionStore
	activities.NoticeStore
	BillingStore
	TicketStore
	ListUnconfirmed(ctx context.Context, older, younger time.Duration, after *store.Settlement,
		limit int) ([]store.Settlement, error)
}

// Options of a Worker. Those without a default are required.
type Options struct {
	// Temporal is a connection, best a lazy one: the worker waits for the server itself. The caller
	// closes it.
	Temporal  client.Client
	Namespace string // of that connection; "default"
	Store     Store
	Messenger activities.Messenger
	Doors     *activities.Doors
	// Settlements are there whether or not anything is sold: what was sold before is watched to its
	// end.
	Settlements *activities.Settlements
	// Billing is there whether or not payments are on: what was bought before is kept at what it
	// is.
	Billing    *activities.Billing
	Statements *activities.Statements
	Prober     activities.Prober
	Board      activities.Board
	Flusher    Flusher
	Mails      MailSender
	Chains     func() []chain.ID // those to probe, asked at every beginning and after ChainsChanged
	Now        func() time.Time
	Logger     *slog.Logger // slog.Default()
	// OnSwept hears what became of anonymous keys that nobody uses; nil for nobody.
	OnSwept func(store.SweptKeys)

	KeepCallDays int // for which call records are kept; 30

	ProbeInterval  time.Duration // between rounds of a chain's probe; the workflow's default, five seconds
	ProbeTimeout   time.Duration // of one attempt; the workflow's default, ten seconds
	NoticeInterval time.Duration // between looks for notices that nothing delivers yet; ten seconds
	FinalityDelay  time.Duration // after which flows of settlements look whether they are final; twenty minutes
	CheckInterval  time.Duration // between looks at Temporal, which make again what is missing there; ten seconds
	MaxBackoff     time.Duration // between attempts to begin; thirty seconds
	StopTimeout    time.Duration // for activities that run when the worker stops; ten seconds
}

// stickyTimeout is how long a flow's task waits for the worker that remembers the flow.
const stickyTimeout = 2 * time.Second

// firstBackoff is the pause after the first failed attempt to begin; it doubles.
const firstBackoff = time.Second

// errStarting is the state before the first attempt ended.
var errStarting = errors.New("the worker is starting")

// Worker is one process of the durable role. Any number may run beside each other.
type Worker struct {
	o Options

	changed chan struct{} // by ChainsChanged
	found   bool          // the namespace was there once; of the goroutine of durable work
	swept   time.Time     // when settlements were last swept; of the one goroutine that does

	mu      sync.Mutex // guards durable
	durable error      // why durable work does not run, nil when it does
}

// New makes a worker, which does nothing before Run.
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

// Run works until ctx ends, then lets running activities finish and flushes once more. Temporal's
// failures are logged and tried again, so the error is the flusher's last one, if any.
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

// ChainsChanged tells the worker that there are other chains to probe, or other upstreams: new
// probes are started, running ones begin a round at once.
func (w *Worker) ChainsChanged() {
	select {
	case w.changed <- struct{}{}:
	default: // it will look anyway
	}
}

// Ready is nil while durable work runs and usage is flushed; otherwise it says what does not and
// why. Safe for concurrent use.
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

// setState remembers whether durable work runs, and logs when that changes.
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

// keepDurable runs durable work again and again until ctx ends.
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

// runDurable waits for nothing: it begins, or says why it cannot. Once it began it returns when ctx
// ends or a worker fails for good.
func (w *Worker) runDurable(ctx context.Context) (worked bool, err error) {
	if err := w.all(ctx, w.prepared()); err != nil {
		return false, err
	}
	failed := make(chan error, len(queues))
	for _, q := range queues {
		polling := worker.New(w.o.Temporal, q.name, worker.Options{
			WorkerStopTimeout:                  w.o.StopTimeout,
			MaxConcurrentActivityExecutionSize: q.most,
			// Somebody waits for answers of flows: those of a worker that died go to another one
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
	if w.o.Billing.Stripe != nil { // else nobody can be asked what was bought, and flows would only wait
		carrying.Go(func() { w.sweepBilling(carried) })
	}
	defer carrying.Wait()
	defer stop()
	return true, w.watch(ctx, failed)
}

// begin lists what brings the things that always run to today's form, once they can be worked on.
func (w *Worker) begin() []step {
	flows := workflows.NewClient(w.o.Temporal)
	return []step{w.startProbes, flows.ScheduleStatementSweep, w.schedulePartitions}
}

func (w *Worker) schedulePartitions(ctx context.Context) error {
	return workflows.NewClient(w.o.Temporal).SchedulePartitionUpkeep(ctx, w.o.KeepCallDays)
}

// startProbes has every chain probed, by a run that begins a round with this worker's settings at
// once. The probe of a chain that no worker knows any more ends by itself: another worker may have
// it still.
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

// watch looks at Temporal now and then, for Ready, until ctx ends or a worker fails for good. What
// is missing there is made again: a server may have come back without what it held, and a person
// may have ended a probe. The workers themselves survive an outage.
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
