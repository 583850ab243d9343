package billing_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/chainaccess/gateway/billing"
)

// PostgreSQL takes types of up to a hundred characters. A longer one is refused, so that Stripe
// does not retry it for three days.
func TestEvent_TypeTooLongForTheRecordIsRefused(t *testing.T) {
	t.Parallel()
	for letters, want := range map[int]error{100: nil, 101: billing.ErrNoEvent} {
		signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
			Payload: []byte(`{"id":"evt_1","type":"` + strings.Repeat("x", letters) + `"}`), Secret: "whsec_1",
			Timestamp: noon,
		})
		if _, err := billing.ReadEvent(signed.Payload, signed.Header, "whsec_1", noon); !errors.Is(err, want) {
			t.Errorf("%d letters: %v, want %v", letters, err, want)
		}
	}
}
