package evm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/eth/catalyst"
)

// trickleEvery is the number of blocks from one of the sandbox's own calls to the next; every block
// contains work.
const trickleEvery = 3

// upkeepSeconds is the interval of the upkeep; prices are stale after an hour.
const upkeepSeconds = 600

const indexPatience = 30 * time.Second

var coinbase = common.HexToAddress("0x5a4d00000000000000000000000000000000b10c")

// produce seals a first block, so that the finalized and safe blocks are known, and then one block
// per block time in the background. The simulated beacon's period mode is not used because nothing
// could wait until it stops.
func (n *Node) produce(ctx context.Context) error {
	n.eth.SetSynced()
	beacon, err := catalyst.NewSimulatedBeacon(0, coinbase, n.eth)
	if err != nil {
		return fmt.Errorf("create simulated beacon: %w", err)
	}
	n.beacon = beacon
	if err := n.eth.TxPool().Sync(); err != nil { // with the history, of which it is notified asynchronously
		return fmt.Errorf("sync the pool of transactions: %w", err)
	}
	if err := n.trickle(ctx, nil); err != nil {
		return fmt.Errorf("fill the first block: %w", err)
	}
	before := n.eth.BlockChain().CurrentBlock().Hash()
	if n.beacon.Commit() == before {
		return fmt.Errorf("seal the first block after %s: the head did not move", before)
	}
	if err := n.indexed(ctx); err != nil {
		return err
	}
	ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go n.loop(ctx)
	return nil
}

// indexed waits for go-ethereum's transaction index, which is built in the background. Until it
// covers the history, a receipt that does not exist is an error in place of null.
func (n *Node) indexed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, indexPatience)
	defer cancel()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !n.eth.BlockChain().TxIndexDone() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the index of transactions: %w", ctx.Err())
		case <-poll.C:
		}
	}
	return nil
}

func (n *Node) loop(ctx context.Context) {
	defer close(n.done)
	ticker := time.NewTicker(n.cfg.BlockTime)
	defer ticker.Stop()
	for block := uint64(1); ; block++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var calls []Call
		var err error
		if block%trickleEvery == 0 {
			calls, err = n.traffic.calls(HistoryTurns + block/trickleEvery)
		}
		if err := errors.Join(err, n.trickle(ctx, calls)); err != nil {
			n.cfg.Logger.Debug("sandbox traffic skipped", "chain", n.cfg.Name, "error", err)
		}
		before := n.eth.BlockChain().CurrentBlock().Hash()
		if n.beacon.Commit() == before {
			n.cfg.Logger.Warn("sandbox chain did not advance", "chain", n.cfg.Name)
		}
		if err := n.sync(); err != nil {
			n.cfg.Logger.Warn("sandbox chain could not be synced to disk", "chain", n.cfg.Name, "error", err)
		}
	}
}

// sync flushes the database's log to disk. It otherwise keeps the last blocks in memory, so that a
// killed process would resume before a head that clients have seen.
func (n *Node) sync() error {
	if n.cfg.DataDir == "" {
		return nil
	}
	return n.eth.ChainDb().SyncKeyValue()
}

// trickle adds the sandbox's own transactions to the pool for the next block.
func (n *Node) trickle(ctx context.Context, calls []Call) error {
	head := n.eth.BlockChain().CurrentBlock()
	if head.Time >= n.kept+upkeepSeconds {
		calls = append(calls, n.traffic.upkeep...)
		n.kept = head.Time
	}
	nonce, err := n.eth.APIBackend.GetPoolNonce(ctx, n.traffic.from)
	if err != nil {
		return fmt.Errorf("read nonce: %w", err)
	}
	txs, err := n.traffic.block(nonce, head.BaseFee, calls, n.traffic.load.next(head.Number.Uint64(), head.BaseFee))
	if err != nil {
		return err
	}
	return errors.Join(n.eth.TxPool().Add(txs, true)...)
}

func (n *Node) stopProducing() error {
	if n.cancel == nil {
		return nil
	}
	n.cancel()
	<-n.done
	if err := n.beacon.Stop(); err != nil {
		return fmt.Errorf("sandbox chain %s: stop beacon: %w", n.cfg.Name, err)
	}
	return nil
}
