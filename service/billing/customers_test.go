package billing_test

import (
	"testing"

	stripego "github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/customer"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/internal/servicetest"
)

// After the customer is deleted in Stripe's dashboard, the plan ends and the account can buy again.
func TestPurchase_WorksAgainAfterTheCustomerWasDeleted(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Buy(t, "pro_monthly", stripe.Visa)
	old := *d.Status(t).Customer
	there := customer.Client{Key: stripe.DefaultSecretKey, B: stripego.GetBackendWithConfig(stripego.APIBackend,
		&stripego.BackendConfig{
			URL: new(d.URL), LeveledLogger: &stripego.LeveledLogger{Level: stripego.LevelNull},
		})}
	if _, err := there.Del(old, nil); err != nil {
		t.Fatal(err)
	}
	// Buying a pack is the first purchase that finds out. What the old customer had has ended
	// before there is another one.
	servicetest.Must[billing.StartedCheckout](t)(d.StartCheckout.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.StartCheckoutInput{Item: "pack_s"}))
	if s := d.Status(t); s.Tier != plan.Free || *s.Customer == old {
		t.Fatalf("after it was deleted the account has %s by %s", s.Tier, *s.Customer)
	}
	_, refusal := d.ChangePlan.Invoke(d.Ctx, servicetest.Browser(d.Owner),
		billing.ChangePlanInput{Item: "scale_monthly"})
	refused(t, "a change of what is gone", refusal, fault.FieldRefused, "no running subscription")
	if done := d.Buy(t, "scale_monthly", stripe.Visa); done.Tier != plan.Scale {
		t.Errorf("bought again it is %+v", done)
	}
}
