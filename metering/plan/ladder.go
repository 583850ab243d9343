package plan

// Rung is one way to buy units, on the price ladder of docs/interface.md, 2.8.
type Rung struct {
	Key  string
	Kind Kind
	// Commitment is what is paid at once; 0 when paid per call or free.
	Commitment Cents
	// Price is per month for subscriptions, else for Units; yearly prices are divided by twelve.
	Price     Cents
	Units     Units
	Supply    Supply
	FastShare Thousandths
	Live      bool

	total  Cents // exact price of months × Units
	months int64
}

// CentsPerMillion returns the price of a million standard units of the balanced tier, rounded half
// up.
func (r Rung) CentsPerMillion() Cents {
	const million = 1_000_000
	return Cents(roundHalfUp(int64(r.total)*million, r.months*int64(r.Units/Unit)))
}

// Title returns the display name of the rung.
func (r Rung) Title() string {
	if item, ok := FindItem(r.Key); ok {
		return item.Title
	}
	if p, ok := Lookup(r.Key); ok {
		return p.Title
	}
	return "Pay per call"
}

// Cheaper reports whether a unit costs less on r than on other, exactly.
func (r Rung) Cheaper(other Rung) bool {
	return int64(r.total)*other.months*int64(other.Units/Unit) < int64(other.total)*r.months*int64(r.Units/Unit)
}

// Ladder lists the rungs in the order of the document. Every figure is computed from plans, packs,
// the menu and the offer.
func Ladder() []Rung {
	return []Rung{
		yearly(Scale),
		yearly(Growth),
		yearly(Pro),
		monthly(Scale),
		monthly(Growth),
		packRung("l"),
		monthly(Pro),
		packRung("m"),
		packRung("s"),
		perCallRung(),
		unsubscribed(Builder),
		unsubscribed(Free),
		door1Rung(),
		foundingRung(),
	}
}

// ListedRung returns the rung of a plan: the monthly one if it is sold in several ways, and the
// plan's own key if it has none.
func ListedRung(key string) string {
	if _, sold := FindItem(key + "_monthly"); sold {
		return key + "_monthly"
	}
	return key
}

func monthly(key string) Rung {
	p := Must(key)
	return Rung{
		Key: key + "_monthly", Kind: p.Kind, Commitment: p.MonthlyPrice, Price: p.MonthlyPrice, Units: p.Included,
		Supply: p.Supply, FastShare: p.FastShare, Live: p.Live, total: p.MonthlyPrice, months: 1,
	}
}

func yearly(key string) Rung {
	r := monthly(key)
	p := Must(key)
	r.Key = key + "_yearly"
	r.Commitment, r.Price, r.total, r.months = p.YearlyPrice, p.YearlyPerMonth(), p.YearlyPrice, monthsPerYear
	return r
}

// unsubscribed returns the rung of a plan that is sold by the month only, under the plan's own key.
func unsubscribed(key string) Rung {
	r := monthly(key)
	r.Key = key
	return r
}

// door1Rung spreads the daily allowance over a month of 30 days.
func door1Rung() Rung {
	const daysPerMonth = 30
	r := unsubscribed(Door1)
	r.Units *= daysPerMonth
	return r
}

func foundingRung() Rung {
	offer := Founding()
	r := monthly(offer.Plan)
	r.Key, r.Commitment, r.Price, r.total = offer.Key, offer.Price, offer.Price, offer.Price
	return r
}

func packRung(size string) Rung {
	p, ok := FindPack(size)
	if !ok {
		panic("plan: no pack " + size)
	}
	return Rung{
		Key: p.Key, Kind: PackKind, Commitment: p.Price, Price: p.Price, Units: p.Units, Supply: p.Supply, Live: true,
		total: p.Price, months: 1,
	}
}

// perCallRung returns the balanced tier of the menu. The document's ladder lists its supply as
// premium and all of it as fast. Its menu, by which calls are served, says wholesale for this tier.
func perCallRung() Rung {
	t, ok := FindPerCallTier(Balanced)
	if !ok {
		panic("plan: no balanced tier on the menu")
	}
	price := t.CentsPerMillion()
	return Rung{
		Key: "per_call", Kind: PerCall, Price: price, Units: 1_000_000 * Unit, Supply: Premium, FastShare: 1000,
		Live: true, total: price, months: 1,
	}
}
