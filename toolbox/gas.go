package toolbox

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Gas is the recommended fees of an EIP-1559 transaction on a chain now. Amounts are decimal
// strings.
type Gas struct {
	Chain             chain.ID           `json:"chain"`
	BaseFeePerGas     string             `json:"base_fee_per_gas" doc:"base fee of the next block, in wei"`
	BaseFeePerGasGwei string             `json:"base_fee_per_gas_gwei" doc:"the same in gwei"`
	Recommendations   GasRecommendations `json:"recommendations"`
	L1DataFee         *L1DataFee         `json:"l1_data_fee,omitempty" doc:"what a plain transfer pays for its data on Ethereum; on Base, OP Mainnet and Arbitrum One only"`
	ComputedFrom      GasHistory         `json:"computed_from"`
	Note              string             `json:"note,omitempty" doc:"what to know of this answer, when there is something"`
	ComputedAt        time.Time          `json:"computed_at"`
	UnitWeight        plan.Units         `json:"unit_weight" doc:"weighted units of a call that is not answered from the cache"`
}

// GasRecommendations are three offers. A slower one is never more expensive than a faster one.
type GasRecommendations struct {
	Slow     GasOffer `json:"slow" doc:"room for the base fee to rise by a quarter; tip of the 10th percentile"`
	Standard GasOffer `json:"standard" doc:"room for the base fee to rise by half; tip of the 50th percentile"`
	Fast     GasOffer `json:"fast" doc:"room for the base fee to double; tip of the 90th percentile"`
}

// GasOffer is the two fees of an EIP-1559 transaction.
type GasOffer struct {
	MaxPriorityFeePerGas     string `json:"max_priority_fee_per_gas" doc:"tip, in wei; 0 on Arbitrum One, whose sequencer takes none"`
	MaxPriorityFeePerGasGwei string `json:"max_priority_fee_per_gas_gwei" doc:"the same in gwei"`
	MaxFeePerGas             string `json:"max_fee_per_gas" doc:"the most that base fee and tip may come to, in wei"`
	MaxFeePerGasGwei         string `json:"max_fee_per_gas_gwei" doc:"the same in gwei"`
}

// GasHistory is the range of blocks from which an answer was computed.
type GasHistory struct {
	Blocks             int    `json:"blocks" doc:"blocks that were looked at, 20 where the chain has as many"`
	BlocksCounted      int    `json:"blocks_counted" doc:"those that were at least a tenth full; the tips are medians of them, by percentile"`
	OldestBlock        uint64 `json:"oldest_block"`
	NewestBlock        uint64 `json:"newest_block"`
	MinPriorityFee     string `json:"min_priority_fee_per_gas" doc:"lowest tip that is recommended on this chain, in wei"`
	MinPriorityFeeGwei string `json:"min_priority_fee_per_gas_gwei" doc:"the same in gwei"`
}

// GasOracle recommends fees.
type GasOracle struct {
	chains caller
	known  *chain.Set
	now    func() time.Time
}

// NewGasOracle returns a GasOracle for the known chains that reads from chains.
func NewGasOracle(chains caller, known *chain.Set, now func() time.Time) *GasOracle {
	return &GasOracle{chains, known, now}
}

// feeMarket is how a chain's fees differ from others.
type feeMarket struct {
	// minTip is the lowest tip worth recommending, in wei: below it nodes refuse the transaction or
	// builders ignore it.
	minTip int64
	// noTips reports whether tips have no effect, so that none is recommended.
	noTips bool
	// l1DataFee returns what a plain transfer pays for its data on Ethereum; nil if there is no
	// such fee.
	l1DataFee func(context.Context, caller, *chain.Chain) (*L1DataFee, error)
}

const milliGwei = 1_000_000 // wei

// feeMarkets are the built-in chains with EIP-1559. Sources of the minimum tips: the miner of
// go-ethereum ignores less than 0.001 gwei (miner.DefaultConfig); op-geth suggests no less either
// (gpo.minsuggestedpriorityfee); Bor and Erigon refuse less than 25 gwei on Polygon (PIP-35).
var feeMarkets = map[chain.ID]feeMarket{
	chain.EthMainnet:      {minTip: milliGwei},
	chain.BaseMainnet:     {minTip: milliGwei, l1DataFee: opStackDataFee},
	chain.OptimismMainnet: {minTip: milliGwei, l1DataFee: opStackDataFee},
	chain.ArbitrumOne:     {noTips: true, l1DataFee: arbitrumDataFee},
	chain.PolygonPoS:      {minTip: 25_000 * milliGwei},
}

// marketOf returns the fee market of a chain. An added EVM chain has go-ethereum's lowest tip, and
// the L1 fee that its definition names.
func marketOf(on *chain.Chain) (market feeMarket, ok bool) {
	if on == nil || on.Family != chain.EVM {
		return feeMarket{}, false
	}
	if market, ok = feeMarkets[on.ID]; ok {
		return market, true
	}
	switch on.L1Fee {
	case chain.OPStackL1Fee:
		return feeMarket{minTip: milliGwei, l1DataFee: opStackDataFee}, true
	case chain.ArbitrumL1Fee:
		return feeMarket{noTips: true, l1DataFee: arbitrumDataFee}, true
	default:
		return feeMarket{minTip: milliGwei}, true
	}
}

