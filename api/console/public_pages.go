package console

// homePage is public: what this is, a first key, a tool to try, how the chains stand, and what it
// costs.
type homePage struct {
	NewKey, FirstCall copyable
	Made              *madeKey    // the key that its button made, shown this once
	Refused           *notice     // why it made none
	Tool              *toolView   // nil where there is none
	Chains            *chainsView // nil while nobody can say how they stand
	Prices            []offerRow
	Doors             []doorCard
	PerDay            string // units of a key that is made here
	KeysPerDay        int
}

func (homePage) head() head {
	return head{
		Template: "home", Title: "One endpoint per chain, one key, one meter", Bare: true, Broad: true,
		Scripts: []string{scriptCopy, scriptForms, scriptToolbox},
	}
}

// madeKey is a key that a visitor made, with what they need to keep of it.
type madeKey struct {
	Secret, ClaimCode copyable
	Prefix            string
	Limits            string
}

// doorCard is a way to a key.
type doorCard struct {
	Title, Text string
	Facts       []fact
	Go          link
}

// pricingPage is every way to pay, and what a volume costs on each.
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
	Units                     string // of the calculation; empty for none
	Ladder                    []ladderGroup
	Cheapest                  string
}

func (*pricingPage) head() head {
	return head{Template: "pricing", Title: "Pricing", Bare: true, Broad: true, Scripts: []string{scriptForms}}
}

// planRow is a plan.
type planRow struct{ Key, Title, Price, Yearly, Units, Rate, Past, Supply, Data, PerMillion string }

// offerRow is a pack, a tier of paying per call, or a price on the first page.
type offerRow struct{ Title, Price, Units, PerMillion, Supply string }
