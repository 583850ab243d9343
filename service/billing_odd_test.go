package service_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// dashboard does by hand what support does in Stripe's dashboard, and returns the object.
func (d *till) dashboard(t *testing.T, method, path string, form url.Values) (answer struct {
	ID    string
	Items struct{ Data []struct{ ID string } }
},
) {
	t.Helper()
	r, err := http.NewRequestWithContext(d.ctx, method, d.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+stripe.DefaultSecretKey)
	r.Header.Set("Stripe-Version", "2023-10-16")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v", method, path, response.Status, err)
	}
	return answer
}

// Support replaces the price of a subscription: its plan goes on and operators see it. Once the
// subscription has ended at Stripe the plan ends, and another can be bought.
func TestPlan_ReplacedPriceKeepsItAsLongAsItIsPaid(t *testing.T) {
	t.Parallel()
	d := openTill(t)
	d.buy(t, "pro_monthly", stripe.Visa)
	recorded, err := d.store.LastSubscription(d.ctx, d.id)
	if err != nil {
		t.Fatal(err)
	}
	product := d.dashboard(t, http.MethodPost, "/v1/products", url.Values{"name": {"An agreement"}})
	odd := d.dashboard(t, http.MethodPost, "/v1/prices", url.Values{
		"product": {product.ID}, "currency": {"usd"}, "unit_amount": {"5000"}, "recurring[interval]": {"month"},
	})
	item := d.dashboard(t, http.MethodGet, "/v1/subscriptions/"+recorded.ID, nil).Items.Data[0].ID
	d.dashboard(t, http.MethodPost, "/v1/subscriptions/"+recorded.ID, url.Values{
		"items[0][id]": {item}, "items[0][price]": {odd.ID}, "proration_behavior": {"none"},
	})
	known, err := d.books.Reconcile(d.ctx, d.id)
	if err != nil || known.Plan != plan.Pro || !known.Lasts || known.OddPrice != odd.ID {
		t.Errorf("after the change of the price: %+v, %v", known, err)
	}
	if s := d.status(t); s.Tier != plan.Pro || s.Subscription.Value.Item != "pro_monthly" ||
		s.Subscription.Value.PriceCents != 5000 {
		t.Errorf("shown is %s, %+v", s.Tier, s.Subscription.Value)
	}
	_, refusal := d.StartCheckout.Invoke(d.ctx, browser(d.owner), service.StartCheckoutInput{
		Item: "scale_monthly", Country: "DE",
	})
	refused(t, "a second plan", refusal, fault.FieldRefused, "billing page")
	_, refusal = d.ChangePlan.Invoke(d.ctx, browser(d.owner), service.ChangePlanInput{Item: "scale_monthly"})
	refused(t, "another plan instead", refusal, fault.FieldRefused, "support", "ticket")
	if done := must[service.PlanChange](t)(d.CancelPlan.Invoke(d.ctx, browser(d.owner),
		service.Nothing{})); done.Plan != plan.Pro || done.Effect != "period_end" {
		t.Errorf("cancelled: %+v", done)
	}
	must[service.PlanChange](t)(d.ResumePlan.Invoke(d.ctx, browser(d.owner), service.Nothing{}))
	if last, err := d.store.LastSubscription(d.ctx, d.id); err != nil || last.OddPrice != odd.ID ||
		last.CancelAtPeriodEnd {
		t.Errorf("operators see %+v, %v", last, err)
	}

	d.dashboard(t, http.MethodDelete, "/v1/subscriptions/"+recorded.ID, nil)
	for range 2 {
		known, err = d.books.Reconcile(d.ctx, d.id)
		if err != nil || known.Plan != plan.Free || known.Lasts || known.OddPrice != "" {
			t.Errorf("after its end: %+v, %v", known, err)
		}
	}
	if last, err := d.store.LastSubscription(d.ctx, d.id); err != nil || last.Status != subscription.Canceled ||
		last.EndedAt.IsZero() {
		t.Errorf("recorded is %+v, %v", last, err)
	}
	_, refusal = d.CancelPlan.Invoke(d.ctx, browser(d.owner), service.Nothing{})
	refused(t, "to cancel what is over", refusal, fault.FieldRefused, "Choose a plan")
	if done := d.buy(t, "scale_monthly", stripe.Visa); done.Tier != plan.Scale {
		t.Errorf("bought again: %+v", done)
	}
}
