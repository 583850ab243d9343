package stripe_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"

	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// post sends a raw form, which may hold what stripe-go cannot send.
func (b *bundle) post(t *testing.T, path, form string, change ...func(*http.Request)) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.http.URL+path, strings.NewReader(form))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+stripe.DefaultSecretKey)
	req.Header.Set("Stripe-Version", stripe.Version)
	for _, f := range change {
		f(req)
	}
	resp, err := b.http.Client().Do(req)
	must(t, err)
	must(t, resp.Body.Close())
	return resp.StatusCode
}

func TestAPI_RefusesWhatStripeRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	pro, vat := b.price(t, "pro_monthly"), b.vat(t)
	session := url.Values{
		"mode": {"subscription"}, "customer": {u.ID}, "success_url": {"https://a.example"},
		"line_items[0][price]": {pro}, "line_items[0][quantity]": {
			"1",
		}, "subscription_data[default_tax_rates][0]": {vat},
	}
	with := func(pairs ...string) string {
		form := url.Values{}
		maps.Copy(form, session)
		for n := 0; n < len(pairs); n += 2 {
			form.Set(pairs[n], pairs[n+1])
		}
		return form.Encode()
	}
	for name, c := range map[string]struct {
		path, form string
		change     func(*http.Request)
		status     int
	}{
		"as it should be":          {path: "/v1/checkout/sessions", form: with(), status: 200},
		"unknown parameter":        {path: "/v1/customers", form: "emial=a@b.example", status: 400},
		"unknown nested parameter": {path: "/v1/customers", form: "address[contry]=DE", status: 400},
		"country of three letters": {path: "/v1/customers", form: "address[country]=DEU", status: 400},
		"mail without an @":        {path: "/v1/customers", form: "email=a", status: 400},
		"unknown customer":         {path: "/v1/customers/cus_none", form: "", status: 404},
		"unknown path":             {path: "/v1/quotes", form: "", status: 404},
		"wrong key": {path: "/v1/customers", change: func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer sk_other")
		}, status: 401},
		"no version": {
			path: "/v1/customers", change: func(r *http.Request) { r.Header.Del("Stripe-Version") }, status: 400,
		},
		"session of unknown price": {
			path: "/v1/checkout/sessions", form: with("line_items[0][price]", "price_none"), status: 400,
		},
		"session of the wrong mode": {
			path: "/v1/checkout/sessions", form: with("mode", "payment", "invoice_creation[enabled]", "true"),
			status: 400,
		},
		"session of a minute": {
			path: "/v1/checkout/sessions", form: with("expires_at", "1769853660"), status: 400,
		},
		"session without a success": {path: "/v1/checkout/sessions", form: with("success_url", ""), status: 400},
		"invoice of a subscription": {
			path: "/v1/checkout/sessions", form: with("invoice_creation[enabled]", "true"), status: 400,
		},
		"session of unknown tax": {
			path: "/v1/checkout/sessions", form: with("subscription_data[default_tax_rates][0]", "txr_none"),
			status: 400,
		},
		"session of unknown coupon": {
			path: "/v1/checkout/sessions", form: with("discounts[0][coupon]", "none"), status: 400,
		},
		"price key in use": {
			path: "/v1/prices", form: "currency=usd&unit_amount=1&product=cag_pro&lookup_key=pack_s", status: 400,
		},
		"price of a loud currency": {
			path: "/v1/prices", form: "currency=USD&unit_amount=1&product=cag_pro", status: 400,
		},
		"product id in use":         {path: "/v1/products", form: "id=cag_pro&name=x", status: 400},
		"coupon without an amount":  {path: "/v1/coupons", form: "duration=once", status: 400},
		"refund of nothing":         {path: "/v1/refunds", form: "", status: 400},
		"expansion of what is none": {path: "/v1/customers", form: "expand[]=emial", status: 400},
		"expansion too deep":        {path: "/v1/customers", form: "expand[]=a.b.c.d.e", status: 400},
		"portal without settings":   {path: "/v1/billing_portal/sessions", form: "customer=" + u.ID, status: 400},
		"card that declines at once": {
			path: "/v1/subscriptions", form: "customer=" + u.ID + "&items[0][price]=" + pro +
				"&payment_behavior=error_if_incomplete", status: 400,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.change == nil {
				c.change = func(*http.Request) {}
			}
			if got := b.post(t, c.path, c.form, c.change); got != c.status {
				t.Errorf("answered %d, want %d", got, c.status)
			}
		})
	}
}

