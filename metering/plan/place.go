package plan

import (
	"fmt"
	"strings"
)

// TaxEvidence is the evidence of where a customer is, as ISO 3166-1 codes; empty when not known.
// The items are those of Art. 24f of Implementing Regulation (EU) 282/2011: the billing address,
// the country of the bank that issued the card, the location of the network.
type TaxEvidence struct {
	Declared string // by the customer, as the billing address
	Card     string
	Network  string
}

// TaxStanding is how certain a place is.
type TaxStanding string

// The standings.
const (
	TaxAgreed        TaxStanding = "agreed"        // two items agree (Art. 24b(d)), whatever the third is
	TaxOneItem       TaxStanding = "one item"      // only the declared country or the network's is known
	TaxContradictory TaxStanding = "contradictory" // no two agree
	TaxUnknown       TaxStanding = "unknown"
)

// TaxPlace is the place of supply that decides VAT, with its evidence.
type TaxPlace struct {
	Country  string // empty when none is known, which counts as the EU
	Standing TaxStanding
	TaxEvidence
}

// Place returns where the customer is by the evidence. When no two items agree it is in the EU if
// any item is, so that no VAT is missed; else it is the declared country
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

// cautious returns the first EU country among contradictory items, else the declared one, else the
// network's.
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

// country returns a code in capitals as in ISO 3166-1; empty when it is no country's.
func country(code string) string {
	code = strings.ToUpper(code)
	switch {
	case !Located(code):
		return ""
	case code == "EL": // Greece's code for VAT
		return "GR"
	}
	return code
}

// Overruled reports whether the customer declared another country than the place.
func (p TaxPlace) Overruled() bool { return p.Declared != "" && p.Declared != p.Country }

// String returns the place with its evidence, for the audit log.
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
