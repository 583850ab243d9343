package plan

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Units counts weighted units in thousandths, so that a cheap standard call (0.5 units) is an
// integer.
type Units int64

// Unit is one weighted unit.
const Unit Units = 1000

// Unlimited as a quota or ceiling means none.
const Unlimited Units = -1

// AppendJSON appends the JSON number of u: whole units without a fraction, others with up to three
// decimals and no trailing zeros (500 is 0.5).
func (u Units) AppendJSON(b []byte) []byte {
	// The sign is removed from the parts, because the smallest Units has no positive counterpart.
	whole, rest := u/Unit, u%Unit
	if u < 0 {
		b = append(b, '-')
		whole, rest = -whole, -rest
	}
	b = strconv.AppendInt(b, int64(whole), 10)
	if rest == 0 {
		return b
	}
	digits := strconv.FormatInt(int64(Unit+rest), 10)[1:]
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return append(append(b, '.'), digits...)
}

// MarshalJSON writes u as a JSON number of whole units.
func (u Units) MarshalJSON() ([]byte, error) { return u.AppendJSON(nil), nil }

// UnmarshalJSON parses a number of units with at most three decimals and no exponent.
func (u *Units) UnmarshalJSON(text []byte) error {
	whole, fraction, split := strings.Cut(string(text), ".")
	digits := whole + (fraction + "000")[:max(thousandths, len(fraction))]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(fraction) > thousandths || split && fraction == "" || strings.ContainsAny(fraction, "+-") ||
		whole == "" || whole == "-" {
		return fmt.Errorf("%q is no number of units with at most three decimals", text)
	}
	*u = Units(n)
	return nil
}

// thousandths is the number of decimals of a unit.
const thousandths = 3

// String formats u in units, for messages.
func (u Units) String() string { return string(u.AppendJSON(nil)) }

// Grouped formats u in units with commas between thousands, for people.
func (u Units) Grouped() string { return Group(u.String()) }

// Group inserts commas between the thousands of a decimal number.
func Group(number string) string {
	digits, fraction := number, ""
	if dot := strings.IndexByte(number, '.'); dot >= 0 {
		digits, fraction = number[:dot], number[dot:]
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	const group = 3
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%group == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return sign + b.String() + fraction
}

// Cents is an amount of US dollars in cents.
type Cents int64

// String formats the amount in dollars with two decimals.
func (c Cents) String() string {
	sign, dollars, cents := "", c/100, c%100
	if c < 0 {
		sign, dollars, cents = "-", -dollars, -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, int64(dollars), int64(cents))
}

// Atomic is an amount of USDC in its atomic unit, a millionth of a dollar.
type Atomic int64

// USDC formats the amount in whole USDC with six decimals: 0.108000.
func (a Atomic) USDC() string {
	const whole = 1_000_000
	sign := ""
	if a < 0 {
		sign = "-"
	}
	coins, rest := a/whole, a%whole // the smallest Atomic has no positive counterpart, but its parts have
	return fmt.Sprintf("%s%d.%06d", sign, max(coins, -coins), max(rest, -rest))
}

// Thousandths is a share or a factor: 1000 is one.
type Thousandths int64

// Percent returns the share in whole percent, rounded down.
func (t Thousandths) Percent() int64 {
	const one = 10
	return int64(t / one)
}

// MulDiv returns a·b/c, rounded down, for non-negative numbers. On overflow it returns the largest
// int64.
func MulDiv(a, b, c int64) int64 {
	const maxInt = 1<<63 - 1
	over, product := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // not negative
	if over >= uint64(c) {                            //nolint:gosec // not negative
		return maxInt
	}
	quotient, _ := bits.Div64(over, product, uint64(c)) //nolint:gosec // not negative
	return int64(min(quotient, maxInt))                 //nolint:gosec // bounded
}

// roundHalfUp divides two non-negative numbers and rounds half up, as the interface's tables round
// cents.
func roundHalfUp(dividend, divisor int64) int64 {
	quotient, rest := dividend/divisor, dividend%divisor
	if rest >= divisor-rest {
		quotient++
	}
	return quotient
}
