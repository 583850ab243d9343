package evm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/eth/catalyst"
)

// trickleEvery is the number of blocks between two of the sandbox's own calls; work is done in
// every block.
const trickleEvery = 3

// upkeepSeconds is how long what the upkeep wrote stays good: prices are stale after an hour.
const upkeepSeconds = 600

const indexPatience = 30 * time.Second

var coinbase = common.HexToAddress("0x5a4d00000000000000000000000000000000b10c")

// produce seals a first block, from which on finalized and safe are known, and then one per block
// time in the background. The beacon's own period mode is not used, for nobody could wait for it to
// stop.
func (n *Node) produce(ctx context.Context) error {
	n.eth.SetSynced()
	beacon, err := catalyst.NewSimulatedBeacon(0, coinbase, n.eth)
	if err != nil {
		return fmt.Errorf("create simulated beacon: %w", err)
	}
	n.beacon = beacon
	if err := n.eth.TxPool().Sync(); err != nil { // with the history, which it is told of beside
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

// indexed waits for go-ethereum's index of transactions, which runs beside: until it has been
// through the history once, receipts that do not exist yet are answered with an error instead of
// null.
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

// sync writes the database's log out, which otherwise holds the last blocks in the process's
// memory: a killed process would begin again before a head that it has shown.
func (n *Node) sync() error {
	if n.cfg.DataDir == "" {
		return nil
	}
	return n.eth.ChainDb().SyncKeyValue()
}

// trickle puts the sandbox's own transactions into the pool, for the next block.
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
