package billing

import (
	"errors"
	"fmt"
	"testing"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// No refusal says to retry what a retry cannot fix.
func TestStripeError_ComesWithItsNextStep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		reason  fault.Reason
		retries bool
	}{
		{billing.ErrDeclined, fault.FieldRefused, false},
		{billing.ErrSeveralItems, fault.FieldRefused, false},
		{billing.ErrNotForSale, fault.DurableUnavailable, false},
		{billing.ErrUnavailable, fault.DurableUnavailable, true},
		{errors.New("another one"), fault.DurableUnavailable, true},
	} {
		t.Run(c.reason.String(), func(t *testing.T) {
			in := expect.In(t, "%v", c.err)
			refusal, ok := errors.AsType[*fault.Error](toldByStripe(fmt.Errorf("asked: %w", c.err)))
			require.True(in, ok)
			expect.Equal(in, refusal.Reason, c.reason)
			expect.Equal(in, refusal.RetryAfter > 0, c.retries)
		})
	}
}
