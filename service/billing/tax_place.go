package billing

import (
	"fmt"

	"github.com/chainaccess/gateway/metering/plan"
)

// TaxRule is the rule for everybody (plan.VATApplies).
const TaxRule = "Prices are net; 20% VAT is added for customers in the EU and for those whose country is not known, " +
	"none elsewhere."

// placeNote explains to a customer why the tax country differs from the declared one, and how to
// settle it. It returns "" if there is nothing to settle.
func placeNote(p plan.TaxPlace) string {
	const settle = "Correct the country of the billing address, pay with a card of that country, or file a ticket " +
		"with a proof of address."
	switch {
	case p.Standing == plan.TaxContradictory:
		return fmt.Sprintf(
			"Where you are is not certain: the billing address is in %s, the card in %s, your network in %s. VAT "+
				"goes by two of them that agree; until two do it is added when one of them is in the EU. %s",
			orUnknown(p.Declared), orUnknown(p.Card), orUnknown(p.Network), settle)
	case p.Overruled():
		return fmt.Sprintf("The billing address is in %s, but card and network are in %s, so VAT goes by %s. %s",
			p.Declared, p.Country, p.Country, settle)
	}
	return ""
}

func orUnknown(country string) string {
	if country == "" {
		return "a country that is not known"
	}
	return country
}
