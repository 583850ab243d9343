package home

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
)

const (
	pathPricing = "/pricing"
	unitsField  = "units"
	// firstVolume is the calculator's initial volume, in whole units per month.
	firstVolume = 10_000_000
)

// offers is the price list and its page. The list is cached, because it is the same for everybody.
type offers struct {
	list site.TTLCache[advice.PlanList]
}

// serve shows every way to pay for units, and what a volume costs with each. The volume is in the
// URL, so that a calculation can be shared.
func (o *offers) serve(v *site.Request) error {
	offers, err := o.read(v)
	if err != nil {
		return err
	}
	p := pricingPageOf(v, &offers)
	typed := v.R.URL.Query().Get(unitsField)
	volume, ok := site.ParseUnits(typed)
	if typed == "" {
		volume = firstVolume
		typed = view.Number(firstVolume)
	}
	p.Volume = volumeField(typed, "")
	status := http.StatusOK
	switch {
	case !ok:
		status, p.Volume.Error = http.StatusUnprocessableEntity, "Enter a whole number of units, digits only."
	default:
		ladder, err := site.Ask(v, v.Calls.PriceVolume, advice.PriceVolumeInput{Units: volume})
		if wrong := site.MistakesOf(err, unitsField); wrong != nil {
			status, p.Volume.Error = http.StatusUnprocessableEntity, wrong[unitsField]
			break
		}
		if err != nil {
			return err
		}
		p.Volume.Value, p.Units = view.Number(volume), view.Number(volume)
		p.Ladder, p.Cheapest = view.LadderOf(&ladder, &billing.BillingStatus{}, false), view.Cheapest(&ladder)
	}
	return v.Show(status, p)
}

// read returns the price list.
func (o *offers) read(v *site.Request) (advice.PlanList, error) {
	return o.list.Get(v.R.Context(), v.Now, func() (advice.PlanList, error) {
		return site.Ask(v, v.Calls.ListPlans, operation.Nothing{})
	})
}

func volumeField(value, wrong string) view.Field {
	return view.Field{
		Name: unitsField, Label: "Units per month", Mode: "numeric", Most: 20, Required: true, Value: value,
		Error: wrong, Rule: "A standard call costs 1 unit on the balanced tier, an answer from the cache nothing.",
	}
}

func pricingPageOf(v *site.Request, l *advice.PlanList) *pricingPage {
	p := &pricingPage{
		VAT: fmt.Sprintf("Prices are net. %d %% VAT is added in the EU, and where no country is given.",
			plan.VATPercent),
		Live:    l.PaymentsLive,
		PerCall: perCallRows(&l.PerCall), PerCallLive: l.PerCall.Live, PerCallUnits: plan.UnitsPerPayment.Grouped(),
		Counts: countRows(v), Tiers: tierRows(l.Tiers), PackMonths: plan.PackMonths, Enterprise: l.Enterprise.Text,
		Founding: foundingText(&l.Founding, l.Plans),
	}
	for i := range l.Plans {
		p.Plans = append(p.Plans, planRowOf(&l.Plans[i]))
	}
	for i := range l.Packs {
		k := &l.Packs[i]
		p.Packs = append(p.Packs, offerRow{
			Title: "Pack " + k.Size, Price: view.Dollars(plan.Cents(k.PriceCents)), Units: k.Units.Grouped(),
			PerMillion: view.Dollars(plan.Cents(k.PerMillion)), Supply: string(k.Supply),
		})
		if known, ok := plan.FindPack(k.Size); ok {
			p.Packs[i].Title = known.Title
		}
	}
	return p
}

func planRowOf(o *advice.PlanOffer) planRow {
	row := planRow{
		Key: o.Key, Title: o.Name, Price: "free", Yearly: "–", Units: o.Included.Grouped() + " a " + string(o.Period),
		Rate: rateWords(o.Rate), Supply: string(o.Supply), Data: "no",
		PerMillion: view.Dollars(plan.Cents(o.PerMillion)),
		Past:       "refused with -32007, unless a pack has units",
	}
	if o.Data {
		row.Data = "yes"
	}
	if o.PriceCents > 0 {
		row.Price = view.Dollars(plan.Cents(o.PriceCents)) + " a month"
	}
	if o.YearlyCents != nil {
		row.Yearly = view.Dollars(plan.Cents(*o.YearlyCents)) + " a year"
	}
	switch {
	case o.SoftCeiling != nil && o.SoftRate != nil:
		row.Past = "slower: " + rateWords(*o.SoftRate)
	case o.Key == plan.WalletBound: // it has no account to buy a pack for
		row.Past = "refused with -32007 until the month ends"
	case o.Period == plan.Daily:
		row.Past = "refused with -32016 until 00:00 UTC"
	}
	return row
}

