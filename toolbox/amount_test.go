package toolbox

import (
	"math/big"
	"strconv"
	"strings"
	"testing"
)

func TestDecimals_AreExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n        string
		decimals int
		want     string
	}{
		{"0", 0, "0"},
		{"0", 9, "0"},
		{"1", 0, "1"},
		{"1", 9, "0.000000001"},
		{"1500000000", 9, "1.5"},
		{"1000000000", 9, "1"},
		{"10000000000", 9, "10"},
		{"999999999", 9, "0.999999999"},
		{"345612000000", 8, "3456.12"},
		{"-1", 2, "-0.01"},
		{"-100", 2, "-1"},
		{strings.Repeat("9", 78), 18, strings.Repeat("9", 60) + "." + strings.Repeat("9", 18)},
		{"5", 77, "0." + strings.Repeat("0", 76) + "5"},
	} {
		t.Run(strconv.Itoa(c.decimals), func(t *testing.T) {
			n, ok := new(big.Int).SetString(c.n, 10)
			if !ok {
				t.Fatal(c.n)
			}
			if got := decimal(n, c.decimals); got != c.want {
				t.Errorf("%s with %d decimals is %s, want %s", c.n, c.decimals, got, c.want)
			}
		})
	}
}

func FuzzDecimalKeepsTheAmount(f *testing.F) {
	f.Add("1500000000", uint8(9))
	f.Add("-7", uint8(77))
	f.Fuzz(func(t *testing.T, digits string, decimals uint8) {
		n, ok := new(big.Int).SetString(digits, 10)
		if !ok || len(digits) > 200 {
			return
		}
		scaled, ok := new(big.Rat).SetString(decimal(n, int(decimals)))
		if !ok {
			t.Fatalf("%s with %d decimals is no number", digits, decimals)
		}
		scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil))
		if scaled.Mul(scaled, scale).Cmp(new(big.Rat).SetInt(n)) != 0 {
			t.Errorf("%s with %d decimals became %s", digits, decimals, decimal(n, int(decimals)))
		}
	})
}
