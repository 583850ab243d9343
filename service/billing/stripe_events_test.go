package billing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/internal/servicetest"
)

func TestStripeEvent_IsStoredOnceAndPassedOn(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Start(t, "pack_s")
	customer := *d.Status(t).Customer
	event := func(id, kind, version, customer string) string {
		return `{"id":"` + id + `","type":"` + kind + `","api_version":"` + version +
			`","created":1793534400,"data":{"object":{"id":"in_1","object":"invoice","customer":"` + customer + `"}}}`
	}
	paid := event("evt_1", "invoice.paid", "2023-10-16", customer)
	refused(t, "another secret", d.Post(paid, "whsec_other", servicetest.Opened), fault.FieldRefused,
		"Stripe-Signature")
	refused(t, "an old one", d.Post(paid, servicetest.WebhookSecret, servicetest.Opened.Add(-6*time.Minute)),
		fault.FieldRefused, "Stripe-Signature")
	if d.Told("invoice.paid " + d.AccountID.String()) {
		t.Error("what was refused is passed on")
	}
	for range 3 {
		if refusal := d.Post(paid, servicetest.WebhookSecret, servicetest.Opened); refusal != nil {
			t.Fatal(refusal)
		}
	}
	if n := strings.Count(strings.Join(d.Signals, ","), "invoice.paid"); n != 1 || len(d.Open(t)) != 0 {
		t.Errorf("passed on %d times, %v are open", n, d.Open(t))
	}
	// Events of other versions, of unknown customers and of irrelevant types are stored and marked
	// done. Only the first kind is handed on.
	for id, c := range map[string]struct {
		kind, version, customer string
		passed                  bool
	}{
		"evt_2": {"invoice.paid", "2031-01-01", customer, true},
		"evt_3": {"invoice.voided", "2023-10-16", "cus_stranger", false},
		"evt_4": {"reporting.report_run.succeeded", "2023-10-16", customer, false},
	} {
		t.Run(id, func(t *testing.T) {
			before := len(d.Signals)
			if refusal := d.Post(event(id, c.kind, c.version, c.customer), servicetest.WebhookSecret,
				servicetest.Opened); refusal != nil {
				t.Error(refusal)
			}
			if passed := len(d.Signals) > before; passed != c.passed || len(d.Open(t)) != 0 {
				t.Errorf("passed on is %t, open are %v", passed, d.Open(t))
			}
		})
	}
}

// If the process dies or Temporal does not answer after an event was stored, the sweep hands it on.
// Stripe is not asked to retry.
func TestStripeEvent_StaysOpenUntilSomebodyCouldBeTold(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Start(t, "pack_s")
	d.Deaf = true
	payload := `{"id":"evt_1","type":"customer.updated","api_version":"2023-10-16","created":1793534400,` +
		`"data":{"object":{"id":"` + *d.Status(t).Customer + `","object":"customer"}}}`
	if refusal := d.Post(payload, servicetest.WebhookSecret, servicetest.Opened); refusal != nil {
		t.Fatal(refusal)
	}
	if open := d.Open(t); len(open) != 1 || open[0] != "evt_1" {
		t.Errorf("open are %v", open)
	}
}
