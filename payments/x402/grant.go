package x402

import "github.com/chainaccess/gateway/metering/plan"

// Deal is what a payment buys. Net plus VAT always equals Paid. The units never exceed what the net
// amount buys.
type Deal struct {
	Tier plan.Tier `json:"tier"`
	// ISO 3166-1 code for VAT; empty when the payer was not located
	Country string      `json:"country,omitempty"`
	Paid    plan.Atomic `json:"paid"`
	Net     plan.Atomic `json:"net"`
	VAT     plan.Atomic `json:"vat"`
	Units   plan.Units  `json:"units"`
	Capped  bool        `json:"capped,omitempty"` // the payment exceeds what one settlement may get units for
}

// Price returns what a payment buys on a tier of the menu. enough reports whether it reaches the
// tier's required net amount, plus VAT where that applies.
func Price(paid plan.Atomic, tier plan.PerCallTier, country string) (d Deal, enough bool) {
	d = Deal{Tier: tier.Tier, Country: country, Paid: paid}
	d.Net, d.VAT = plan.SplitVAT(paid, plan.VATApplies(country))
	d.Units, d.Capped = tier.UnitsFor(d.Net)
	return d, paid >= tier.NetAmountRequired()
}