func TestIdempotencyKeys_RepeatTheAnswerForADay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	create := func(mail string) (*api.Customer, error) {
		p := &api.CustomerParams{Email: new(mail)}
		p.SetIdempotencyKey("customer/1")
		return b.api.Customers.New(p)
	}
	first, err := create("a@b.example")
	must(t, err)
	again, err := create("a@b.example")
	must(t, err)
	if again.ID != first.ID {
		t.Error("the second request made another customer")
	}
	var refusal *api.Error
	if _, err := create("other@b.example"); !errors.As(err, &refusal) || refusal.Type != api.ErrorTypeIdempotency {
		t.Errorf("other parameters under the key: %v", err)
	}
	b.Advance(start.Add(25 * time.Hour))
	later, err := create("a@b.example")
	must(t, err)
	if later.ID == first.ID {
		t.Error("the key is known after a day; Stripe forgets it")
	}
}

func TestAPI_LostAnswerWasCarriedOutOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.LoseAnswers(1000) // net/http retries by itself on a reused connection
	p := &api.CustomerParams{Email: new("lost@b.example")}
	p.SetIdempotencyKey("lost")
	if _, err := b.api.Customers.New(p); err == nil {
		t.Fatal("the answer arrived")
	}
	b.LoseAnswers(0)
	u, err := b.api.Customers.New(p)
	must(t, err)
	list := b.api.Customers.List(&api.CustomerListParams{Email: new("lost@b.example")})
	in := expect.In(t, "more than one customer came of it, or another")
	expect.True(in, list.Next())
	expect.Equal(in, list.Customer().ID, u.ID)
	expect.False(in, list.Next())
}

func TestAPI_ExpandsFourLevelsDeep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.subscribe(t, b.customer(t, "DE").ID, "pro_monthly", stripe.Visa)
	list := func(expand string) error {
		p := &api.InvoiceListParams{}
		p.AddExpand(expand)
		found := b.api.Invoices.List(p)
		if found.Next() && found.Invoice().PaymentIntent.LatestCharge.Amount == 0 {
			t.Errorf("%s expanded nothing", expand)
		}
		return found.Err()
	}
	must(t, list("data.payment_intent.latest_charge.customer"))
	if list("data.payment_intent.latest_charge.payment_intent.customer") == nil {
		t.Error("expanded five levels")
	}
}

func TestLists_PageThroughEverythingNewestFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var want []string
	for range 7 {
		want = append([]string{b.customer(t, "DE").ID}, want...)
	}
	var got []string
	list := b.api.Customers.List(&api.CustomerListParams{ListParams: api.ListParams{Limit: api.Int64(2)}})
	for list.Next() {
		got = append(got, list.Customer().ID)
	}
	must(t, list.Err())
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("listed %v, want %v", got, want)
	}
	if _, err := b.api.Subscriptions.Get("sub_none", nil); err == nil {
		t.Error("found a subscription that there is not")
	}
}

func TestAPI_SilentStripeAnswersAndSendsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.told(t)
	b.SetDown(true)
	if status := b.post(t, "/v1/customers", ""); status != http.StatusServiceUnavailable {
		t.Errorf("answered %d", status)
	}
	b.SetDown(false)
	b.customer(t, "DE")
	b.SetDown(true)
	if events := b.told(t); len(events) != 0 {
		t.Errorf("told of %d events", len(events))
	}
	b.SetDown(false)
	if events := b.told(t); len(events) != 1 {
		t.Errorf("back again, it told of %d events", len(events))
	}
}

func TestState_IsThereAgainAfterAStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "stripe.json")
	b := setup(t, func(o *stripe.Options) { o.File = file })
	u := b.customer(t, "DE")
	sub := b.subscribe(t, u.ID, "pro_monthly", stripe.DeclinesLater, founding)
	b.told(t)
	b.Advance(start.Add(time.Hour))

	server, err := stripe.New(stripe.Options{File: file, Seed: 1, WebhookSecret: secret, Send: b.take})
	must(t, err)
	b.Server = server
	b.connect(t)
	if b.Now() != start.Add(time.Hour) {
		t.Errorf("the clock stands at %s", b.Now())
	}
	b.Advance(time.Unix(sub.CurrentPeriodEnd, 0).Add(time.Hour))
	if after := b.subscription(t, sub.ID); after.Status != api.SubscriptionStatusPastDue ||
		after.Discount.Coupon.AmountOff != 2000 {
		t.Errorf("went on as %s with %+v", after.Status, after.Discount)
	}
	if other := b.customer(t, "DE"); other.ID == u.ID {
		t.Error("ids repeat")
	}
}
