package home

import "github.com/chainaccess/gateway/api/console/view"

// homePage is public: what the service is, a first key, a tool to try, the state of the chains, and
// prices.
type homePage struct {
	NewKey, FirstCall view.Copyable
	Made              *madeKey     // the new key, shown once
	Refused           *view.Notice // why no key was created
	Tool              *view.Tool   // nil when there is none
	Chains            *view.Chains // nil when not available
	Prices            []offerRow
	Doors             []doorCard
	PerDay            string // units per day of an anonymous key
	KeysPerDay        int
}

func (homePage) Head() view.Head {
	return view.Head{
		Template: "home", Title: "One endpoint per chain, one key, one meter", Bare: true, Broad: true,
		Scripts: []string{view.ScriptCopy, view.ScriptForms, view.ScriptToolbox},
	}
}

// madeKey is a key that a visitor created, with what to store.
type madeKey struct {
	Secret, ClaimCode view.Copyable
	Prefix            string
	Limits            string
}

// doorCard is a way to get a key.
type doorCard struct {
	Title, Text string
	Facts       []view.Fact
	Go          view.Link
}

// pricingPage lists every way to pay, and what a volume costs with each.
type pricingPage struct {
	VAT, Founding, Enterprise string
	Live                      bool
	Plans                     []planRow
	Packs                     []offerRow
	PackMonths                int
	PerCall                   []offerRow
	PerCallLive               bool
	PerCallUnits              string
	Counts, Tiers             []view.Fact
	Volume                    view.Field
	Units                     string // the calculator's volume; empty for none
	Ladder                    []view.LadderGroup
	Cheapest                  string
}

func (*pricingPage) Head() view.Head {
	return view.Head{
		Template: "pricing", Title: "Pricing", Bare: true, Broad: true,
		Scripts: []string{view.ScriptForms},
	}
}

// planRow is a plan.
type planRow struct{ Key, Title, Price, Yearly, Units, Rate, Past, Supply, Data, PerMillion string }

// offerRow is a pack, a pay-per-call tier, or a price on the home page.
type offerRow struct{ Title, Price, Units, PerMillion, Supply string }
