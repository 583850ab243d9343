package console

// homePage is public: what the service is, a first key, a tool to try, the state of the chains, and
// prices.
type homePage struct {
	NewKey, FirstCall copyable
	Made              *madeKey    // the new key, shown once
	Refused           *notice     // why no key was created
	Tool              *toolView   // nil when there is none
	Chains            *chainsView // nil when not available
	Prices            []offerRow
	Doors             []doorCard
	PerDay            string // units per day of an anonymous key
	KeysPerDay        int
}

func (homePage) head() head {
	return head{
		Template: "home", Title: "One endpoint per chain, one key, one meter", Bare: true, Broad: true,
		Scripts: []string{scriptCopy, scriptForms, scriptToolbox},
	}
}

// madeKey is a key that a visitor created, with what to store.
type madeKey struct {
	Secret, ClaimCode copyable
	Prefix            string
	Limits            string
}

// doorCard is a way to get a key.
type doorCard struct {
	Title, Text string
	Facts       []fact
	Go          link
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
	Counts, Tiers             []fact
	Volume                    field
	Units                     string // the calculator's volume; empty for none
	Ladder                    []ladderGroup
	Cheapest                  string
}

func (*pricingPage) head() head {
	return head{Template: "pricing", Title: "Pricing", Bare: true, Broad: true, Scripts: []string{scriptForms}}
}

// planRow is a plan.
type planRow struct{ Key, Title, Price, Yearly, Units, Rate, Past, Supply, Data, PerMillion string }

// offerRow is a pack, a pay-per-call tier, or a price on the home page.
type offerRow struct{ Title, Price, Units, PerMillion, Supply string }
