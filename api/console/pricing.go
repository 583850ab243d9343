package console

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

const (
	pathPricing = "/pricing"
	unitsField  = "units"
	// firstVolume is the calculator's initial volume, in whole units per month.
	firstVolume = 10_000_000
)

// pricing shows every way to pay for units, and what a volume costs with each. The volume is in the
// URL, so that a calculation can be shared.
func (v *request) pricing() error {
	offers, err := v.offers()
	if err != nil {
		return err
	}
	p := v.pricingPage(&offers)
	typed := v.r.URL.Query().Get(unitsField)
	volume, ok := parseUnits(typed)
	if typed == "" {
		volume = firstVolume
		typed = number(firstVolume)
	}
	p.Volume = volumeField(typed, "")
	status := http.StatusOK
	switch {
	case !ok:
		status, p.Volume.Error = http.StatusUnprocessableEntity, "Enter a whole number of units, digits only."
	default:
		ladder, err := ask(v, v.Calls.PriceVolume, service.PriceVolumeInput{Units: volume})
		if wrong := mistakesOf(err, unitsField); wrong != nil {
			status, p.Volume.Error = http.StatusUnprocessableEntity, wrong[unitsField]
			break
		}
		if err != nil {
			return err
		}
		p.Volume.Value, p.Units = number(volume), number(volume)
		p.Ladder, p.Cheapest = ladderOf(&ladder, &service.BillingStatus{}, false), cheapest(&ladder)
	}
	return v.show(status, p)
}

// offers returns the price list, cached because it is the same for everybody.
func (v *request) offers() (service.PlanList, error) {
	return v.plans.get(v.r.Context(), v.Now, func() (service.PlanList, error) {
		return ask(v, v.Calls.ListPlans, service.Nothing{})
	})
}

func volumeField(value, wrong string) field {
	return field{
		Name: unitsField, Label: "Units per month", Mode: "numeric", Most: 20, Required: true, Value: value,
		Error: wrong, Rule: "A standard call costs 1 unit on the balanced tier, an answer from the cache nothing.",
	}
}

func (v *request) pricingPage(l *service.PlanList) *pricingPage {
	p := &pricingPage{
		VAT: fmt.Sprintf("Prices are net. %d %% VAT is added in the EU, and where no country is given.",
			plan.VATPercent),
		Live:    l.PaymentsLive,
		PerCall: perCallRows(&l.PerCall), PerCallLive: l.PerCall.Live, PerCallUnits: plan.UnitsPerPayment.Grouped(),
		Counts: v.countRows(), Tiers: tierRows(l.Tiers), PackMonths: plan.PackMonths, Enterprise: l.Enterprise.Text,
		Founding: foundingText(&l.Founding, l.Plans),
	}
	for i := range l.Plans {
		p.Plans = append(p.Plans, planRowOf(&l.Plans[i]))
	}
	for i := range l.Packs {
		k := &l.Packs[i]
		p.Packs = append(p.Packs, offerRow{
			Title: "Pack " + k.Size, Price: dollars(plan.Cents(k.PriceCents)), Units: k.Units.Grouped(),
			PerMillion: dollars(plan.Cents(k.PerMillion)), Supply: string(k.Supply),
		})
		if known, ok := plan.FindPack(k.Size); ok {
			p.Packs[i].Title = known.Title
		}
	}
	return p
}

func planRowOf(o *service.PlanOffer) planRow {
	row := planRow{
		Key: o.Key, Title: o.Name, Price: "free", Yearly: "–", Units: o.Included.Grouped() + " a " + string(o.Period),
		Rate: rateWords(o.Rate), Supply: string(o.Supply), Data: "no", PerMillion: dollars(plan.Cents(o.PerMillion)),
		Past: "refused with -32007, unless a pack has units",
	}
	if o.Data {
		row.Data = "yes"
	}
	if o.PriceCents > 0 {
		row.Price = dollars(plan.Cents(o.PriceCents)) + " a month"
	}
	if o.YearlyCents != nil {
		row.Yearly = dollars(plan.Cents(*o.YearlyCents)) + " a year"
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
func rateWords(r service.RateOffer) string {
	const minute = 60
	switch {
	case r.PerSeconds == 1:
		return number(r.Requests) + " a second"
	case r.PerSeconds == minute:
		return number(r.Requests) + " a minute"
	case r.PerSeconds%minute == 0:
		return number(r.Requests) + " in " + count(r.PerSeconds/minute, "minute")
	}
	return number(r.Requests) + " in " + count(r.PerSeconds, "second")
}

func perCallRows(o *service.PerCallOffer) []offerRow {
	var rows []offerRow
	for i := range o.Tiers {
		t := &o.Tiers[i]
		row := offerRow{Title: string(t.Tier), PerMillion: dollars(plan.Cents(t.PerMillion)), Supply: string(t.Supply)}
		if known, ok := plan.FindPerCallTier(t.Tier); ok {
			row.Price = known.NetAmountRequired().USDC() + " USDC"
		}
		rows = append(rows, row)
	}
	return rows
}

func tierRows(tiers []service.TierOffer) []fact {
	var rows []fact
	for _, t := range tiers {
		rows = append(rows, fact{string(t.Tier), "× " + plan.Units(t.Multiplier).String()})
	}
	return rows
}

// foundingText describes the founding offer while it is open; empty otherwise.
func foundingText(f *service.FoundingOffer, plans []service.PlanOffer) string {
	//nolint:gocritic // read once for a page
	at := slices.IndexFunc(plans, func(p service.PlanOffer) bool { return p.Key == f.Plan })
	if !f.Open || at < 0 {
		return ""
	}
	return fmt.Sprintf(
		"Founding price: %s at %s a month, locked for %d months, for new subscriptions, %s left, "+
			"until %s.",
		plans[at].Name, dollars(plan.Cents(f.PriceCents)), f.LockedMonths, count(int64(f.SeatsLeft), "seat"),
		offerEnd(f.EndsAt))
}

// offerEnd formats the first instant after an offer, in UTC so that it reads the same on every page
// and in advice.
func offerEnd(t time.Time) string { return t.UTC().Format(momentLayout) }

// countRows lists the weights: relayed calls from the catalog, tools and data from their
// operations.
func (v *request) countRows() []fact {
	rows := []fact{
		{"A standard call of a chain", weights(chain.Standard)},
		{"A heavy one: " + chain.HeavyCalls(), weights(chain.Heavy)},
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
			rows = append(rows, fact{part.title, between(slices.Min(takes), slices.Max(takes))})
		}
	}
	return append(rows,
		fact{"An answer from the cache", "0 units"},
		fact{"A call that failed on our side, or that was invalid", "0 units"},
	)
}

// weights returns the lowest and the highest weight of a class of methods, over all chains.
func weights(class chain.Class) string {
	var takes []plan.Units
	for _, c := range chain.All() {
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
		return units(least)
	}
	return least.Grouped() + " to " + units(limit)
}
