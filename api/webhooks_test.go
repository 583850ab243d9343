package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/chainaccess/gateway/billing"
)

func TestWebhooks_AreTakenFromStripeAlone(t *testing.T) {
	t.Parallel()
	const secret = "whsec_canary"
	way, err := billing.New(billing.Options{SecretKey: "sk_test_canary", APIURL: "http://127.0.0.1:1", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	g := setup(t, func(o *options) { o.stripe, o.secret = way, secret })
	event := `{"id":"evt_1","type":"invoice.paid","api_version":"2023-10-16","created":1795348800,` +
		`"data":{"object":{"id":"in_1","object":"invoice","customer":"cus_stranger"}}}`
	sign := func(payload, secret string, at time.Time) string {
		return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
			Payload: []byte(payload), Secret: secret, Timestamp: at,
		}).Header
	}
	post := func(body, signature string) answer {
		return g.ask(http.MethodPost, "/webhooks/stripe", "", body, "Stripe-Signature", signature, "Content-Type",
			"application/json")
	}
	for range 2 { // of an unknown customer, and the same event again
		if a := post(event, sign(event, secret, time.Now())); a.status != http.StatusOK || a.body != "" {
			t.Errorf("HTTP %d %s", a.status, a.body)
		}
	}
	post(event, sign(event, "whsec_other", time.Now())).refused(http.StatusUnprocessableEntity, -32602)
	post(event, sign(event, secret, time.Now().Add(-6*time.Minute))).refused(http.StatusUnprocessableEntity, -32602)
	post(event+"\n", sign(event, secret, time.Now())).refused(http.StatusUnprocessableEntity, -32602)
	post("", "").refused(http.StatusUnprocessableEntity, -32602)
	long := strings.Repeat("x", 10<<20)
	post(long, sign(long, secret, time.Now())).refused(http.StatusRequestEntityTooLarge, -32600)
	if all, err := g.store.ListOpenStripeEvents(t.Context(), -time.Minute, 10); err != nil || len(all) != 0 {
		t.Errorf("open are %v (%v)", all, err)
	}
	setup(t).ask(http.MethodPost, "/webhooks/stripe", "", event, "Stripe-Signature",
		sign(event, secret, time.Now())).refused(http.StatusServiceUnavailable, -32030)
}
