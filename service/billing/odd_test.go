package billing_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
)

// Support replaces the price of a subscription: its plan goes on and operators see it. Once the
// subscription has ended at Stripe the plan ends, and another can be bought.
func TestPlan_ReplacedPriceKeepsItAsLongAsItIsPaid(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Buy(t, "pro_monthly", stripe.Visa)
	recorded, err := d.Store.LastSubscription(d.Ctx, d.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	product := d.Dashboard(t, http.MethodPost, "/v1/products", url.Values{"name": {"An agreement"}})
	odd := d.Dashboard(t, http.MethodPost, "/v1/prices", url.Values{
		"product": {product.ID}, "currency": {"usd"}, "unit_amount": {"5000"}, "recurring[interval]": {"month"},
	})
	item := d.Dashboard(t, http.MethodGet, "/v1/subscriptions/"+recorded.ID, nil).Items.Data[0].ID
	d.Dashboard(t, http.MethodPost, "/v1/subscriptions/"+recorded.ID, url.Values{
		"items[0][id]": {item}, "items[0][price]": {odd.ID}, "proration_behavior": {"none"},
	})
	known, err := d.Billing.Reconcile(d.Ctx, d.AccountID)
	in := expect.In(t, "after the change of the price")
	require.NoError(in, err)
	expect.Equal(in, known.Plan, plan.Pro)
	expect.True(in, known.Lasts)
	expect.Equal(in, known.OddPrice, odd.ID)
	s := d.Status(t)
	expect.Equal(t, s.Tier, plan.Pro)
	expect.Equal(t, s.Subscription.Value.Item, "pro_monthly")
	expect.Equal(t, s.Subscription.Value.PriceCents, 5000)
	_, refusal := d.StartCheckout.Invoke(d.Ctx, servicetest.Browser(d.Owner), billing.StartCheckoutInput{
		Item: "scale_monthly", Country: "DE",
	})
	refused(t, "a second plan", refusal, fault.FieldRefused, "billing page")
	_, refusal = d.ChangePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.ChangePlanInput{Item: "scale_monthly"})
	refused(t, "another plan instead", refusal, fault.FieldRefused, "support", "ticket")
	if done := servicetest.Must[billing.PlanChange](t)(d.CancelPlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		operation.Nothing{})); done.Plan != plan.Pro || done.Effect != "period_end" {
		t.Errorf("cancelled: %+v", done)
	}
	servicetest.Must[billing.PlanChange](t)(d.ResumePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		operation.Nothing{}))
	if last, err := d.Store.LastSubscription(d.Ctx, d.AccountID); err != nil || last.OddPrice != odd.ID ||
		last.CancelAtPeriodEnd {
		t.Errorf("operators see %+v, %v", last, err)
	}

	d.Dashboard(t, http.MethodDelete, "/v1/subscriptions/"+recorded.ID, nil)
	for range 2 {
		known, err = d.Billing.Reconcile(d.Ctx, d.AccountID)
		in := expect.In(t, "after its end")
		require.NoError(in, err)
		expect.Equal(in, known.Plan, plan.Free)
		expect.False(in, known.Lasts)
		expect.Equal(in, known.OddPrice, "")
	}
	last, err := d.Store.LastSubscription(d.Ctx, d.AccountID)
	require.NoError(t, err)
	expect.Equal(t, last.Status, subscription.Canceled)
	expect.False(t, last.EndedAt.IsZero())
	_, refusal = d.CancelPlan.Invoke(d.Ctx, servicetest.Browser(d.Owner), operation.Nothing{})
	refused(t, "to cancel what is over", refusal, fault.FieldRefused, "Choose a plan")
	if done := d.Buy(t, "scale_monthly", stripe.Visa); done.Tier != plan.Scale {
		t.Errorf("bought again: %+v", done)
	}
}
