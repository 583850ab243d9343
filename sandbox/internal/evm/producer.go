package evm

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth/catalyst"
)

// trickleEvery is the number of blocks between two of the sandbox's own transactions.
const trickleEvery = 3

var coinbase = common.HexToAddress("0x5a4d00000000000000000000000000000000b10c")

// produce seals a first block, from which on finalized and safe are known, and then one per block time in the background.
// The beacon's own period mode is not used, for nobody could wait for it to stop.
func (n *Node) produce() error {
	n.eth.SetSynced()
	beacon, err := catalyst.NewSimulatedBeacon(0, coinbase, n.eth)
	if err != nil {
		return fmt.Errorf("create simulated beacon: %w", err)
	}
	n.beacon = beacon
	before := n.eth.BlockChain().CurrentBlock().Hash()
	if n.beacon.Commit() == before {
		return fmt.Errorf("seal the first block after %s: the head did not move", before)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go n.loop(ctx)
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
		if block%trickleEvery == 0 {
			if err := n.trickle(ctx); err != nil {
				n.cfg.Logger.Debug("sandbox traffic skipped", "chain", n.cfg.Name, "error", err)
			}
		}
		before := n.eth.BlockChain().CurrentBlock().Hash()
		if n.beacon.Commit() == before {
			n.cfg.Logger.Warn("sandbox chain did not advance", "chain", n.cfg.Name)
		}
	}
}

// trickle puts one transaction into the pool, for the next block.
func (n *Node) trickle(ctx context.Context) error {
	nonce, err := n.eth.APIBackend.GetPoolNonce(ctx, n.traffic.from)
	if err != nil {
		return fmt.Errorf("read nonce: %w", err)
	}
	tx, err := n.traffic.next(nonce, n.eth.BlockChain().CurrentBlock().BaseFee)
	if err != nil {
		return err
	}
	return n.eth.TxPool().Add([]*types.Transaction{tx}, true)[0]
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
