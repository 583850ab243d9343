// Package solana is a scripted Solana node. It is not a validator, but a ledger whose slots advance
// with the clock, whose blockhashes expire, and whose transactions are parsed, verified and
// executed (system transfers, memos, compute budget). It serves the JSON-RPC methods in the shapes
// of Solana's documentation. It keeps a bounded number of blocks in memory and nothing on disk. It
// opens no port; the sandbox serves the handler.
//
// Not modelled: forks, other programs, address lookup tables, websocket subscriptions.
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
	// genesisUnix is the start of mainnet. Slots are counted from it, so that slot numbers never go
	// back when the sandbox restarts.
	genesisUnix = 1_584_368_940
	// historySlots is the number of slots before the first live one: more than the 150 blocks for
	// which a blockhash is valid.
	historySlots = 320
	// trickleEvery is the number of slots from one of the node's own transfers to the next.
	trickleEvery = 5
	// maxCatchUp bounds the blocks that are made at once after the machine slept; earlier slots are
	// skipped.
	maxCatchUp = 64

	trafficIndex  = 1_000
	identityIndex = 2_000
	voteIndex     = 2_001
)

// Config configures a Node.
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

// Start creates the history and advances slots until Close; only values of ctx are used.
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

// Handler returns the handler of the JSON-RPC methods and of GET /health.
func (n *Node) Handler() http.Handler { return http.HandlerFunc(n.serveHTTP) }

// Close stops the node and waits for its goroutine.
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

// advance produces the slot's block with the node's own traffic, unless the leader "missed" the
// slot.
func (n *Node) advance(slot uint64, at time.Time) {
	if skipped(slot) {
		return
	}
	if slot%trickleEvery == 0 {
		n.ledger.enqueue(n.trickle(slot))
	}
	n.ledger.produce(slot, at)
}

// skipped reports whether a slot has no block: one in 32, so that clients see gaps.
func skipped(slot uint64) bool { return slot%32 == 19 }

// trickle returns a transfer between the two traffic accounts, which alternate.
func (n *Node) trickle(slot uint64) *wire {
	from, to := n.traffic[slot/trickleEvery%2], n.traffic[(slot/trickleEvery+1)%2]
	return transfer(from, publicKey(to), 1_000+slot%1_000, n.ledger.latestHash())
}
