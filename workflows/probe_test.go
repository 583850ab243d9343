package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/workflows"
)

// quiet discards the log, because workflows fail in these tests on purpose.
var quiet = log.NewStructuredLogger(slog.New(slog.DiscardHandler))

func newEnvironment() *testsuite.TestWorkflowEnvironment {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet)
	env := suite.NewTestWorkflowEnvironment()
	// On a busy machine a workflow may be blocked for longer than the default of one second.
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: testTimeout})
	return env
}

// probing is a probe workflow in Temporal's test environment, which skips time. A test scripts its
// rounds.
type probing struct {
	env    *testsuite.TestWorkflowEnvironment
	rounds []time.Time
	round  func(n int) (activities.ProbeResult, error)
}

func newProbing(round func(n int) (activities.ProbeResult, error)) *probing {
	p := &probing{env: newEnvironment(), round: round}
	workflows.RegisterProbe(p.env)
	p.env.RegisterActivityWithOptions(func(_ context.Context, _ chain.ID) (activities.ProbeResult, error) {
		p.rounds = append(p.rounds, p.env.Now())
		return p.round(len(p.rounds))
	}, activity.RegisterOptions{Name: "Probe"})
	return p
}

func (p *probing) run(in workflows.ProbeInput) { p.env.ExecuteWorkflow(workflows.ProbeWorkflow, in) }

// suggest makes the server suggest continue-as-new after a while.
func (p *probing) suggest(after time.Duration) {
	p.env.RegisterDelayedCallback(func() { p.env.SetContinueAsNewSuggested(true) }, after)
}

// next returns the input of the run that the workflow continued as.
func (p *probing) next(t *testing.T) workflows.ProbeInput {
	t.Helper()
	again, ok := errors.AsType[*workflow.ContinueAsNewError](p.env.GetWorkflowError())
	if !ok {
		t.Fatalf("the workflow ended with %v, want it to continue as new", p.env.GetWorkflowError())
	}
	var in workflows.ProbeInput
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

func (p *probing) details(t *testing.T) string {
	t.Helper()
	value, err := p.env.QueryWorkflow("__temporal_workflow_metadata")
	if err != nil {
		t.Fatal(err)
	}
	var metadata sdkpb.WorkflowMetadata
	if err := value.Get(&metadata); err != nil {
		t.Fatal(err)
	}
	return metadata.GetCurrentDetails()
}

func snapshot(usable ...bool) activities.ProbeResult {
	s := activities.ProbeResult{
		Chain: chain.EthMainnet, Head: 1234, HeadKnown: true, MeasuredAt: time.Date(2026, time.November, 20, 10, 0, 0,
			0, time.UTC),
	}
	for i, ok := range usable {
		state := upstream.UpstreamState{
			Name: "up|stream-" + string(rune('a'+i)), Usable: ok, ChainIDOK: ok, Head: 1230, Lag: 4,
			LatencyMicros: 12_345,
		}
		if !ok {
			state.Reason = "wrong_chain"
		}
		s.Upstreams = append(s.Upstreams, state)
	}
	return s
}

var input = workflows.ProbeInput{Chain: chain.EthMainnet, IntervalMillis: 2000, TimeoutMillis: 1000}

func TestProbe_MeasuresEveryIntervalUntilItContinuesAsNew(t *testing.T) {
	t.Parallel()
	p := newProbing(func(int) (activities.ProbeResult, error) { return snapshot(true, true), nil })
	p.suggest(7 * time.Second)
	p.run(input)
	if len(p.rounds) != 5 {
		t.Fatalf("%d rounds in eight seconds, want 5", len(p.rounds))
	}
	for i := 1; i < len(p.rounds); i++ {
		if gap := p.rounds[i].Sub(p.rounds[i-1]); gap < 1900*time.Millisecond || gap > 2100*time.Millisecond {
			t.Errorf("round %d began %s after the one before, want 2s", i+1, gap)
		}
	}
	want := input
	want.Stage = workflows.StageHealthy
	if got := p.next(t); got != want {
		t.Errorf("continues with %+v, want %+v", got, want)
	}
}

func TestProbe_FailingRoundsAreShownAndDoNotEndIt(t *testing.T) {
	t.Parallel()
	shown := map[time.Duration]string{}
	p := newProbing(func(n int) (activities.ProbeResult, error) {
		if n == 1 {
			return snapshot(true), nil
		}
		return activities.ProbeResult{}, temporal.NewApplicationError("no measurement", activities.ErrPublishFailed)
	})
	for _, at := range []time.Duration{1500 * time.Millisecond, 5900 * time.Millisecond} {
		p.env.RegisterDelayedCallback(func() { shown[at] = p.details(t) }, at)
	}
	p.suggest(30 * time.Second)
	p.run(input)
	// The first round has one attempt, all others two.
	if attempts := len(p.rounds); attempts < 29 {
		t.Errorf("%d attempts in thirty seconds, want the probe to go on", attempts)
	}
	if got := shown[1500*time.Millisecond]; strings.Contains(got, "failed") || !strings.Contains(got, "1234") {
		t.Errorf("after a good round it shows %q", got)
	}
	got := shown[5900*time.Millisecond]
	if !strings.Contains(got, "2 rounds failed in a row, the last with `publish_failed`") ||
		!strings.Contains(got, "1234") {
		t.Errorf("after two failing rounds it shows %q, want the failure and the last table", got)
	}
	if stage := p.next(t).Stage; stage != workflows.StageUnmeasured {
		t.Errorf("stage is %s, want %s", stage, workflows.StageUnmeasured)
	}
}

func TestProbe_HangingRoundIsGivenUp(t *testing.T) {
	t.Parallel()
	p := newProbing(nil)
	p.round = func(n int) (activities.ProbeResult, error) {
		if n <= 2 {
			return activities.ProbeResult{}, temporal.NewTimeoutError(0, nil)
		}
		return snapshot(true), nil
	}
	p.suggest(3 * time.Second)
	p.run(input)
	if stage := p.next(t).Stage; stage != workflows.StageHealthy {
		t.Errorf("stage after the round that hung is %s, want %s", stage, workflows.StageHealthy)
	}
}

func TestProbe_ShowsEveryUpstreamAndItsStage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		result activities.ProbeResult
		stage  string
		shows  []string
	}{
		"healthy": {
			snapshot(true, true), workflows.StageHealthy, []string{
				"Head 1234", "| up/stream-a | usable | 1230 | 4 | 12.3 ms | ok |  |", "up/stream-b",
			},
		},
		"degraded": {
			snapshot(true, false), workflows.StageDegraded, []string{
				"| up/stream-b | not used | 1230 | 4 | 12.3 ms | not proven | wrong_chain |",
			},
		},
		"down": {snapshot(false), workflows.StageDown, []string{"not used"}},
		"no head": {
			activities.ProbeResult{Upstreams: snapshot(true).Upstreams, MeasuredAt: time.Unix(1, 0)},
			workflows.StageDegraded,
			[]string{"Head unknown"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProbing(func(int) (activities.ProbeResult, error) { return test.result, nil })
			var got string
			p.env.RegisterDelayedCallback(func() { got = p.details(t) }, time.Second)
			p.suggest(time.Second)
			p.run(input)
			for _, want := range test.shows {
				if !strings.Contains(got, want) {
					t.Errorf("details lack %q:\n%s", want, got)
				}
			}
			if stage := p.next(t).Stage; stage != test.stage {
				t.Errorf("stage is %s, want %s", stage, test.stage)
			}
		})
	}
}

