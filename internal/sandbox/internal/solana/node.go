// Package solana is a scripted Solana node: no validator, but a ledger whose slots advance with the
// clock, whose blockhashes age, and whose transactions are parsed, verified and executed (system
// transfers, memos, compute budget), served over the JSON-RPC methods and with the shapes of the
// Solana documentation. It keeps a bounded stretch of blocks in memory and nothing on disk. It
// opens no port; the sandbox puts listeners before the handler.
//
// Not modelled: forks, programs other than those named, address look-up tables, websocket
// subscriptions.
package solana

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/internal/sandbox/internal/devkey"
)

const (
	defaultSlotTime = 400 * time.Millisecond
	// genesisUnix is when the main network began; slots are counted from it, so that a sandbox
	// which starts again never goes back in slots.
	genesisUnix = 1_584_368_940
	// historySlots stand before the first live slot: more than the 150 blocks for which a blockhash
	// is valid.
	historySlots = 320
	// trickleEvery is the number of slots between two of the node's own transfers.
	trickleEvery = 5
	// maxCatchUp bounds the blocks made at once after the machine slept; the slots before are
	// skipped ones.
	maxCatchUp = 64

	trafficIndex  = 1_000
	identityIndex = 2_000
	voteIndex     = 2_001
)

// Config says how to run the node.
type Config struct {
	SlotTime time.Duration // default 400 ms
	Funded   []ed25519.PrivateKey
	Logger   *slog.Logger
}

// Node is a running scripted node.
type Node struct {
	cfg      Config
	ledger   *ledger
	identity key
	vote     key
	traffic  [2]ed25519.PrivateKey
	started  time.Time
	baseSlot uint64

	cancel context.CancelFunc
	done   chan struct{}
}

// Start makes the history and lets slots advance until Close; the context carries values only.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	if cfg.SlotTime <= 0 {
		cfg.SlotTime = defaultSlotTime
	}
	n := &Node{cfg: cfg, started: time.Now(), done: make(chan struct{})}
	n.baseSlot = uint64(n.started.Sub(time.Unix(genesisUnix, 0)) / defaultSlotTime) //nolint:gosec // a date after 2020
	if err := n.deriveKeys(); err != nil {
		return nil, err
	}
	n.ledger = newLedger(n.identity)
	n.ledger.seed(cfg.Funded, n.traffic[:], n.identity, n.vote)
	for back := uint64(historySlots); back > 0; back-- {
		at := n.started.Add(-time.Duration(back) * cfg.SlotTime) //nolint:gosec // at most historySlots
		n.advance(n.baseSlot-back, at)
	}
	ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go n.loop(ctx)
	return n, nil
}

func (n *Node) deriveKeys() error {
	derived := make([]ed25519.PrivateKey, 0, 4)
	for _, index := range []uint32{trafficIndex, trafficIndex + 1, identityIndex, voteIndex} {
		k, err := devkey.Solana(index)
		if err != nil {
			return fmt.Errorf("scripted solana node: %w", err)
		}
		derived = append(derived, k)
	}
	n.traffic = [2]ed25519.PrivateKey{derived[0], derived[1]}
	n.identity, n.vote = publicKey(derived[2]), publicKey(derived[3])
	return nil
}

// Handler serves the JSON-RPC methods and GET /health.
func (n *Node) Handler() http.Handler { return http.HandlerFunc(n.serveHTTP) }

// Close stops the clock and waits for it.
func (n *Node) Close() error {
	n.cancel()
	<-n.done
	return nil
}

func (n *Node) loop(ctx context.Context) {
	defer close(n.done)
	ticker := time.NewTicker(n.cfg.SlotTime)
	defer ticker.Stop()
	last := n.baseSlot - 1
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			target := n.baseSlot + uint64(now.Sub(n.started)/n.cfg.SlotTime) //nolint:gosec // never negative
			if target > last+maxCatchUp {
				last = target - maxCatchUp
			}
			for last < target {
				last++
				n.advance(last, now)
			}
		}
	}
}

// advance makes the slot's block, unless the leader "missed" the slot, and puts the node's own
// traffic in it.
func (n *Node) advance(slot uint64, at time.Time) {
	if skipped(slot) {
		return
	}
	if slot%trickleEvery == 0 {
		n.ledger.enqueue(n.trickle(slot))
	}
	n.ledger.produce(slot, at)
}

// skipped leaves out about one slot in thirty, so that clients meet gaps.
func skipped(slot uint64) bool { return slot%32 == 19 }

// trickle is a transfer between the two traffic accounts, back and forth.
func (n *Node) trickle(slot uint64) *wire {
	from, to := n.traffic[slot/trickleEvery%2], n.traffic[(slot/trickleEvery+1)%2]
	return transfer(from, publicKey(to), 1_000+slot%1_000, n.ledger.latestHash())
}
