package stripe_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// visit requests a page, or posts its form if there is one, and returns the answer without
// following redirects.
func (b *bundle) visit(t *testing.T, address string, form url.Values) (status int, text, location string) {
	t.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	must(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := b.http.Client().Transport.RoundTrip(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	page, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(page), resp.Header.Get("Location")
}

// has fails unless the page contains all texts.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page does not say %q:\n%s", text, page)
		}
	}
}

func TestCheckoutPage_ShowsThePriceDeclinesAndPays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	x := b.checkout(t, u.ID, "pro_monthly", founding, func(p *api.CheckoutSessionParams) {
		p.CustomerUpdate = &api.CheckoutSessionCustomerUpdateParams{Address: new("auto")}
	})
	status, page, _ := b.visit(t, x.URL, nil)
	has(t, page, "cag_pro, each month", "$99.00", "−$20.00", "$15.80", "Pay $94.80",
		`href="https://gateway.example/billing"`, `value="DE"`)
	if status != http.StatusOK {
		t.Errorf("the page answered %d", status)
	}
	status, page, _ = b.visit(t, x.URL, url.Values{"card": {"4000 0000 0000 0002"}})
	has(t, page, `role="alert">Your card was declined.`, "Pay $94.80")
	if status != http.StatusPaymentRequired {
		t.Errorf("a declined card answered %d", status)
	}
	status, _, location := b.visit(t, x.URL, url.Values{"card": {"4242 4242 4242 4242"}, "country": {"us"}})
	if status != http.StatusSeeOther || location != "https://gateway.example/done?session="+x.ID {
		t.Errorf("paid, it answered %d and leads to %q", status, location)
	}
	u, err := b.api.Customers.Get(u.ID, nil)
	must(t, err)
	if u.Address.Country != "US" {
		t.Errorf("the customer's country is %s", u.Address.Country)
	}
	_, page, _ = b.visit(t, x.URL, nil)
	has(t, page, "This checkout is complete")
	if strings.Contains(page, "<form") {
		t.Error("a complete checkout can be paid")
	}
	if status, _, _ := b.visit(t, b.http.URL+"/pay/cs_none", nil); status != http.StatusNotFound {
		t.Errorf("a checkout that there is not answered %d", status)
	}
}

func TestPortalPage_ChangesCardAndCountryPaysAndCancels(t *testing.T) {
	t.Parallel()
	b := bare(t)
	way, owner, customer := b.gateway(t)
	sold := b.buy(t, way, owner, customer, "pro_monthly", stripe.DeclinesLater)
	sub := b.subscription(t, sold.Subscription)
	b.Advance(time.Unix(sub.CurrentPeriodEnd, 0).Add(time.Hour))
	portal, err := way.OpenPortal(t.Context(), customer, "https://gateway.example/billing")
	must(t, err)
	_, page, _ := b.visit(t, portal, nil)
	has(t, page, "visa ending in 0341", "past_due", "Pay invoice", `href="https://gateway.example/billing"`)
	failed := b.invoices(t, customer)[1]
	stranger, err := way.EnsureCustomer(t.Context(), account.NewID(), "other@b.example", "DE")
	must(t, err)
	other := b.subscribe(t, stranger, "pro_monthly", stripe.DeclinesLater)
	b.Advance(time.Unix(other.CurrentPeriodEnd, 0).Add(time.Hour))
	portal, err = way.OpenPortal(t.Context(), customer, "https://gateway.example/billing")
	must(t, err)
	must(t, b.SetCard(customer, stripe.DeclinesLater))
	do := func(want int, pairs ...string) string {
		form := url.Values{}
		for n := 0; n < len(pairs); n += 2 {
			form.Set(pairs[n], pairs[n+1])
		}
		status, page, _ := b.visit(t, portal, form)
		if status != want {
			t.Errorf("%v answered %d, want %d", pairs, status, want)
		}
		return page
	}
	has(t, do(http.StatusPaymentRequired, "do", "pay", "id", failed.ID), "Your card was declined.")
	has(t, do(http.StatusPaymentRequired, "do", "card", "card", "4000000000000002"), "Your card was declined.")
	do(http.StatusSeeOther, "do", "card", "card", "5555555555554444")
	do(http.StatusSeeOther, "do", "pay", "id", failed.ID)
	do(http.StatusPaymentRequired, "do", "pay", "id", failed.ID)
	do(http.StatusPaymentRequired, "do", "country", "country", "Germany")
	do(http.StatusSeeOther, "do", "country", "country", "ch")
	do(http.StatusSeeOther, "do", "cancel", "id", sub.ID)
	do(http.StatusPaymentRequired, "do", "cancel", "id", other.ID)
	must(t, b.SetCard(stranger, stripe.Visa))
	do(http.StatusPaymentRequired, "do", "pay", "id", b.invoices(t, stranger)[1].ID)
	do(http.StatusPaymentRequired, "do", "steal", "id", sub.ID)
	snapshot, err := way.Snapshot(t.Context(), customer)
	must(t, err)
	now := snapshot.Subscriptions[0]
	in := expect.In(t, "afterwards")
	expect.Equal(in, snapshot.Card.Last4, "4444")
	expect.Equal(in, snapshot.Country, "CH")
	expect.Equal(in, now.Status, "active")
	expect.True(in, now.CancelAtPeriodEnd)
	do(http.StatusSeeOther, "do", "resume", "id", sub.ID)
	if b.subscription(t, sub.ID).CancelAtPeriodEnd {
		t.Error("it was not resumed")
	}
	b.Advance(b.Now().Add(2 * time.Hour))
	if status, _, _ := b.visit(t, portal, nil); status != http.StatusNotFound {
		t.Errorf("two hours later the portal answered %d", status)
	}
}

func TestInvoicePage_TakesThePaymentOfAnOpenInvoice(t *testing.T) {
	t.Parallel()
	b := bare(t)
	way, owner, customer := b.gateway(t)
	sold := b.buy(t, way, owner, customer, "pro_monthly", stripe.DeclinesLater)
	b.Advance(time.Unix(b.subscription(t, sold.Subscription).CurrentPeriodEnd, 0).Add(time.Hour))
	address, err := way.InvoiceURL(t.Context(), b.invoices(t, customer)[1].ID)
	must(t, err)
	_, page, _ := b.visit(t, address, nil)
	has(t, page, "open, of", "$19.80", "Pay $118.80")
	if status, _, _ := b.visit(t, address, url.Values{"card": {"4242424242424242"}}); status != http.StatusSeeOther {
		t.Errorf("paying answered %d", status)
	}
	if sub := b.subscription(t, sold.Subscription); sub.Status != api.SubscriptionStatusActive {
		t.Errorf("paid, the subscription is %s", sub.Status)
	}
}

func TestPages_OtherOriginsCannotPay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x := b.checkout(t, b.customer(t, "DE").ID, "pro_monthly")
	status := b.post(t, strings.TrimPrefix(x.URL, b.http.URL), "card=4242424242424242", func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://elsewhere.example")
	})
	if status != http.StatusForbidden {
		t.Errorf("answered %d", status)
	}
}
