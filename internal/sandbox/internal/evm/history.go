package evm

import (
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/core"
)

// historyBlocks is the number of blocks before the first live one: enough for rules that need 64
// blocks, and a multiple of the simulated beacon's epoch of 32, so that the finalized block never
// moves back.
const historyBlocks = 128

// HistoryTurns is the number of turns of calls in the history; live blocks continue the count.
const HistoryTurns = historyBlocks / 2

// lively is the number of blocks at the end of the history that are as full as live ones, since fee
// estimates read them.
const lively = 24

// generatedSpacing is the time in seconds between blocks of core.GenerateChain.
const generatedSpacing = 10

// blockSeconds returns the block time in whole seconds, at least one.
func blockSeconds(blockTime time.Duration) time.Duration {
	return max(blockTime.Truncate(time.Second), time.Second)
}

// writeHistory creates the blocks after the genesis block: a deployment, transfers and logs in
// every other block, and work in all of them. Their times are such that the last block's is now.
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
