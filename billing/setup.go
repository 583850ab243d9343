package billing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stripe/stripe-go/v76"
	portalconfiguration "github.com/stripe/stripe-go/v76/billingportal/configuration"
	"github.com/stripe/stripe-go/v76/coupon"
	"github.com/stripe/stripe-go/v76/price"
	"github.com/stripe/stripe-go/v76/product"
	"github.com/stripe/stripe-go/v76/taxrate"
	"github.com/stripe/stripe-go/v76/webhookendpoint"

	"github.com/chainaccess/gateway/metering/plan"
)

// SetUpOptions are the options of SetUp.
type SetUpOptions struct {
	Check      bool   // check only, create nothing
	WebhookURL string // address of our webhook; empty to skip the endpoint
}

// State is what SetUp found or did.
type State string

// The states. Wrong and Missing are in the error as well.
const (
	There   State = "there"
	Made    State = "made"
	Wrong   State = "wrong"
	Missing State = "missing"
)

// Line is one object at Stripe.
type Line struct {
	What  string `json:"what"` // price pro_monthly
	ID    string `json:"id"`   // empty when it does not exist
	State State  `json:"state"`
	Note  string `json:"note"` // what is wrong or to do; empty for nothing
}

// setUp is one run of SetUp.
type setUp struct {
	*Stripe

	options SetUpOptions
	lines   []Line
}

// SetUp creates what is sold at Stripe, or checks it: a product and a price for each item, the
// founding coupon, the tax rate, the portal's configuration. It is idempotent: objects that exist
// are left as they are. An object that differs from the plan is Wrong and never changed, because
// people may be paying by it. The operator creates the webhook endpoint, because Stripe shows its
// secret then. The lines are valid even with an error.
func (s *Stripe) SetUp(ctx context.Context, o SetUpOptions) ([]Line, error) {
	u := &setUp{Stripe: s, options: o}
	for _, i := range plan.Items() {
		if i.PaidAs != "" {
			continue // another's price and a coupon
		}
		if err := u.product(ctx, i); err != nil {
			return u.lines, err
		}
		if err := u.price(ctx, i); err != nil {
			return u.lines, err
		}
	}
	for _, step := range []func(context.Context) error{u.coupon, u.taxRate, u.portal, u.endpoint} {
		if err := step(ctx); err != nil {
			return u.lines, err
		}
	}
	return u.lines, u.faults()
}

// faults returns what must be fixed before anything is sold.
func (u *setUp) faults() error {
	var faults []error
	for _, l := range u.lines {
		if l.State == Wrong || l.State == Missing {
			faults = append(faults, fmt.Errorf("%s is %s: %s", l.What, l.State, l.Note))
		}
	}
	return errors.Join(faults...)
}

// note adds a line; wrong is empty when the object is as it should be.
func (u *setUp) note(what, id, wrong string) {
	state := There
	if wrong != "" {
		state = Wrong
	}
	u.lines = append(u.lines, Line{What: what, ID: id, State: state, Note: wrong})
}

// make creates an object, or reports it as missing when only checking.
func (u *setUp) make(what string, do func() (string, error)) error {
	if u.options.Check {
		u.lines = append(u.lines, Line{
			What: what, State: Missing, Note: "run gateway ops billing setup without --check",
		})
		return nil
	}
	id, err := do()
	if err != nil {
		return failed("make "+what, err)
	}
	u.lines = append(u.lines, Line{What: what, ID: id, State: Made})
	return nil
}

func (u *setUp) product(ctx context.Context, i plan.Item) error {
	id := productID(i)
	what := "product " + id
	if slices.ContainsFunc(u.lines, func(l Line) bool { return l.What == what }) {
		return nil // product of a plan that is sold by the month and by the year
	}
	products := product.Client{B: u.backend, Key: u.key}
	found, err := products.Get(id, &stripe.ProductParams{Params: stripe.Params{Context: ctx}})
	if err = failed("read "+what, err); err == nil {
		wrong := ""
		if !found.Active {
			wrong = "it is archived; make it active again in Stripe's dashboard"
		}
		u.note(what, found.ID, wrong)
		return nil
	}
	if !errors.Is(err, ErrGone) {
		return err
	}
	name := i.Title
	if p, ok := plan.Lookup(i.Plan); ok {
		name = p.Title
	}
	return u.make(what, func() (string, error) {
		made, err := products.New(&stripe.ProductParams{
			Params: stripe.Params{Context: ctx}, ID: new(id), Name: new("Chain Access Gateway " + name),
		})
		return made.ID, err
	})
}

func (u *setUp) price(ctx context.Context, i plan.Item) error {
	what := "price " + i.Key
	found, err := u.findPrice(ctx, i.Key)
	if err != nil {
		return err
	}
	if found != nil {
		wrong := differs(found, i)
		if wrong != "" {
			wrong = fmt.Sprintf("it %s; in Stripe's dashboard, take the lookup key off this price and run this again",
				wrong)
		}
		u.note(what, found.ID, wrong)
		return nil
	}
	params := &stripe.PriceParams{
		Params: stripe.Params{Context: ctx}, Product: new(productID(i)), Currency: new(currency),
		UnitAmount: new(int64(i.Price)), LookupKey: new(i.Key),
		TaxBehavior: stripe.String(string(stripe.PriceTaxBehaviorExclusive)), Nickname: new(i.Title),
		Metadata: map[string]string{metaOurs: i.Key},
	}
	if i.Interval != "" {
		params.Recurring = &stripe.PriceRecurringParams{Interval: new(string(i.Interval))}
	}
	return u.make(what, func() (string, error) {
		made, err := price.Client{B: u.backend, Key: u.key}.New(params)
		return made.ID, err
	})
}

