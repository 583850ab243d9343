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
	for err, want := range map[error]fault.Reason{
		billing.ErrDeclined:       fault.FieldRefused,
		billing.ErrSeveralItems:   fault.FieldRefused,
		billing.ErrNotForSale:     fault.DurableUnavailable,
		billing.ErrUnavailable:    fault.DurableUnavailable,
		errors.New("another one"): fault.DurableUnavailable,
	} {
		told, ok := errors.AsType[*fault.Error](toldByStripe(fmt.Errorf("asked: %w", err)))
		require.True(t, ok)
		expect.Equal(t, told.Reason, want)
		if told.RetryAfter > 0 {
			expect.NotEqual(t, want, fault.FieldRefused)
			expect.False(t, errors.Is(err, billing.ErrNotForSale), err)
		}
	}
}