// Recommend returns the fees for one of the EVM chains. A chain without EIP-1559 is an error, as
// are upstreams with implausible answers (fault.UpstreamFailed).
func (g *GasOracle) Recommend(ctx context.Context, id chain.ID) (Gas, error) {
	on, known := g.known.Lookup(string(id))
	market, ok := marketOf(on)
	if !known || !ok {
		return Gas{}, fmt.Errorf("%s has no fee market of EIP-1559", id)
	}
	var history feeHistory
	var dataFee *L1DataFee
	group, asking := parallel.WithContext(ctx)
	group.Go(func() error {
		return ask(asking, g.chains, id, &history, "eth_feeHistory", hexutil.Uint64(historyBlocks), "latest",
			historyPercentiles)
	})
	if market.l1DataFee != nil {
		group.Go(func() (err error) {
			dataFee, err = market.l1DataFee(asking, g.chains, on)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Gas{}, err
	}
	if err := history.check(); err != nil {
		return Gas{}, unusable(id, "eth_feeHistory", err)
	}
	answer := history.recommend(market)
	answer.Chain, answer.L1DataFee, answer.ComputedAt = id, dataFee, stamp(g.now())
	if market.l1DataFee != nil && dataFee == nil {
		answer.Note = joinNotes(answer.Note,
			"This network does not say what a transaction's data costs on Ethereum, so that fee is not known.")
	}
	return answer, nil
}

const historyBlocks = 20

// historyPercentiles of the tips in a block, weighted by gas: slow, standard, fast.
var historyPercentiles = [...]int{10, 50, 90}

// fullEnough is the share of its gas limit that a block must have used to count: in emptier blocks,
// tips do not reflect competition.
const fullEnough = 0.1

// feeHistory is the answer of eth_feeHistory (execution-apis, eth_feeHistory).
type feeHistory struct {
	OldestBlock   hexutil.Uint64   `json:"oldestBlock"`
	BaseFeePerGas []*hexutil.Big   `json:"baseFeePerGas"` // one more than blocks: the last is the next block's
	GasUsedRatio  []float64        `json:"gasUsedRatio"`
	Reward        [][]*hexutil.Big `json:"reward"` // one row per block, or none
}

// check returns an error for a history that was not asked for. Fewer blocks than requested are
// fine.
func (h *feeHistory) check() error {
	blocks := len(h.GasUsedRatio)
	switch {
	case len(h.BaseFeePerGas) == 0 || h.BaseFeePerGas[len(h.BaseFeePerGas)-1] == nil:
		return errors.New("it names no base fee")
	case blocks == 0 || blocks > historyBlocks || len(h.BaseFeePerGas) != blocks+1:
		return fmt.Errorf("it has %d base fees for %d blocks", len(h.BaseFeePerGas), blocks)
	case len(h.Reward) != 0 && len(h.Reward) != blocks:
		return fmt.Errorf("it has tips of %d among %d blocks", len(h.Reward), blocks)
	}
	return nil
}

func (h *feeHistory) recommend(market feeMarket) Gas {
	base := h.BaseFeePerGas[len(h.BaseFeePerGas)-1].ToInt()
	tips, counted := h.tips(big.NewInt(market.minTip))
	note := ""
	switch {
	case market.noTips:
		tips = [3]*big.Int{new(big.Int), new(big.Int), new(big.Int)}
	case counted == 0:
		note = "No recent block was a tenth full, so the lowest tip that this chain takes is enough."
	}
	return Gas{
		BaseFeePerGas: base.String(), BaseFeePerGasGwei: gwei(base), Note: note,
		Recommendations: GasRecommendations{
			Slow: offer(base, 5, 4, tips[0]), Standard: offer(base, 3, 2, tips[1]), Fast: offer(base, 2, 1, tips[2]),
		},
		ComputedFrom: GasHistory{
			Blocks: len(h.GasUsedRatio), BlocksCounted: counted,
			OldestBlock: uint64(h.OldestBlock), NewestBlock: uint64(h.OldestBlock) + uint64(len(h.GasUsedRatio)) - 1,
			MinPriorityFee: big.NewInt(market.minTip).String(), MinPriorityFeeGwei: gwei(big.NewInt(market.minTip)),
		},
	}
}

// tips returns the medians of the three percentiles over the blocks that count, none below floor
// and none below the one before.
func (h *feeHistory) tips(floor *big.Int) (tips [3]*big.Int, counted int) {
	var columns [3][]*big.Int
	for i, row := range h.Reward {
		if h.GasUsedRatio[i] < fullEnough || !complete(row) {
			continue
		}
		counted++
		for k := range columns {
			columns[k] = append(columns[k], row[k].ToInt())
		}
	}
	lowest := floor
	for k, column := range columns {
		if m := median(column); m.Cmp(lowest) > 0 {
			lowest = m
		}
		tips[k] = lowest
	}
	return tips, counted
}

// complete reports whether a row has every percentile.
func complete(row []*hexutil.Big) bool {
	if len(row) != len(historyPercentiles) {
		return false
	}
	for _, tip := range row {
		if tip == nil {
			return false
		}
	}
	return true
}
