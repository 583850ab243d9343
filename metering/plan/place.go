package plan

import (
	"fmt"
	"strings"
)

// TaxEvidence is what is known of where a customer is, each an ISO 3166-1 code; empty when not
// known. They are items of evidence of Art. 24f of Implementing Regulation (EU) 282/2011: the
// billing address, the country of the bank that issued the card, the location of the network.
type TaxEvidence struct {
	Declared string // by the customer, as the billing address
	Card     string
	Network  string
}

// TaxStanding says how certain a place is.
type TaxStanding string

// The standings.
const (
	TaxAgreed        TaxStanding = "agreed"        // two items say the same (Art. 24b(d)), whatever the third says
	TaxOneItem       TaxStanding = "one item"      // what the customer declared, or the network, and nothing against it
	TaxContradictory TaxStanding = "contradictory" // no two agree
	TaxUnknown       TaxStanding = "unknown"
)

// TaxPlace is the place of supply that VAT goes by, and why.
type TaxPlace struct {
	Country  string // empty when none is known, which counts as the EU
	Standing TaxStanding
	TaxEvidence
}

// Place is where the evidence says that the customer is. Where no two items agree it is in the EU
// if any item is, so that no VAT is missed, else where the customer declared to be
// (docs/decisions/0008-vat-evidence.md). A card alone proves nothing.
func (e TaxEvidence) Place() TaxPlace {
	e = TaxEvidence{country(e.Declared), country(e.Card), country(e.Network)}
	p := TaxPlace{TaxEvidence: e}
	switch {
	case e.Declared != "" && (e.Declared == e.Card || e.Declared == e.Network):
		p.Country, p.Standing = e.Declared, TaxAgreed
	case e.Card != "" && e.Card == e.Network:
		p.Country, p.Standing = e.Card, TaxAgreed
	case e.Declared == "" && e.Network == "":
		p.Standing = TaxUnknown
	case e.Card == "" && (e.Declared == "" || e.Network == ""), e.Network == "" && e.Card == "":
		p.Country, p.Standing = e.Declared+e.Network, TaxOneItem
	default:
		p.Country, p.Standing = e.cautious(), TaxContradictory
	}
	return p
}

// cautious is the first country of the EU among those that contradict each other, else the first.
func (e TaxEvidence) cautious() string {
	for _, c := range []string{e.Declared, e.Card, e.Network} {
		if c != "" && VATApplies(c) {
			return c
		}
	}
	if e.Declared != "" {
		return e.Declared
	}
	return e.Network
}

// country is a code in capitals as ISO 3166-1 has it; empty when it is of no country.
func country(code string) string {
	code = strings.ToUpper(code)
	switch {
	case !Located(code):
		return ""
	case code == "EL": // Greece, as VAT has it
		return "GR"
	}
	return code
}

// Overruled reports whether the customer declared another country than the place.
func (p TaxPlace) Overruled() bool { return p.Declared != "" && p.Declared != p.Country }

// String is the place with its evidence, for the books.
func (p TaxPlace) String() string {
	return fmt.Sprintf("%s: %s (declared %s, card %s, network %s)", dash(p.Country), p.Standing, dash(p.Declared),
		dash(p.Card), dash(p.Network))
}

func dash(code string) string {
	if code == "" {
		return "-"
	}
	return code
}
