package billing_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

// loadSpec parses Stripe's OpenAPI description once: it has eight megabytes.
var loadSpec = sync.OnceValues(func() (*server.StubServer, error) {
	spec, err := server.LoadSpec(embedded.OpenAPISpec, "")
	if err != nil {
		return nil, err
	}
	fixtures, err := server.LoadFixtures(embedded.OpenAPIFixtures, "")
	if err != nil {
		return nil, err
	}
	return server.NewStubServer(fixtures, spec, false, false)
})

// mock is stripe-mock: it validates paths and parameters against Stripe's API description and keeps
// no state. A prepared answer replaces its own after the request was validated.
type mock struct {
	*billing.Stripe

	mu       sync.Mutex // guards the rest during a call
	sent     []string   // method and path
	refused  []string
	prepared map[string]string // answers by method and path, ids left out
}

func mocked(t *testing.T) *mock {
	t.Helper()
	stub, err := loadSpec()
	if err != nil {
		t.Fatal(err)
	}
	m := &mock{prepared: map[string]string{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		stub.HandleRequest(answer, r)
		call := r.Method + " " + r.URL.Path
		m.mu.Lock()
		defer m.mu.Unlock()
		m.sent = append(m.sent, call)
		if answer.Code != http.StatusOK {
			m.refused = append(m.refused, call+": "+answer.Body.String())
		}
		w.WriteHeader(answer.Code)
		if body, ok := m.prepared[call]; ok && answer.Code == http.StatusOK {
			_, _ = io.WriteString(w, body)
			return
		}
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(s.Close)
	m.Stripe, err = billing.New(billing.Options{
		SecretKey: "sk_test_123", APIURL: s.URL, Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// noon is the time of these tests.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// sell prepares stripe-mock's answers with an item's price and the tax rate.
func (m *mock) sell(t *testing.T, key string) plan.Item {
	t.Helper()
	item, ok := plan.FindItem(key)
	if !ok {
		t.Fatalf("no item %s", key)
	}
	m.prepared["GET /v1/prices"] = listOf(map[string]any{
		"id": "price_1", "object": "price", "active": true, "currency": "usd", "lookup_key": key,
		"unit_amount": item.Price, "product": productOf(item), "recurring": recurring(item),
	})
	m.prepared["GET /v1/tax_rates"] = listOf(map[string]any{
		"id": "txr_1", "object": "tax_rate", "active": true, "inclusive": false, "percentage": 20,
		"metadata": map[string]string{"cag": "vat"},
	})
	return item
}

func productOf(i plan.Item) string {
	if i.IsPack() {
		return "cag_" + i.Key
	}
	return "cag_" + i.Plan
}

func recurring(i plan.Item) any {
	if i.IsPack() {
		return nil
	}
	return map[string]any{"interval": i.Interval, "interval_count": 1}
}

func listOf(objects ...any) string {
	text, _ := json.Marshal(map[string]any{"object": "list", "data": objects, "has_more": false})
	return string(text)
}

// Every request of this package has a path, a method and parameters that Stripe's API description
// knows.
func TestStripe_EveryCallIsWellFormed(t *testing.T) {
	t.Parallel()
	const url, subscription = "https://gateway.example/billing", `{"id":"sub_1","object":"subscription",` +
		`"items":{"object":"list","data":[` +
		`{"id":"si_1","object":"subscription_item","price":{"id":"price_0","object":"price"}}]},` +
		`"discount":{"id":"di_1","object":"discount","coupon":{"id":"founding"}}}`
	id := account.NewID()
	checkout := func(t *testing.T, m *mock, key string) error {
		_, _, err := m.OpenCheckout(t.Context(), &billing.Checkout{
			ID: "c1", Account: id, Customer: "cus_1", Item: m.sell(t, key), VAT: true, SuccessURL: url, CancelURL: url,
			Expires: noon.Add(time.Hour),
		})
		return err
	}
	change := func(t *testing.T, m *mock, c billing.Change) error {
		c.Subscription = "sub_1"
		m.prepared["GET /v1/subscriptions/sub_1"] = subscription
		return m.ChangePrice(t.Context(), c)
	}
	for name, call := range map[string]struct {
		run  func(*testing.T, *mock) error
		last string // the last request expected
	}{
		"customer": {func(t *testing.T, m *mock) error {
			_, err := m.EnsureCustomer(t.Context(), id, "ann@buyer.example", "DE")
			return err
		}, "POST /v1/customers/"},
		"country": {
			func(t *testing.T, m *mock) error { return m.SetCountry(t.Context(), "cus_1", "US") },
			"POST /v1/customers/cus_1",
		},
		"plan checkout": {
			func(t *testing.T, m *mock) error { return checkout(t, m, "scale_yearly") }, "POST /v1/checkout/sessions",
		},
		"pack checkout": {
			func(t *testing.T, m *mock) error { return checkout(t, m, "pack_s") }, "POST /v1/checkout/sessions",
		},
		"founding checkout": {func(t *testing.T, m *mock) error {
			founding, _ := plan.FindItem("founding")
			m.sell(t, "pro_monthly")
			_, _, err := m.OpenCheckout(t.Context(), &billing.Checkout{
				ID: "c1", Account: id, Customer: "cus_1",
				Item: founding, SuccessURL: url, CancelURL: url, Expires: noon,
			})
			return err
		}, "POST /v1/checkout/sessions"},
		"read checkout": {func(t *testing.T, m *mock) error {
			_, err := m.ReadSession(t.Context(), "cs_1")
			return err
		}, "GET /v1/checkout/sessions/cs_1"},
		"end checkout": {func(t *testing.T, m *mock) error {
			_, err := m.ExpireSession(t.Context(), "cs_1")
			return err
		}, "POST /v1/checkout/sessions/cs_1/expire"},
		"snapshot": {
			func(t *testing.T, m *mock) error { _, err := m.Snapshot(t.Context(), "cus_1"); return err },
			"GET /v1/payment_intents",
		},
		"upgrade": {func(t *testing.T, m *mock) error {
			return change(t, m, billing.Change{Item: m.sell(t, "scale_monthly"), Charge: true})
		}, "POST /v1/subscriptions/sub_1"},
		"by the year": {func(t *testing.T, m *mock) error {
			return change(t, m, billing.Change{Item: m.sell(t, "pro_yearly"), Charge: true})
		}, "POST /v1/subscriptions/sub_1"},
		"downgrade": {func(t *testing.T, m *mock) error {
			return change(t, m, billing.Change{Item: m.sell(t, "builder"), Held: "pro_monthly"})
		}, "POST /v1/subscriptions/sub_1"},
		"cancel": {
			func(t *testing.T, m *mock) error { return m.CancelAtPeriodEnd(t.Context(), "sub_1", true) },
			"POST /v1/subscriptions/sub_1",
		},
		"resume": {
			func(t *testing.T, m *mock) error { return m.CancelAtPeriodEnd(t.Context(), "sub_1", false) },
			"POST /v1/subscriptions/sub_1",
		},
		"cancel now": {
			func(t *testing.T, m *mock) error { return m.CancelNow(t.Context(), "sub_1", "second/sub_1") },
			"DELETE /v1/subscriptions/sub_1",
		},
		"refund": {
			func(t *testing.T, m *mock) error { return m.RefundPayment(t.Context(), "pi_1", "second/pi_1") },
			"POST /v1/refunds",
		},
		"tax": {func(t *testing.T, m *mock) error {
			m.sell(t, "builder")
			return m.SetTax(t.Context(), "sub_1", true)
		}, "POST /v1/subscriptions/sub_1"},
		"no tax": {func(t *testing.T, m *mock) error {
			return m.SetTax(t.Context(), "sub_1", false)
		}, "POST /v1/subscriptions/sub_1"},
		"portal": {func(t *testing.T, m *mock) error {
			m.prepared["GET /v1/billing_portal/configurations"] = listOf(map[string]any{
				"id": "bpc_1", "metadata": map[string]string{"cag": "portal"},
			})
			_, err := m.OpenPortal(t.Context(), "cus_1", url)
			return err
		}, "POST /v1/billing_portal/sessions"},
		"invoice": {func(t *testing.T, m *mock) error {
			m.prepared["GET "+
				"/v1/invoices/in_1"] = `{"id":"in_1","hosted_invoice_url":"https://invoice.stripe.example/1"}`
			_, err := m.InvoiceURL(t.Context(), "in_1")
			return err
		}, "GET /v1/invoices/in_1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := mocked(t)
			err := call.run(t, m)
			if err != nil || len(m.refused) > 0 {
				t.Errorf("%v; refused: %q", err, m.refused)
			}
			if len(m.sent) == 0 || !strings.HasPrefix(m.sent[len(m.sent)-1], call.last) {
				t.Errorf("it sent %q, want %s last", m.sent, call.last)
			}
		})
	}
}

// SetUp creates whatever is missing, with parameters that Stripe knows.
func TestSetUp_IsWellFormed(t *testing.T) {
	t.Parallel()
	m := mocked(t)
	for _, i := range plan.Items() {
		m.prepared["GET /v1/products/"+productOf(i)] = "" // not a readable answer
	}
	lines, err := m.SetUp(t.Context(), billing.SetUpOptions{WebhookURL: "https://gateway.example/webhooks/stripe"})
	if !errors.Is(err, billing.ErrUnavailable) || len(lines) != 0 {
		t.Fatalf("it took an answer that cannot be read: %v", err)
	}
	clear(m.prepared)
	lines, err = m.SetUp(t.Context(), billing.SetUpOptions{WebhookURL: "https://gateway.example/webhooks/stripe"})
	if len(m.refused) > 0 {
		t.Errorf("refused: %q", m.refused)
	}
	for _, want := range []string{
		"POST /v1/prices", "POST /v1/tax_rates", "POST /v1/billing_portal/configurations", "GET /v1/webhook_endpoints",
	} {
		if !slices.Contains(m.sent, want) {
			t.Errorf("it never sent %s", want)
		}
	}
	// stripe-mock's coupon is not ours, and it has no endpoint with this address.
	in := expect.In(t, "what is wrong")
	require.Error(in, err)
	expect.Contains(in, err.Error(), "coupon founding is wrong")
	expect.Contains(in, err.Error(), "webhook endpoint is missing")
	made := slices.DeleteFunc(lines, func(l billing.Line) bool { return l.State != billing.Made })
	if len(made) != len(plan.Items())-1+2 { // the prices, the tax rate, the portal
		t.Errorf("it made %+v", made)
	}
}
