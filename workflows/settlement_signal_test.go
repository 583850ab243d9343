package workflows_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/workflows"
)

// A retry signal that arrives while the flow records that it gave up is not lost: the chain is read
// again, and the new result counts.
func TestSettlement_RetryWhileTheFlowEndsIsHeard(t *testing.T) {
	t.Parallel()
	p := settle(from(shallow, 61*time.Minute, failed))
	p.env.RegisterActivityWithOptions(func(context.Context, activities.SettlementWord) error {
		if p.told++; p.told == 1 {
			p.env.SignalWorkflow(workflows.SignalRetry, nil)
			p.chain = func(time.Duration) (activities.SettlementFacts, error) { return failed, nil }
		}
		return nil
	}, activity.RegisterOptions{Name: "TellSettlement", DisableAlreadyRegisteredCheck: true})
	p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StageRefused || p.told != 1 {
		t.Errorf("ended %s, and gave up %d times", stage, p.told)
	}
	if last := p.notes[len(p.notes)-1]; last.Stage != x402.StageRefused || slices.Max(p.looks) < time.Hour {
		t.Errorf("the last note is %+v, looked after %v", last, p.looks)
	}
}

// A retry signal that arrives as the window ends changes nothing, and the flow ends.
func TestSettlement_RetryAtTheEndOfAWindowDoesNotKeepTheFlow(t *testing.T) {
	t.Parallel()
	p := settle(from(final(good)))
	p.env.RegisterActivityWithOptions(func(_ context.Context,
		e activities.SettlementEnd,
	) (activities.RecordedSettlement, error) {
		p.env.SignalWorkflow(workflows.SignalRetry, nil)
		p.ends = append(p.ends, e)
		p.held.Finality = e.Finality
		if !p.env.Now().Before(p.held.WindowEnds) {
			p.held.Stage = x402.StageOver
		}
		return p.held, nil
	}, activity.RegisterOptions{Name: "ConcludeSettlement", DisableAlreadyRegisteredCheck: true})
	p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StageOver || len(p.ends) > 4 {
		t.Errorf("ended %s after %d ends", stage, len(p.ends))
	}
}
