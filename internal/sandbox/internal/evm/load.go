package evm

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Blocks of real chains are about half full, which keeps the base fee stable (EIP-1559). Without
// extra work, an idle chain's base fee would fall to zero within minutes. The work uses gas but
// hardly any time.
const (
	gasTarget = gasLimit / 2
	workGas   = 16_000_000 // maximum per transaction (EIP-7825 allows 16,777,216)
	overhead  = 30_000     // gas of a call of the workload contract, rounded up
)

var workSelector = crypto.Keccak256([]byte("use(uint256)"))[:4]

// load determines how much work goes into a block.
type load struct {
	at      common.Address
	typical *big.Int // base fee in wei
	tip     *big.Int // in wei
}

type work struct {
	gas uint64
	tip *big.Int // wei
}

func (w work) data() []byte {
	amount := new(big.Int).SetUint64(w.gas - overhead)
	return append(append([]byte{}, workSelector...), common.LeftPadBytes(amount.Bytes(), 32)...)
}

// tips are the tips of a block's transactions in tenths of the typical tip.
var tips = []int64{5, 10, 30}

// next returns the work of a block. More work than the target raises the base fee, less lowers it;
// the block number adds a variation of up to 30 %. The work is split into transactions with
// different tips.
func (l load) next(number uint64, baseFee *big.Int) []work {
	const percent = 100
	distance := new(big.Int).Sub(l.typical, baseFee)
	steer := new(big.Int).Div(distance.Mul(distance, big.NewInt(2*percent)), l.typical)
	unrest := int64(number*37%61) - 30 //nolint:gosec // at most 60
	share := max(30, min(160, percent+unrest+max(-percent, min(percent, steer.Int64()))))
	all := make([]work, len(tips))
	for i, tenths := range tips {
		all[i] = l.work(uint64(share)*gasTarget/percent/uint64(len(tips)), tenths) //nolint:gosec // at least 30
	}
	return all
}

// steady returns one transaction that keeps the base fee where it is.
func (l load) steady() []work { return []work{l.work(gasTarget, tips[0])} }

func (l load) work(gas uint64, tenths int64) work {
	tip := new(big.Int).Mul(l.tip, big.NewInt(tenths))
	return work{gas: min(workGas, gas), tip: tip.Div(tip, big.NewInt(10))}
}