// rateWords describes a rate window: 5 a second, 6,000 a minute, 100 in 15 minutes.
func rateWords(r advice.RateOffer) string {
	const minute = 60
	switch {
	case r.PerSeconds == 1:
		return view.Number(r.Requests) + " a second"
	case r.PerSeconds == minute:
		return view.Number(r.Requests) + " a minute"
	case r.PerSeconds%minute == 0:
		return view.Number(r.Requests) + " in " + view.Count(r.PerSeconds/minute, "minute")
	}
	return view.Number(r.Requests) + " in " + view.Count(r.PerSeconds, "second")
}

func perCallRows(o *advice.PerCallOffer) []offerRow {
	var rows []offerRow
	for i := range o.Tiers {
		t := &o.Tiers[i]
		row := offerRow{
			Title: string(t.Tier), PerMillion: view.Dollars(plan.Cents(t.PerMillion)),
			Supply: string(t.Supply),
		}
		if known, ok := plan.FindPerCallTier(t.Tier); ok {
			row.Price = known.NetAmountRequired().USDC() + " USDC"
		}
		rows = append(rows, row)
	}
	return rows
}

func tierRows(tiers []advice.TierOffer) []view.Fact {
	var rows []view.Fact
	for _, t := range tiers {
		rows = append(rows, view.Fact{Name: string(t.Tier), Value: "× " + plan.Units(t.Multiplier).String()})
	}
	return rows
}

// foundingText describes the founding offer while it is open; empty otherwise.
func foundingText(f *advice.FoundingOffer, plans []advice.PlanOffer) string {
	//nolint:gocritic // read once for a page
	at := slices.IndexFunc(plans, func(p advice.PlanOffer) bool { return p.Key == f.Plan })
	if !f.Open || at < 0 {
		return ""
	}
	return fmt.Sprintf(
		"Founding price: %s at %s a month, locked for %d months, for new subscriptions, %s left, "+
			"until %s.",
		plans[at].Name, view.Dollars(plan.Cents(f.PriceCents)), f.LockedMonths, view.Count(int64(f.SeatsLeft), "seat"),
		view.OfferEnd(f.EndsAt))
}

// countRows lists the weights: relayed calls from the catalog, tools and data from their
// operations.
func countRows(v *site.Request) []view.Fact {
	rows := []view.Fact{
		{Name: "A standard call of a chain", Value: weights(chain.Standard)},
		{Name: "A heavy one: " + chain.HeavyCalls(), Value: weights(chain.Heavy)},
	}
	for _, part := range []struct {
		title string
		has   func(account.Service) bool
	}{
		{"A tool of the toolbox", func(s account.Service) bool { return s != account.Data }},
		{"A call of the data service: balances, history", func(s account.Service) bool { return s == account.Data }},
	} {
		var takes []plan.Units
		for _, op := range v.Calls.Tools {
			if m := op.Meta(); part.has(m.Service) {
				takes = append(takes, m.Units)
			}
		}
		if len(takes) > 0 {
			rows = append(rows, view.Fact{Name: part.title, Value: between(slices.Min(takes), slices.Max(takes))})
		}
	}
	return append(rows,
		view.Fact{Name: "An answer from the cache", Value: "0 units"},
		view.Fact{Name: "A call that failed on our side, or that was invalid", Value: "0 units"},
	)
}

// weights returns the lowest and the highest weight of a class of methods on the built-in chains.
func weights(class chain.Class) string {
	var takes []plan.Units
	for _, c := range chain.BuiltIn().All() {
		for _, m := range c.Methods() {
			if m.Class == class {
				takes = append(takes, plan.Units(m.Weight)*plan.Unit)
			}
		}
	}
	return between(slices.Min(takes), slices.Max(takes))
}

func between(least, limit plan.Units) string {
	if least == limit {
		return view.Units(least)
	}
	return least.Grouped() + " to " + view.Units(limit)
}
