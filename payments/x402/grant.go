package x402

import "github.com/chainaccess/gateway/metering/plan"

// Deal is what a payment buys. Net and VAT add up to what was paid, always; the units never exceed
// what the net buys.
type Deal struct {
	Tier plan.Tier `json:"tier"`
	// ISO 3166-1 code that the tax went by; empty when the payer was not located
	Country string      `json:"country,omitempty"`
	Paid    plan.Atomic `json:"paid"`
	Net     plan.Atomic `json:"net"`
	VAT     plan.Atomic `json:"vat"`
	Units   plan.Units  `json:"units"`
	Capped  bool        `json:"capped,omitempty"` // more was paid than a settlement may give units for
}

// Price says what a payment buys on a tier of the menu, and whether it is enough: at least the
// tier's net amount required, with VAT on top where it applies.
func Price(paid plan.Atomic, tier plan.PerCallTier, country string) (d Deal, enough bool) {
	d = Deal{Tier: tier.Tier, Country: country, Paid: paid}
	d.Net, d.VAT = plan.SplitVAT(paid, plan.VATApplies(country))
	d.Units, d.Capped = tier.UnitsFor(d.Net)
	return d, paid >= tier.NetAmountRequired()
}