func TestProbe_NewConfigurationTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	p := newProbing(func(int) (activities.ProbeResult, error) { return snapshot(true), nil })
	slow := input
	slow.IntervalMillis = time.Hour.Milliseconds()
	p.env.RegisterDelayedCallback(func() { p.env.SignalWorkflow(workflows.SignalConfigure, input) }, time.Minute)
	p.suggest(time.Minute + 3*time.Second)
	p.run(slow)
	if len(p.rounds) != 4 {
		t.Errorf("%d rounds, want one before the new configuration and three after", len(p.rounds))
	}
	if got := p.next(t); got.IntervalMillis != input.IntervalMillis {
		t.Errorf("continues with an interval of %d ms, want %d", got.IntervalMillis, input.IntervalMillis)
	}
}

func TestProbe_OfAChainThatNoWorkerKnowsEnds(t *testing.T) {
	t.Parallel()
	unknown := temporal.NewNonRetryableApplicationError("no measurement", activities.ErrNotConfigured, nil)
	p := newProbing(func(int) (activities.ProbeResult, error) { return activities.ProbeResult{}, unknown })
	p.run(input)
	err := p.env.GetWorkflowError()
	in := expect.In(t, "an end after 60")
	require.NoError(in, err)
	expect.True(in, p.env.IsWorkflowCompleted())
	expect.Len(in, p.rounds, 60)
	// One of several workers still has the chain, or the round failed for another reason.
	for name, every := range map[string]error{
		"known to another": nil, "failing": temporal.NewApplicationError("no", activities.ErrProbeFailed),
	} {
		p := newProbing(func(n int) (activities.ProbeResult, error) {
			if n%50 < 2 { // a round may have two attempts
				return snapshot(true), every
			}
			return activities.ProbeResult{}, unknown
		})
		p.suggest(10 * time.Minute)
		p.run(input)
		if p.next(t); len(p.rounds) < 290 {
			t.Errorf("%s: it ended after %d rounds", name, len(p.rounds))
		}
	}
}

func TestProbe_CancelledEnds(t *testing.T) {
	t.Parallel()
	p := newProbing(func(int) (activities.ProbeResult, error) { return snapshot(true), nil })
	p.env.RegisterDelayedCallback(p.env.CancelWorkflow, 3*time.Second)
	p.run(input)
	if err := p.env.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("ended with %v, want cancelled", err)
	}
}

func TestUpkeep_RetriesPartitionsUntilDone(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	workflows.RegisterGateway(env)
	attempts := 0
	env.RegisterActivityWithOptions(func(_ context.Context,
		in activities.PartitionUpkeep,
	) (activities.PartitionReport, error) {
		attempts++
		if attempts < 9 { // more do not fit into the ten minutes of the test environment
			return activities.PartitionReport{}, errors.New("PostgreSQL is away")
		}
		return activities.PartitionReport{Made: in.DaysAhead}, nil
	}, activity.RegisterOptions{Name: "KeepPartitions"})
	env.ExecuteWorkflow(workflows.PartitionWorkflow, workflows.PartitionInput())
	var report activities.PartitionReport
	if err := env.GetWorkflowResult(&report); err != nil {
		t.Fatalf("after %d attempts: %v", attempts, err)
	}
	if report.Made != 7 || attempts != 9 {
		t.Errorf("made %d in %d attempts, want 7 in 9", report.Made, attempts)
	}
}
