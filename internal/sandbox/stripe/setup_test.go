package stripe_test

import (
	"context"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"
	"github.com/stripe/stripe-go/v76/webhook"

	"github.com/chainaccess/gateway/internal/sandbox/stripe"
)

const secret = "whsec_of_these_tests"

// bundle is a server with the gateway's products, and a stripe-go client of it.
type bundle struct {
	*stripe.Server
	api  *client.API
	http *httptest.Server

	mu     sync.Mutex // guards what follows
	events []api.Event
	refuse int // webhooks still to be refused
}

// start is the clock's initial time: a day that some months lack.
var start = time.Date(2026, time.January, 31, 10, 0, 0, 0, time.UTC)

func setup(t *testing.T, change ...func(*stripe.Options)) *bundle {
	t.Helper()
	b := bare(t, change...)
	b.furnish(t)
	return b
}

// bare returns a server without products.
func bare(t *testing.T, change ...func(*stripe.Options)) *bundle {
	t.Helper()
	b := &bundle{}
	o := stripe.Options{Start: start, Seed: 1, WebhookSecret: secret, Send: b.take}
	for _, f := range change {
		f(&o)
	}
	server, err := stripe.New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Server = server
	b.connect(t)
	return b
}

func (b *bundle) connect(t *testing.T) {
	t.Helper()
	b.http = httptest.NewServer(b.Server)
	t.Cleanup(b.http.Close)
	b.api = client.New(stripe.DefaultSecretKey,
		&api.Backends{API: api.GetBackendWithConfig(api.APIBackend, &api.BackendConfig{
			URL: new(b.http.URL), MaxNetworkRetries: api.Int64(0), LeveledLogger: &api.LeveledLogger{
				Level: api.LevelNull,
			},
		})})
}

// furnish creates monthly prices of Pro and Scale, a yearly one of Scale and a pack, 20 % VAT, and
// a founding offer of $20 off Pro for a year.
func (b *bundle) furnish(t *testing.T) {
	t.Helper()
	for _, id := range []string{"cag_pro", "cag_scale", "cag_pack_s"} {
		_, err := b.api.Products.New(&api.ProductParams{ID: new(id), Name: new(id)})
		must(t, err)
	}
	for _, p := range []struct {
		key, product, interval string
		cents                  int64
	}{
		{"pro_monthly", "cag_pro", "month", 9900},
		{"scale_monthly", "cag_scale", "month", 29900},
		{"scale_yearly", "cag_scale", "year", 299000},
		{"pack_s", "cag_pack_s", "", 1000},
	} {
		params := &api.PriceParams{
			Currency: new("usd"), Product: new(p.product), UnitAmount: new(p.cents), LookupKey: new(p.key),
			TaxBehavior: new("exclusive"),
		}
		if p.interval != "" {
			params.Recurring = &api.PriceRecurringParams{Interval: new(p.interval)}
		}
		_, err := b.api.Prices.New(params)
		must(t, err)
	}
	_, err := b.api.Coupons.New(&api.CouponParams{
		ID: new("founding"), AmountOff: api.Int64(2000), Currency: new("usd"), Duration: new("repeating"),
		DurationInMonths: api.Int64(12), AppliesTo: &api.CouponAppliesToParams{
			Products: api.StringSlice([]string{"cag_pro"}),
		},
	})
	must(t, err)
	_, err = b.api.TaxRates.New(&api.TaxRateParams{
		DisplayName: new("VAT"), Percentage: api.Float64(20), Inclusive: new(false),
	})
	must(t, err)
}

// take receives a webhook.
func (b *bundle) take(_ context.Context, payload []byte, signature string) error {
	e, err := webhook.ConstructEventWithOptions(payload, signature, secret, webhook.ConstructEventOptions{
		IgnoreTolerance: true,
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse > 0 {
		b.refuse--
		return context.DeadlineExceeded
	}
	b.events = append(b.events, e)
	return nil
}

// told delivers the due webhooks, and returns and clears the list of received events.
func (b *bundle) told(t *testing.T) []api.Event {
	t.Helper()
	_, err := b.Deliver(t.Context())
	must(t, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

func (b *bundle) price(t *testing.T, key string) string {
	t.Helper()
	list := b.api.Prices.List(&api.PriceListParams{LookupKeys: api.StringSlice([]string{key})})
	if !list.Next() {
		t.Fatalf("no price %s: %v", key, list.Err())
	}
	return list.Price().ID
}

func (b *bundle) vat(t *testing.T) string {
	t.Helper()
	list := b.api.TaxRates.List(&api.TaxRateListParams{})
	if !list.Next() {
		t.Fatal(list.Err())
	}
	return list.TaxRate().ID
}

func (b *bundle) customer(t *testing.T, country string) *api.Customer {
	t.Helper()
	u, err := b.api.Customers.New(&api.CustomerParams{
		Email: new("a@b.example"), Address: &api.AddressParams{Country: new(country)},
	})
	must(t, err)
	return u
}

// checkout opens a session for a subscription; change may modify its parameters.
func (b *bundle) checkout(t *testing.T, customer, key string,
	change ...func(*api.CheckoutSessionParams),
) *api.CheckoutSession {
	t.Helper()
	p := &api.CheckoutSessionParams{
		Mode: new("subscription"), Customer: new(customer),
		SuccessURL: new("https://gateway.example/done?session={CHECKOUT_SESSION_ID}"),
		CancelURL:  new("https://gateway.example/billing"), ExpiresAt: new(b.Now().Add(time.Hour).Unix()),
		ClientReferenceID: new("c-1"), LineItems: []*api.CheckoutSessionLineItemParams{
			{Price: new(b.price(t, key)), Quantity: api.Int64(1)},
		},
		SubscriptionData: &api.CheckoutSessionSubscriptionDataParams{
			DefaultTaxRates: api.StringSlice([]string{b.vat(t)}),
		},
	}
	for _, f := range change {
		f(p)
	}
	x, err := b.api.CheckoutSessions.New(p)
	must(t, err)
	return x
}

// subscribe pays a session and returns its subscription.
func (b *bundle) subscribe(t *testing.T, customer, key string, card stripe.Card,
	change ...func(*api.CheckoutSessionParams),
) *api.Subscription {
	t.Helper()
	x := b.checkout(t, customer, key, change...)
	must(t, b.Pay(x.ID, card))
	x, err := b.api.CheckoutSessions.Get(x.ID, &api.CheckoutSessionParams{
		Expand: api.StringSlice([]string{"subscription"}),
	})
	must(t, err)
	return x.Subscription
}

func (b *bundle) subscription(t *testing.T, id string) *api.Subscription {
	t.Helper()
	sub, err := b.api.Subscriptions.Get(id, nil)
	must(t, err)
	return sub
}

// invoices returns a customer's invoices, oldest first.
func (b *bundle) invoices(t *testing.T, customer string) []*api.Invoice {
	t.Helper()
	var all []*api.Invoice
	list := b.api.Invoices.List(&api.InvoiceListParams{
		Customer: new(customer), ListParams: api.ListParams{Limit: api.Int64(3)},
	})
	for list.Next() {
		all = append([]*api.Invoice{list.Invoice()}, all...)
	}
	must(t, list.Err())
	return all
}

func founding(p *api.CheckoutSessionParams) {
	p.Discounts = []*api.CheckoutSessionDiscountParams{{Coupon: new("founding")}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
