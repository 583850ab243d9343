package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

func (s *subscribing) mayLook(workflow.Context) error {
	if s.closing {
		return underWay()
	}
	return nil
}

// lookNow handles the update look: it polls Stripe while a client waits.
func (s *subscribing) lookNow(ctx workflow.Context) (activities.Reconciled, error) {
	known, err := s.look(ctx)
	if err != nil {
		return known, handed(err)
	}
	return known, nil
}

// close starts the closing of the metering periods that ended since the last poll: those that a
// change cut short, and the one that was running. The statements' own sweep finds what this misses.
func (s *subscribing) close(ctx workflow.Context, known *activities.Reconciled) {
	over := known.Cut
	if s.Known != nil && s.Known.Customer && s.Known.Period.Key != known.Period.Key &&
		!named(over, s.Known.Period.Key) {
		over = append(slices.Clip(over), s.Known.Period)
	}
	newest := s.Closed
	for _, p := range over {
		if !p.End.After(s.Closed) || p.End.After(workflow.Now(ctx)) {
			continue
		}
		var billing *activities.Billing
		_ = workflow.ExecuteActivity(flow.Changing(ctx, "have the statement of "+p.Key+" closed"), billing.BeginClosing,
			activities.Closing{Account: s.account, Period: p}).Get(ctx, nil)
		if p.End.After(newest) {
			newest = p.End
		}
	}
	s.Closed = newest
}

func named(periods []activities.BillingPeriod, key string) bool {
	for _, p := range periods {
		if p.Key == key {
			return true
		}
	}
	return false
}
