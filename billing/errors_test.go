package billing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing"
)

// answering returns a client of a Stripe that answers everything in one way.
func answering(t *testing.T, answer http.HandlerFunc) (*billing.Stripe, *atomic.Int64) {
	t.Helper()
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that a client disconnects
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	way, err := billing.New(billing.Options{
		SecretKey: "sk_test_canary", APIURL: s.URL, Now: func() time.Time { return noon }, Timeout: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return way, &asked
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

func refusal(kind, code string) string {
	return `{"error":{"type":"` + kind + `","code":"` + code +
		`","message":"canary@buyer.example","param":"items","payment_method":{"id":"pm_canary"}}}`
}

func TestErrors_AreToldApartAndQuoteNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error // nil: none of the sentinels
	}{
		"a declined card": {says(402, refusal("card_error", "card_declined")), billing.ErrDeclined},
		"authentication is wanted": {
			says(402, refusal("invalid_request_error", "subscription_payment_intent_requires_action")),
			billing.ErrDeclined,
		},
		"no such object":    {says(404, refusal("invalid_request_error", "resource_missing")), billing.ErrGone},
		"a wrong parameter": {says(400, refusal("invalid_request_error", "parameter_unknown")), nil},
		"a wrong key": {
			says(401, `{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: sk_test_canary"}`+
				`}`), billing.ErrUnavailable,
		},
		"too many requests": {says(429, refusal("invalid_request_error", "rate_limit")), billing.ErrUnavailable},
		"its own failure":   {says(500, refusal("api_error", "")), billing.ErrUnavailable},
		"a page instead":    {says(502, "<html>canary</html>"), billing.ErrUnavailable},
		"another object":    {says(200, `{"id":["canary"]}`), billing.ErrUnavailable},
		"a redirect with the key": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://canary.example/", http.StatusTemporaryRedirect)
		}, billing.ErrUnavailable},
		"an answer without an end":   {endless, billing.ErrUnavailable},
		"a connection that is ended": {breakOff, billing.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			way, asked := answering(t, c.answer)
			err := way.SetCountry(t.Context(), "cus_1", "DE")
			for _, kind := range []error{billing.ErrDeclined, billing.ErrGone, billing.ErrUnavailable} {
				if errors.Is(err, kind) != (kind == c.want) { //nolint:errorlint // sentinels are compared
					t.Errorf("%v is %v: %t", err, kind, errors.Is(err, kind))
				}
			}
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("the error quotes what was sent or answered: %v", err)
			}
			if n := asked.Load(); n > 2 {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprint(w, `{"id":"`)
	for r.Context().Err() == nil {
		if _, err := fmt.Fprint(w, strings.Repeat("a", 1<<20)); err != nil {
			return
		}
	}
}

func breakOff(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// A request that may not have arrived is retried with the same idempotency key, so that it takes
// effect once.
func TestIdempotencyKey_IsTheSameForARepeat(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 4)
	var n atomic.Int64
	way, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		if n.Add(1) == 1 {
			breakOff(w, r)
			return
		}
		_, _ = fmt.Fprint(w, `{"id":"re_1","object":"refund"}`)
	})
	if err := way.RefundPayment(t.Context(), "pi_1", "second/pi_1"); err != nil {
		t.Fatal(err)
	}
	if first, second := <-keys, <-keys; first != "second/pi_1" || second != first {
		t.Errorf("it was sent with %q, then with %q", first, second)
	}
}

func TestStripe_CallerThatGoesAwayIsNotHeldUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	way, asked := answering(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if err := way.SetCountry(ctx, "cus_1", "DE"); !errors.Is(err, billing.ErrUnavailable) || asked.Load() != 1 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

func TestOptions_InvalidAreRefused(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return noon }
	for name, o := range map[string]billing.Options{
		"no key":             {Now: now},
		"a key of two lines": {SecretKey: "sk_canary\nX: y", Now: now},
		"no clock":           {SecretKey: "sk_canary"},
		"no address":         {SecretKey: "sk_canary", APIURL: "canary", Now: now},
		"another scheme":     {SecretKey: "sk_canary", APIURL: "ftp://canary", Now: now},
		"credentials in it":  {SecretKey: "sk_canary", APIURL: "https://canary@stripe.example", Now: now},
		"a query":            {SecretKey: "sk_canary", APIURL: "https://stripe.example/?canary", Now: now},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := billing.New(o); err == nil || strings.Contains(err.Error(), "canary") {
				t.Error(err)
			}
		})
	}
}

// A subscription that was given several items at Stripe has an error of its own, which is not
// retried.
func TestSubscription_WithSeveralItemsIsNotChanged(t *testing.T) {
	t.Parallel()
	way, asked := answering(t, says(200, `{"id":"sub_1","items":{"data":[{"id":"si_1"},{"id":"si_2"}]}}`))
	err := way.ChangePrice(t.Context(), billing.Change{Subscription: "sub_1", Item: itemOf(t, "pro_monthly")})
	if !errors.Is(err, billing.ErrSeveralItems) || asked.Load() != 1 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}
