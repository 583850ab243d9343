package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/chainaccess/gateway/internal/fault"
)

func (d *till) post(payload, secret string, at time.Time) *fault.Error {
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: []byte(payload), Secret: secret, Timestamp: at,
	})
	return d.ReceiveStripeEvent(d.ctx, []byte(payload), signed.Header)
}

// open returns the events that were not handed on yet.
func (d *till) open(t *testing.T) []string {
	t.Helper()
	all, err := d.store.ListOpenStripeEvents(d.ctx, -time.Minute, 100)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(all))
	for i, e := range all {
		ids[i] = e.ID
	}
	return ids
}

func TestStripeEvent_IsStoredOnceAndPassedOn(t *testing.T) {
	t.Parallel()
	d := openTill(t)
	d.start(t, "pack_s")
	customer := *d.status(t).Customer
	event := func(id, kind, version, customer string) string {
		return `{"id":"` + id + `","type":"` + kind + `","api_version":"` + version +
			`","created":1793534400,"data":{"object":{"id":"in_1","object":"invoice","customer":"` + customer + `"}}}`
	}
	paid := event("evt_1", "invoice.paid", "2023-10-16", customer)
	refused(t, "another secret", d.post(paid, "whsec_other", opened), fault.FieldRefused, "Stripe-Signature")
	refused(t, "an old one", d.post(paid, whsec, opened.Add(-6*time.Minute)), fault.FieldRefused, "Stripe-Signature")
	if d.told("invoice.paid " + d.id.String()) {
		t.Error("what was refused is passed on")
	}
	for range 3 {
		if refusal := d.post(paid, whsec, opened); refusal != nil {
			t.Fatal(refusal)
		}
	}
	if n := strings.Count(strings.Join(d.signals, ","), "invoice.paid"); n != 1 || len(d.open(t)) != 0 {
		t.Errorf("passed on %d times, %v are open", n, d.open(t))
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
		before := len(d.signals)
		if refusal := d.post(event(id, c.kind, c.version, c.customer), whsec, opened); refusal != nil {
			t.Errorf("%s: %v", id, refusal)
		}
		if passed := len(d.signals) > before; passed != c.passed || len(d.open(t)) != 0 {
			t.Errorf("%s: passed on is %t, open are %v", id, passed, d.open(t))
		}
	}
}

// If the process dies or Temporal does not answer after an event was stored, the sweep hands it on.
// Stripe is not asked to retry.
func TestStripeEvent_StaysOpenUntilSomebodyCouldBeTold(t *testing.T) {
	t.Parallel()
	d := openTill(t)
	d.start(t, "pack_s")
	d.deaf = true
	payload := `{"id":"evt_1","type":"customer.updated","api_version":"2023-10-16","created":1793534400,` +
		`"data":{"object":{"id":"` + *d.status(t).Customer + `","object":"customer"}}}`
	if refusal := d.post(payload, whsec, opened); refusal != nil {
		t.Fatal(refusal)
	}
	if open := d.open(t); len(open) != 1 || open[0] != "evt_1" {
		t.Errorf("open are %v", open)
	}
}
