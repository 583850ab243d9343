package toolbox

import (
	"math/big"
	"strings"
)

const gweiDecimals = 9

// decimal formats n × 10^-decimals exactly: no exponent, no trailing zeros in the fraction, and no
// point without a fraction. 1500000000 with nine decimals is "1.5".
func decimal(n *big.Int, decimals int) string {
	digits, sign := new(big.Int).Abs(n).String(), ""
	if n.Sign() < 0 {
		sign = "-"
	}
	if missing := decimals + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	whole, fraction := digits[:len(digits)-decimals], strings.TrimRight(digits[len(digits)-decimals:], "0")
	if fraction == "" {
		return sign + whole
	}
	return sign + whole + "." + fraction
}

// gwei formats an amount of wei in gwei, exactly.
func gwei(wei *big.Int) string { return decimal(wei, gweiDecimals) }
