package plan

import "strings"

// VATPercent is the rate where VAT applies (docs/interface.md, 2.8.4).
const VATPercent = 20

// eu holds the EU member states by ISO 3166-1 code, and EL, which Greece uses for VAT.
var eu = map[string]bool{
	"AT": true, "BE": true, "BG": true, "CY": true, "CZ": true, "DE": true, "DK": true, "EE": true, "EL": true,
	"ES": true, "FI": true, "FR": true, "GR": true, "HR": true, "HU": true, "IE": true, "IT": true, "LT": true,
	"LU": true, "LV": true, "MT": true, "NL": true, "PL": true, "PT": true, "RO": true, "SE": true, "SI": true,
	"SK": true,
}

// VATApplies reports whether a payer of that country pays VAT: in the EU, or when the country is
// not known. Case does not matter. Codes of no country (empty, T1, XX, the codes that ISO 3166
// leaves to users) count as not known.
func VATApplies(country string) bool {
	code := strings.ToUpper(country)
	return eu[code] || !Located(code)
}

// Located reports whether a code in capitals is a country's.
func Located(code string) bool {
	if len(code) != 2 || !letter(code[0]) || !letter(code[1]) {
		return false
	}
	switch {
	case code == "XK": // Kosovo, by custom
		return true
	case code[0] == 'X', code[0] == 'Q' && code[1] >= 'M', code == "AA", code == "ZZ", code == "EU", code == "AP":
		return false
	default:
		return true
	}
}

func letter(c byte) bool { return c >= 'A' && c <= 'Z' }

// SplitVAT splits a payment, which is not negative, into net and VAT. When VAT applies, net is paid
// / 1.2 rounded down; otherwise it is all of it. Net and VAT always add up to paid.
func SplitVAT(paid Atomic, applies bool) (net, vat Atomic) {
	if !applies {
		return paid, 0
	}
	const whole = 100 + VATPercent
	// In two parts, because 100 times the payment may exceed 64 bits.
	net = paid/whole*100 + paid%whole*100/whole
	return net, paid - net
}

// AddVAT returns a net amount with VAT, rounded up: the smallest payment whose net part is at least
// net.
func AddVAT(net Atomic) Atomic {
	return net + (net*VATPercent+99)/100
}
