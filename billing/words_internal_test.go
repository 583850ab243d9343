package billing

import (
	"testing"
	"time"

	"github.com/stripe/stripe-go/v76"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

// An item that was added to a subscription by hand hides neither its plan nor the plan's price,
// wherever Stripe lists it.
func TestPlanOf_ItemOfOurPlanSaysWhatASubscriptionIs(t *testing.T) {
	t.Parallel()
	added := &stripe.Price{ID: "price_x", UnitAmount: 700, Product: &stripe.Product{ID: "prod_x"}}
	key := &stripe.Price{
		ID: "price_1", UnitAmount: 9900, LookupKey: "pro_monthly", Product: &stripe.Product{
			ID: productPrefix + plan.Pro,
		},
	}
	own := &stripe.Price{ID: "price_own", UnitAmount: 5000, Product: &stripe.Product{ID: productPrefix + plan.Growth}}
	for name, tc := range map[string]struct {
		prices      []*stripe.Price
		price, plan string
		cents       plan.Cents
	}{
		"ours first":                     {[]*stripe.Price{key, added}, "pro_monthly", plan.Pro, 9900},
		"ours after another":             {[]*stripe.Price{added, key}, "pro_monthly", plan.Pro, 9900},
		"ours by its product":            {[]*stripe.Price{added, own}, "price_own", plan.Growth, 5000},
		"none of ours":                   {[]*stripe.Price{added, {ID: "price_y"}}, "price_x", "", 700},
		"after one that Stripe left out": {[]*stripe.Price{nil, key}, "pro_monthly", plan.Pro, 9900},
		"nothing":                        {nil, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			from := &stripe.Subscription{Items: &stripe.SubscriptionItemList{}}
			for _, p := range tc.prices {
				from.Items.Data = append(from.Items.Data, &stripe.SubscriptionItem{Price: p})
			}
			s := subscriptionOf(from, time.Unix(1, 0))
			in := expect.In(t, "%s", name)
			expect.Equal(in, s.Price, tc.price)
			expect.Equal(in, s.Plan, tc.plan)
			expect.Equal(in, s.PriceCents, tc.cents)
		})
	}
}
