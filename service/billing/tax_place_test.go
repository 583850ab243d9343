package billing_test

import (
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/internal/servicetest"
)

func TestVAT_GoesByTwoItemsOfEvidence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		card     stripe.Card
		country  string // the resulting tax country
		vat      int64
		recorded string
		note     string
	}{
		"card and network against it": {
			stripe.German, "DE", plan.VATPercent, "DE: agreed (declared US, card DE, network DE)", "VAT goes by DE",
		},
		"the card bears it out": {stripe.Visa, "US", 0, "US: agreed (declared US, card US, network DE)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := servicetest.OpenBillingEnv(t)
			at := servicetest.Browser(d.Owner)
			at.Country = func() string { return "DE" }
			started := servicetest.Must[billing.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, at,
				billing.StartCheckoutInput{Item: "pro_monthly", Country: "US"}))
			in := expect.In(t, "begun")
			expect.Equal(in, started.VATPercent, plan.VATPercent)
			expect.Equal(in, started.Country, "DE")
			expect.Contains(in, started.Note, "Where you are is not certain")
			if got := d.Evidence(t,
				"SELECT tax_evidence FROM checkouts"); got != "DE: contradictory (declared US, card -, network DE)" {
				t.Errorf("the checkout has %q", got)
			}
			if err := d.Stripe.Pay(d.Checkout(t, started.CheckoutID).Session, c.card); err != nil {
				t.Fatal(err)
			}
			_ = servicetest.Must[billing.FinishedCheckout](t)(d.FinishCheckout.Invoke(d.Ctx, at,
				billing.FinishCheckoutInput{CheckoutID: started.CheckoutID}))
			s := d.Status(t)
			in = expect.In(t, "in the end")
			expect.Equal(in, s.Country, c.country)
			expect.Equal(in, s.VATPercent, c.vat)
			expect.Contains(in, s.TaxNote, c.note)
			expect.Equal(in, c.note == "", s.TaxNote == "")
			if got := d.Evidence(t, "SELECT tax_evidence FROM billing_customers"); got != c.recorded {
				t.Errorf("the customer has %q, want %q", got, c.recorded)
			}
			if got := d.Evidence(t, "SELECT tax_evidence FROM invoices"); !strings.HasPrefix(got, "DE: contradictory") {
				t.Errorf("the first invoice has %q", got)
			}
			said, err := d.Way.Snapshot(d.Ctx, *s.Customer)
			require.NoError(t, err)
			require.Len(t, said.Subscriptions, 1)
			expect.Equal(t, said.Subscriptions[0].Taxed, c.vat > 0)
		})
	}
}

// The evidence of a checkout that failed half way counts as one item too.
func TestVAT_AssumedCountryIsRecordedBeforeStripeHasIt(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	at := servicetest.Browser(d.Owner)
	at.Country = func() string { return "" }
	_ = servicetest.Must[billing.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, at,
		billing.StartCheckoutInput{Item: "pack_s"}))
	at.Country = func() string { return "US" }
	d.Stripe.SetDown(true)
	if out, refusal := d.StartCheckout.Invoke(d.Ctx, at, billing.StartCheckoutInput{Item: "pack_s"}); refusal == nil {
		t.Errorf("begun without Stripe: %+v", out)
	}
	if got := d.Evidence(t,
		"SELECT concat_ws(' ', country, country_assumed, network_country, tax_evidence) FROM billing_customers"); got !=
		"US t US US: one item (declared -, card -, network US)" {
		t.Errorf("the customer has %q", got)
	}
	d.Stripe.SetDown(false)
	_ = servicetest.Must[billing.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, at,
		billing.StartCheckoutInput{Item: "pack_s"}))
	if got := d.Evidence(t,
		"SELECT tax_evidence FROM billing_customers"); got != "US: one item (declared -, card -, network US)" {
		t.Errorf("in the end the customer has %q", got)
	}
}

func TestVAT_AssumedCountryIsNoSecondItem(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	at := servicetest.Browser(d.Owner)
	at.Country = func() string { return "US" }
	_ = servicetest.Must[billing.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, at,
		billing.StartCheckoutInput{Item: "pack_s"}))
	if got := d.Evidence(t,
		"SELECT tax_evidence FROM billing_customers"); got != "US: one item (declared -, card -, network US)" {
		t.Errorf("the customer has %q", got)
	}
	_ = servicetest.Must[billing.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, at, billing.StartCheckoutInput{
		Item: "pack_s", Country: "US",
	}))
	if got := d.Evidence(t,
		"SELECT tax_evidence FROM billing_customers"); got != "US: agreed (declared US, card -, network US)" {
		t.Errorf("when it is declared, the customer has %q", got)
	}
}
