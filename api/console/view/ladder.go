package view

import (
	"cmp"
	"slices"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
)

// LadderGroup holds rungs that are paid in the same way.
type LadderGroup struct {
	Title string
	Rungs []RungRow
}

// RungRow is one way to buy units.
type RungRow struct {
	Title, Price, Units, PerMillion, AtVolume, Supply string
	// what happens to calls beyond its units, when the volume exceeds them
	Short             string
	Note              string
	Current, Cheapest bool
	Action            *Link
}

// LadderOf returns the rungs in groups, each priced at the account's volume and with the action
// that an owner can take.
func LadderOf(l *billing.PriceLadder, now *billing.BillingStatus, may bool) []LadderGroup {
	groups := []LadderGroup{
		{Title: "Monthly"},
		{Title: "Yearly"},
		{Title: "Packs, paid once, valid for " + PackLasts()},
		{Title: "Without a purchase"},
	}
	running := now.Subscription.Value != nil && !now.Subscription.Value.Status.Over()
	for _, r := range byPrice(l.Rungs) {
		if !r.Live && !r.Current {
			continue
		}
		row := rungRowOf(r)
		if may && r.OnSale && !r.Current {
			row.Action = rungAction(r, running)
		}
		at := 3
		switch {
		case r.Kind == plan.PackKind:
			at = 2
		case r.Interval == string(plan.ByYear):
			at = 1
		case r.Interval == string(plan.ByMonth):
			at = 0
		}
		groups[at].Rungs = append(groups[at].Rungs, row)
	}
	return groups
}

// byPrice sorts rungs by list price. Rungs of the same list price keep the order of the price list,
// with a discounted one before the full one.
func byPrice(rungs []billing.LadderRung) []*billing.LadderRung {
	sorted := make([]*billing.LadderRung, len(rungs))
	for i := range rungs {
		sorted[i] = &rungs[i]
	}
	slices.SortStableFunc(sorted, func(a, b *billing.LadderRung) int {
		return cmp.Or(cmp.Compare(listPrice(a), listPrice(b)), cmp.Compare(a.Price, b.Price))
	})
	return sorted
}

// listPrice returns the price of a rung, or the full price when it is a discounted offer.
func listPrice(r *billing.LadderRung) plan.Cents {
	if offer, sold := plan.FindItem(r.Key); sold && offer.PaidAs != "" {
		if full, ok := plan.FindItem(offer.PaidAs); ok {
			return full.Price
		}
	}
	return plan.Cents(r.Price)
}

// PackLasts returns how long a pack is valid.
func PackLasts() string { return Count(plan.PackMonths, "month") }

// rungAction returns what an owner can do about a rung that is on sale.
func rungAction(r *billing.LadderRung, running bool) *Link {
	switch {
	case r.Kind == plan.PackKind:
		return &Link{"Buy", paths.Billing + "/buy?item=" + r.Key}
	case !running:
		return &Link{"Choose", paths.Billing + "/buy?item=" + r.Key}
	case r.SeatsLeft != nil:
		return nil // only for new subscriptions
	}
	return &Link{"Change", paths.Billing + "/change?item=" + r.Key}
}

func rungRowOf(r *billing.LadderRung) RungRow {
	row := RungRow{
		Title: r.Title, Units: r.Units.Grouped(), PerMillion: Dollars(plan.Cents(r.PerMillion)),
		AtVolume: Dollars(plan.Cents(r.AtVolume)), Supply: string(r.Served()), Price: rungPrice(r), Current: r.Current,
		Cheapest: r.Cheapest,
	}
	switch {
	case !r.Covered && r.Kind == plan.Flat:
		row.Short = "slower beyond its units"
	case !r.Covered:
		row.Short = "refused beyond its units"
	}
	if r.SeatsLeft != nil && r.Ends != nil {
		row.Note = Count(int64(*r.SeatsLeft), "seat") + " left, until " + OfferEnd(*r.Ends)
	}
	return row
}

func rungPrice(r *billing.LadderRung) string {
	paid := Dollars(plan.Cents(r.Commitment))
	switch {
	case r.Kind == plan.PerCall:
		return "paid per call"
	case r.Kind == plan.PackKind:
		return paid + " once"
	case r.Commitment == 0:
		return "free"
	case r.Interval == string(plan.ByYear):
		return paid + " a year"
	}
	return paid + " a month"
}

// Cheapest names the cheapest rung at the account's volume, and the cheapest with premium supply.
// Without a volume it names no premium rung.
func Cheapest(l *billing.PriceLadder) string {
	find := func(key string) *billing.LadderRung {
		for i := range l.Rungs {
			if l.Rungs[i].Key == key {
				return &l.Rungs[i]
			}
		}
		return nil
	}
	best, premium := find(l.Cheapest), find(l.Premium)
	if best == nil {
		return ""
	}
	text := "At this volume " + best.Title + " is cheapest: " + Dollars(plan.Cents(best.AtVolume)) + " a month"
	if best.Current {
		text += ", which is what you have"
	}
	if premium != nil && premium.Key != best.Key && l.Volume > 0 {
		text += ". With premium supply it is " + premium.Title + ": " + Dollars(plan.Cents(premium.AtVolume))
	}
	return text + "."
}
