package plan

import "slices"

// Interval is how often a plan is paid.
type Interval string

// The intervals.
const (
	ByMonth Interval = "month"
	ByYear  Interval = "year"
)

// Item is something sold for money: a plan by the month or by the year, or a pack. Its key is that
// of its rung on the price ladder, and the lookup key of its price at Stripe.
type Item struct {
	Key   string
	Title string
	// Plan and Interval are those of a plan; empty for a pack.
	Plan     string
	Interval Interval
	// Pack is the size of a pack; empty for a plan.
	Pack string
	// Price is net, for one interval or for the pack.
	Price Cents
	// Offer is the key of the offer that lowers the price for some months. PaidAs is then the item
	// whose price it lowers.
	Offer  string
	PaidAs string
}

// IsPack reports whether the item is a pack.
func (i Item) IsPack() bool { return i.Pack != "" }

// Items lists the items: plans from the smallest to the largest, then packs, then the offer.
func Items() []Item {
	var items []Item
	for _, p := range plans {
		if p.MonthlyPrice > 0 {
			key := p.Key + "_monthly"
			if p.Kind == Flat { // sold by the month only, under its own name
				key = p.Key
			}
			items = append(items, Item{
				Key: key, Title: p.Title + " by the month", Plan: p.Key, Interval: ByMonth, Price: p.MonthlyPrice,
			})
		}
		if p.YearlyPrice > 0 {
			items = append(items, Item{
				Key: p.Key + "_yearly", Title: p.Title + " by the year", Plan: p.Key,
				Interval: ByYear, Price: p.YearlyPrice,
			})
		}
	}
	for _, p := range packs {
		items = append(items, Item{Key: p.Key, Title: p.Title, Pack: p.Size, Price: p.Price})
	}
	offer := Founding()
	return append(items, Item{
		Key: offer.Key, Title: Must(offer.Plan).Title + " by the month, founding price", Plan: offer.Plan,
		Interval: ByMonth, Price: offer.Price, Offer: offer.Key, PaidAs: offer.Plan + "_monthly",
	})
}

// FindItem returns an item by its key.
func FindItem(key string) (Item, bool) {
	items := Items()
	at := slices.IndexFunc(items, func(i Item) bool { return i.Key == key })
	if at < 0 {
		return Item{}, false
	}
	return items[at], true
}

// Rank returns a plan's position from the smallest to the largest; -1 when there is no such plan.
func Rank(key string) int { return slices.IndexFunc(plans, func(p Plan) bool { return p.Key == key }) }
