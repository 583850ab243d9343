package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/billing"
)

func TestWebhooks_AreTakenFromStripeAlone(t *testing.T) {
	t.Parallel()
	const secret = "whsec_canary"
	way, err := billing.New(billing.Options{SecretKey: "sk_test_canary", APIURL: "http://127.0.0.1:1", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	g := apitest.Setup(t, func(o *apitest.Options) { o.Stripe, o.Secret = way, secret })
	event := `{"id":"evt_1","type":"invoice.paid","api_version":"2023-10-16","created":1795348800,` +
		`"data":{"object":{"id":"in_1","object":"invoice","customer":"cus_stranger"}}}`
	sign := func(payload, secret string, at time.Time) string {
		return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
			Payload: []byte(payload), Secret: secret, Timestamp: at,
		}).Header
	}
	post := func(body, signature string) apitest.Answer {
		return g.Ask(http.MethodPost, "/webhooks/stripe", "", body, "Stripe-Signature", signature, "Content-Type",
			"application/json")
	}
	for range 2 { // of an unknown customer, and the same event again
		if a := post(event, sign(event, secret, time.Now())); a.Status != http.StatusOK || a.Body != "" {
			t.Errorf("HTTP %d %s", a.Status, a.Body)
		}
	}
	post(event, sign(event, "whsec_other", time.Now())).Refused(http.StatusUnprocessableEntity, -32602)
	post(event, sign(event, secret, time.Now().Add(-6*time.Minute))).Refused(http.StatusUnprocessableEntity, -32602)
	post(event+"\n", sign(event, secret, time.Now())).Refused(http.StatusUnprocessableEntity, -32602)
	post("", "").Refused(http.StatusUnprocessableEntity, -32602)
	long := strings.Repeat("x", 10<<20)
	post(long, sign(long, secret, time.Now())).Refused(http.StatusRequestEntityTooLarge, -32600)
	if all, err := g.Store.ListOpenStripeEvents(t.Context(), -time.Minute, 10); err != nil || len(all) != 0 {
		t.Errorf("open are %v (%v)", all, err)
	}
	apitest.Setup(t).Ask(http.MethodPost, "/webhooks/stripe", "", event, "Stripe-Signature",
		sign(event, secret, time.Now())).Refused(http.StatusServiceUnavailable, -32030)
}
