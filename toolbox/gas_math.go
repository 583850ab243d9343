package toolbox

import (
	"math/big"
	"slices"
)

// offer returns base × numerator ÷ denominator, rounded up, plus the tip. Rounding up lets even a
// tiny base fee rise.
func offer(base *big.Int, numerator, denominator int64, tip *big.Int) GasOffer {
	limit := new(big.Int).Mul(base, big.NewInt(numerator))
	limit.Add(limit, big.NewInt(denominator-1)).Div(limit, big.NewInt(denominator)).Add(limit, tip)
	return GasOffer{
		MaxPriorityFeePerGas: tip.String(), MaxPriorityFeePerGasGwei: gwei(tip),
		MaxFeePerGas: limit.String(), MaxFeePerGasGwei: gwei(limit),
	}
}

// median returns the median of amounts, for an even number the mean of the middle two, rounded
// down, and zero for none.
func median(amounts []*big.Int) *big.Int {
	if len(amounts) == 0 {
		return new(big.Int)
	}
	sorted := slices.SortedFunc(slices.Values(amounts), (*big.Int).Cmp)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	sum := new(big.Int).Add(sorted[middle-1], sorted[middle])
	return sum.Rsh(sum, 1)
}
