package plan

import (
	"math/bits"
	"strconv"
	"strings"
)

// Micros is an amount of US dollars in millionths, because a few calls cost less than a cent.
type Micros int64

const (
	microsPerCent   = 10_000
	microsPerDollar = 1_000_000
)

// PriceOf returns what units cost at the rung's price per unit, net, rounded half up to a millionth
// of a dollar. A subscription's price per unit is that at its included volume. It is valid for up
// to Unit × 10^12.
func (r Rung) PriceOf(units Units) Micros {
	if units <= 0 {
		return 0
	}
	//nolint:gosec // prices and units are positive
	price, divisor := uint64(r.total)*microsPerCent, uint64(r.months)*uint64(r.Units)
	high, low := bits.Mul64(price, uint64(units))
	low, carry := bits.Add64(low, divisor/2, 0)
	quotient, _ := bits.Div64(high+carry, low, divisor)
	return Micros(quotient) //nolint:gosec // see the bound above
}

// MarshalJSON writes a JSON number of dollars with one to six decimals: 9.0, 0.00415.
func (m Micros) MarshalJSON() ([]byte, error) {
	whole, rest := m/microsPerDollar, m%microsPerDollar
	sign := ""
	if m < 0 {
		sign, whole, rest = "-", -whole, -rest
	}
	decimals := strings.TrimRight(strconv.FormatInt(int64(microsPerDollar+rest), 10)[1:], "0")
	if decimals == "" {
		decimals = "0"
	}
	return []byte(sign + strconv.FormatInt(int64(whole), 10) + "." + decimals), nil
}
