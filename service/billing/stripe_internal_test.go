package billing

import (
	"errors"
	"fmt"
	"testing"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/internal/fault"
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
		if !ok || told.Reason != want || told.RetryAfter > 0 &&
			(want == fault.FieldRefused || errors.Is(err, billing.ErrNotForSale)) {
			t.Errorf("%v: %+v", err, told)
		}
	}
}
