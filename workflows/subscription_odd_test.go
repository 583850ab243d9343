package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/workflows"
)

// A subscription whose price belongs to no plan of ours is shown as stuck until its price is
// corrected or it is over. A second one that lasts next to the one that counts is shown until it is
// over. Both are polled every day.
func TestSubscription_PriceOfNoPlanIsShownUntilCorrected(t *testing.T) {
	t.Parallel()
	s := subscribe(nil)
	s.found = func(after time.Duration) (activities.Reconciled, error) {
		known := s.monthly(0, subscription.Active)
		switch {
		case after < 12*time.Hour:
			known.OddPrice = "price_x"
		case after < 36*time.Hour:
			known.Beside = []string{"sub_first"}
		case after > 48*time.Hour:
			known = s.monthly(0, subscription.Canceled)
		}
		return known, nil
	}
	var shown []string
	for name, set := range map[string]temporal.SearchAttributeUpdate{
		"odd": workflows.StuckReason.ValueSet("price_of_no_plan"),
		"two": workflows.StuckReason.ValueSet("second_subscription"), "well": workflows.StuckReason.ValueUnset(),
	} {
		s.env.OnUpsertTypedSearchAttributes(temporal.NewSearchAttributes(set)).Run(func(mock.Arguments) {
			shown = append(shown, name)
		}).Return(nil).Maybe()
	}
	s.env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	s.tell(0)
	if stage, _ := s.run(t, someSubscription()); stage != string(subscription.Canceled) ||
		!slices.Equal(shown, []string{"odd", "two", "well"}) || len(s.looks) < 3 {
		t.Errorf("it ended %s after looks at %s and showed %v", stage, s.looks, shown)
	}
}
