package evm

import (
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/core"
)

// historyBlocks stand before the first live block: deep enough for rules that ask for 64 blocks,
// and a multiple of the simulated beacon's epoch of 32, so that the first finalized block never
// moves backwards.
const historyBlocks = 128

// HistoryTurns is how many turns of calls the history takes; live blocks count on.
const HistoryTurns = historyBlocks / 2

// lively is how many blocks at the end of the history are as full as those that follow: what
// estimates of fees look at.
const lively = 24

// generatedSpacing is the distance in seconds that the chain maker puts between blocks.
const generatedSpacing = 10

// blockSeconds is the block time as a whole number of seconds, at least one.
func blockSeconds(blockTime time.Duration) time.Duration {
	return max(blockTime.Truncate(time.Second), time.Second)
}

// writeHistory puts the first blocks behind the genesis: a deployment, then transfers and logs in
// every other block, and work in all of them, dated so that the last one ends now.
func (n *Node) writeHistory(genesis *core.Genesis) error {
	spacing := int64(blockSeconds(n.cfg.BlockTime)/time.Second) - generatedSpacing
	var failed error
	_, blocks, _ := core.GenerateChainWithGenesis(genesis, n.eth.Engine(), historyBlocks,
		func(i int, b *core.BlockGen) {
			b.OffsetTime(spacing)
			b.SetCoinbase(coinbase)
			b.SetExtra([]byte("sandbox"))
			if failed != nil {
				return
			}
			var calls []Call
			if i > 0 && i%2 == 0 {
				calls, failed = n.traffic.calls(uint64(i / 2)) //nolint:gosec // counts from 0
			}
			work := n.traffic.load.steady()
			if i >= historyBlocks-lively {
				work = n.traffic.load.next(b.Number().Uint64(), b.BaseFee())
			}
			txs, err := n.traffic.block(b.TxNonce(n.traffic.from), b.BaseFee(), calls, work)
			failed = errors.Join(failed, err)
			for _, tx := range txs {
				b.AddTx(tx)
			}
		})
	if failed != nil {
		return failed
	}
	if at, err := n.eth.BlockChain().InsertChain(blocks); err != nil {
		return fmt.Errorf("insert block %d: %w", at+1, err)
	}
	return nil
}