func (u *setUp) coupon(ctx context.Context) error {
	offer := plan.Founding()
	off := int64(plan.Must(offer.Plan).MonthlyPrice - offer.Price)
	what := "coupon " + offer.Key
	coupons := coupon.Client{B: u.backend, Key: u.key}
	read := &stripe.CouponParams{Params: stripe.Params{Context: ctx}}
	read.AddExpand("applies_to")
	found, err := coupons.Get(offer.Key, read)
	if err = failed("read "+what, err); err == nil {
		wrong := ""
		if found.AmountOff != off || found.Currency != currency || found.Duration != stripe.CouponDurationRepeating ||
			found.DurationInMonths != int64(offer.LockedMonths) || found.AppliesTo == nil ||
			!slices.Equal(found.AppliesTo.Products, []string{"cag_" + offer.Plan}) {
			wrong = fmt.Sprintf(
				"it must take %s US dollars off cag_%s alone, for %d months; delete it in Stripe's dashboard and run "+
					"this again, which changes nothing for those who have it", plan.Cents(off), offer.Plan,
				offer.LockedMonths)
		}
		u.note(what, found.ID, wrong)
		return nil
	}
	if !errors.Is(err, ErrGone) {
		return err
	}
	return u.make(what, func() (string, error) {
		made, err := coupons.New(&stripe.CouponParams{
			Params: stripe.Params{Context: ctx}, ID: new(offer.Key), Name: new("Founding price"), AmountOff: new(off),
			Currency: new(currency), Duration: stripe.String(string(stripe.CouponDurationRepeating)),
			DurationInMonths: new(int64(offer.LockedMonths)),
			AppliesTo: &stripe.CouponAppliesToParams{
				Products: stripe.StringSlice([]string{"cag_" + offer.Plan}),
			},
		})
		return made.ID, err
	})
}

func (u *setUp) taxRate(ctx context.Context) error {
	what := "tax rate VAT"
	found, err := u.findVAT(ctx)
	if err != nil {
		return err
	}
	if found != nil {
		u.note(what, found.ID, "")
		return nil
	}
	return u.make(what, func() (string, error) {
		made, err := taxrate.Client{B: u.backend, Key: u.key}.New(&stripe.TaxRateParams{
			Params: stripe.Params{Context: ctx}, DisplayName: new("VAT"), Percentage: stripe.Float64(plan.VATPercent),
			Inclusive: new(false), Metadata: map[string]string{metaOurs: oursVAT},
		})
		return made.ID, err
	})
}

func (u *setUp) portal(ctx context.Context) error {
	what := "portal configuration"
	found, err := u.portalConfiguration(ctx)
	if err != nil {
		return err
	}
	if found != nil {
		u.note(what, found.ID, "")
		return nil
	}
	yes := new(true)
	return u.make(what, func() (string, error) {
		made, err := portalconfiguration.Client{B: u.backend, Key: u.key}.New(&stripe.BillingPortalConfigurationParams{
			Params:          stripe.Params{Context: ctx},
			BusinessProfile: &stripe.BillingPortalConfigurationBusinessProfileParams{},
			Features: &stripe.BillingPortalConfigurationFeaturesParams{
				CustomerUpdate: &stripe.BillingPortalConfigurationFeaturesCustomerUpdateParams{
					Enabled: yes, AllowedUpdates: stripe.StringSlice([]string{"address", "email", "name", "tax_id"}),
				},
				InvoiceHistory:      &stripe.BillingPortalConfigurationFeaturesInvoiceHistoryParams{Enabled: yes},
				PaymentMethodUpdate: &stripe.BillingPortalConfigurationFeaturesPaymentMethodUpdateParams{Enabled: yes},
				// Plans are changed through us, because we enforce the rules of changes.
				SubscriptionCancel: &stripe.BillingPortalConfigurationFeaturesSubscriptionCancelParams{
					Enabled: yes, Mode: new("at_period_end"),
				},
			},
			Metadata: map[string]string{metaOurs: oursPortal},
		})
		return made.ID, err
	})
}

// endpoint checks that Stripe sends us events. The operator creates an endpoint, because Stripe
// shows its secret only once.
func (u *setUp) endpoint(ctx context.Context) error {
	if u.options.WebhookURL == "" {
		return nil
	}
	what := "webhook endpoint"
	list := webhookendpoint.Client{B: u.backend, Key: u.key}.List(&stripe.WebhookEndpointListParams{
		ListParams: firstPage(ctx),
	})
	for list.Next() {
		if e := list.WebhookEndpoint(); e.URL == u.options.WebhookURL {
			u.note(what, e.ID, endpointFault(e))
			return nil
		}
	}
	if list.Err() != nil {
		return failed("list the webhook endpoints", list.Err())
	}
	u.lines = append(u.lines, Line{What: what, State: Missing, Note: fmt.Sprintf(
		"add %s in Stripe's dashboard with API version %s, and set STRIPE_WEBHOOK_SECRET to its signing secret",
		u.options.WebhookURL, APIVersion)})
	return nil
}

func endpointFault(e *stripe.WebhookEndpoint) string {
	switch {
	case e.Status != "enabled":
		return "it is disabled; enable it in Stripe's dashboard"
	case e.APIVersion != "" && e.APIVersion != APIVersion:
		return fmt.Sprintf("it has API version %s; replace it by one of %s", e.APIVersion, APIVersion)
	}
	if slices.Contains(e.EnabledEvents, "*") {
		return ""
	}
	for _, event := range Events() {
		if !slices.Contains(e.EnabledEvents, event) {
			return "it is not told of " + event + "; add it in Stripe's dashboard"
		}
	}
	return ""
}
