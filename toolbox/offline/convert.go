package offline

import (
	"math/big"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
)

// MaxValue is the limit of an amount in characters: twice the digits of the largest 256-bit number.
const MaxValue = 160

// Conversion is an amount of ether in another unit.
type Conversion struct {
	Value  string `json:"value" doc:"the amount, as it was sent"`
	From   string `json:"from" doc:"its unit, in small letters"`
	To     string `json:"to" doc:"the unit of the result, in small letters"`
	Result string `json:"result" doc:"the same amount in the other unit, exact: a decimal string without an exponent and without zeros that say nothing"`
	Note   string `json:"note,omitempty" doc:"told of an amount that is no whole number of wei, which is exact here and which no chain can hold"`
}

const fractionOfWei = "This is no whole number of wei. The result is exact, but no chain holds fractions of a wei."

// Convert converts an amount to another unit, exactly. The amount is a decimal number with an
// optional minus sign and an optional point, or 0x and hexadecimal digits for a whole number.
// Leading zeros are ignored. Everything else is refused: a plus sign, an exponent, two points,
// spaces, thousands separators, non-ASCII digits.
//
// Units differ by powers of ten, so Convert only moves the point.
func Convert(value, from, to string) (Conversion, *fault.Error) {
	source, refusal := ParseUnit("from", from)
	if refusal != nil {
		return Conversion{}, refusal
	}
	target, refusal := ParseUnit("to", to)
	if refusal != nil {
		return Conversion{}, refusal
	}
	a, refusal := parseAmount(value)
	if refusal != nil {
		return Conversion{}, refusal
	}
	c := Conversion{
		Value: value, From: source.Name, To: target.Name, Result: a.shift(source.decimals - target.decimals),
	}
	if a.places(source.decimals) > 0 {
		c.Note = fractionOfWei
	}
	return c, nil
}

// amount is a decimal number: digits without leading or trailing zeros (empty for zero), times ten
// to the power of exponent.
type amount struct {
	negative bool
	digits   string
	exponent int
}

func parseAmount(s string) (amount, *fault.Error) {
	if len(s) > MaxValue {
		return amount{}, refuse("value", "It has %d characters, and may have %d.", len(s), MaxValue)
	}
	rest, negative := strings.CutPrefix(s, "-")
	if digits, found := strings.CutPrefix(rest, "0x"); found {
		n, ok := new(big.Int).SetString(digits, 16)
		if !ok || !allOf(digits, isHexDigit) {
			return amount{}, noAmount(s)
		}
		rest = n.String()
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	if len(whole)+len(fraction) == 0 || !allOf(whole, isDigit) || !allOf(fraction, isDigit) {
		return amount{}, noAmount(s)
	}
	a := amount{negative: negative, exponent: -len(fraction)}
	digits := strings.TrimLeft(whole+fraction, "0")
	a.digits = strings.TrimRight(digits, "0")
	a.exponent += len(digits) - len(a.digits)
	if a.digits == "" {
		return amount{}, nil // zero has no sign
	}
	return a, nil
}

func noAmount(s string) *fault.Error {
	return refuse("value",
		"%s is no amount. It takes a decimal like 1.5 or -20, or a whole number like 0x1bc1, without spaces, plus "+
			"sign, exponent or separators.", shown(s))
}

// places returns the number of digits after the point once it is moved right by that many.
func (a amount) places(by int) int { return max(0, -(a.exponent + by)) }

// shift formats the amount times ten to the power of by.
func (a amount) shift(by int) string {
	if a.digits == "" {
		return "0"
	}
	var b strings.Builder
	b.Grow(MaxValue)
	if a.negative {
		b.WriteByte('-')
	}
	places := a.places(by)
	switch whole := len(a.digits) - places; {
	case places == 0:
		b.WriteString(a.digits)
		b.WriteString(strings.Repeat("0", a.exponent+by))
	case whole > 0:
		b.WriteString(a.digits[:whole])
		b.WriteByte('.')
		b.WriteString(a.digits[whole:])
	default:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -whole))
		b.WriteString(a.digits)
	}
	return b.String()
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHexDigit(c byte) bool { return isDigit(c) || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F') }

func allOf(s string, is func(byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}
