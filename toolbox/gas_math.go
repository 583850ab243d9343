package toolbox

import (
	"math/big"
	"slices"
)

// offer is base × numerator ÷ denominator, rounded up, with the tip on top. Rounding up keeps a
// tiny base fee's room to rise.
func offer(base *big.Int, numerator, denominator int64, tip *big.Int) GasOffer {
	limit := new(big.Int).Mul(base, big.NewInt(numerator))
	limit.Add(limit, big.NewInt(denominator-1)).Div(limit, big.NewInt(denominator)).Add(limit, tip)
	return GasOffer{
		MaxPriorityFeePerGas: tip.String(), MaxPriorityFeePerGasGwei: gwei(tip),
		MaxFeePerGas: limit.String(), MaxFeePerGasGwei: gwei(limit),
	}
}

// median of some amounts; of an even number it is the mean of the two in the middle, rounded down.
// Of none it is zero.
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
