package workflows

import (
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// ProbeWorkflow measures a chain's upstreams in rounds and publishes each round on the board.
//
//   - ID: probe/<chain>, one per chain.
//   - Queue: gateway-probe.
//   - Started by: every worker, by signal-with-start "configure".
//   - Signal configure (ProbeInput): a running probe uses the new input at once.
//   - Shows: the last round as a table in its current details; search attribute Stage.
//   - Ends: when no worker has known the chain for goneAfter rounds, because no upstreams file
//     names it any more; otherwise never. It continues as new when the server suggests it. A failed
//     round is shown and does not end it.
const (
	ProbeWorkflow   = "probe"
	SignalConfigure = "configure"
)

// ProbeID is the workflow id of a chain's probe.
func ProbeID(id chain.ID) string { return "probe/" + string(id) }

// Stages of a probe.
const (
	StageHealthy    = "healthy"    // every upstream is usable
	StageDegraded   = "degraded"   // some are, or no head is known
	StageDown       = "down"       // none is
	StageUnmeasured = "unmeasured" // the last round failed: nothing is known
)

// Defaults of a probe. The timeout of one attempt exceeds what a round of the prober may take.
const (
	defaultProbeInterval = 5 * time.Second
	defaultProbeTimeout  = 10 * time.Second
)

// goneAfter is how many rounds in a row must report that the chain is not configured. If one of
// several workers still has the chain, it gets some of that many rounds.
const goneAfter = 60

// ProbeInput configures a probe. Zero durations mean the defaults of five and ten seconds.
type ProbeInput struct {
	Chain          chain.ID `json:"chain"`
	IntervalMillis int64    `json:"interval_ms"` // from the start of a round to the next
	TimeoutMillis  int64    `json:"timeout_ms"`  // of one attempt of a round

	// Stage is the value of the search attribute, carried over when the workflow continues as new.
	Stage string `json:"stage,omitempty"`
}

func (in ProbeInput) interval() time.Duration {
	if in.IntervalMillis <= 0 {
		return defaultProbeInterval
	}
	return time.Duration(in.IntervalMillis) * time.Millisecond
}

func (in ProbeInput) timeout() time.Duration {
	if in.TimeoutMillis <= 0 {
		return defaultProbeTimeout
	}
	return time.Duration(in.TimeoutMillis) * time.Millisecond
}

// Probe is the workflow.
func Probe(ctx workflow.Context, in ProbeInput) error {
	p := &probe{in: in, configure: workflow.GetSignalChannel(ctx, SignalConfigure)}
	for {
		p.takeSignals()
		due := workflow.Now(ctx).Add(p.in.interval())
		if err := p.round(ctx); err != nil {
			return err
		}
		if p.unknown >= goneAfter {
			return nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			p.takeSignals()
			return workflow.NewContinueAsNewError(ctx, ProbeWorkflow, p.in)
		}
		if err := p.await(ctx, due); err != nil {
			return err
		}
	}
}

// probe is the state between rounds. What must survive continue-as-new is in the input.
type probe struct {
	in        ProbeInput
	configure workflow.ReceiveChannel
	last      activities.ProbeResult
	failures  int // rounds in a row
	unknown   int // failures in a row because no upstream of the chain was configured
}

// takeSignals drains the signal channel and applies the newest input.
func (p *probe) takeSignals() {
	var in ProbeInput
	for p.configure.ReceiveAsync(&in) {
		p.take(in)
		in = ProbeInput{}
	}
}

func (p *probe) take(in ProbeInput) {
	in.Chain, in.Stage = p.in.Chain, p.in.Stage
	p.in = in
}

// round measures once and shows the result. Only the workflow's own cancellation is an error.
func (p *probe) round(ctx workflow.Context) error {
	var chains *activities.Chains
	measure := flow.Measuring(ctx, p.in.timeout(), "measure "+string(p.in.Chain))
	var result activities.ProbeResult
	err := workflow.ExecuteActivity(measure, chains.Probe, p.in.Chain).Get(ctx, &result)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	stage, failure := StageUnmeasured, ""
	if err != nil {
		p.failures++
		failure = flow.FailureKind(err)
		if p.unknown++; failure != activities.ErrNotConfigured {
			p.unknown = 0
		}
	} else {
		p.failures, p.unknown, p.last = 0, 0, result
		stage = stageOf(result)
	}
	workflow.SetCurrentDetails(ctx, details(p.in.Chain, p.last, p.failures, failure))
	if stage == p.in.Stage {
		return nil
	}
	p.in.Stage = stage
	return workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(stage))
}

// await waits until the next round is due or a new input has arrived.
func (p *probe) await(ctx workflow.Context, due time.Time) error {
	timing, stop := workflow.WithCancel(ctx)
	defer stop()
	pause := max(due.Sub(workflow.Now(ctx)), 0)
	selector := workflow.NewSelector(ctx)
	selector.AddFuture(workflow.NewTimer(timing, pause), func(workflow.Future) {})
	selector.AddReceive(p.configure, func(c workflow.ReceiveChannel, _ bool) {
		var in ProbeInput
		c.Receive(ctx, &in)
		p.take(in)
	})
	selector.Select(ctx)
	return ctx.Err()
}

func stageOf(s activities.ProbeResult) string {
	usable := 0
	for i := range s.Upstreams {
		if s.Upstreams[i].Usable {
			usable++
		}
	}
	switch {
	case usable == 0:
		return StageDown
	case usable < len(s.Upstreams) || !s.HeadKnown:
		return StageDegraded
	}
	return StageHealthy
}

// details renders a chain's last measurement for the Temporal UI, in Markdown. failures counts the
// rounds that have failed since. It does not use fmt, which workflowcheck cannot prove
// deterministic.
func details(id chain.ID, s activities.ProbeResult, failures int, failure string) string {
	var b strings.Builder
	text := func(parts ...string) {
		for _, part := range parts {
			b.WriteString(part)
		}
	}
	text("**", cell(string(id)), "**")
	if failures > 0 {
		text(": ", strconv.Itoa(failures), " rounds failed in a row, the last with `", cell(failure), "`.")
	}
	if s.MeasuredAt.IsZero() {
		text(" Not measured yet.\n")
		return b.String()
	}
	head := "unknown"
	if s.HeadKnown {
		head = number(s.Head)
	}
	text(" Head ", head, ", measured ", s.MeasuredAt.UTC().Format(time.RFC3339), ".\n\n")
	text("| Upstream | State | Head | Lag | Latency | Chain id | Error |\n|---|---|---|---|---|---|---|\n")
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		state, chainID := "usable", "ok"
		if !u.Usable {
			state = "not used"
		}
		if !u.ChainIDOK {
			chainID = "not proven"
		}
		latency := strconv.FormatFloat(float64(u.LatencyMicros)/1000, 'f', 1, 64)
		text("| ", cell(u.Name), " | ", state, " | ", number(u.Head), " | ", number(u.Lag), " | ", latency, " ms | ",
			chainID, " | ", cell(u.Reason), " |\n")
	}
	return b.String()
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// cell escapes text for one cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", "/", "\n", " ", "\r", " ", "`", "'").Replace(text)
}
