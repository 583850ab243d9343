package solana

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"
)

const (
	maxBlocks       = 2_048  // about a quarter of an hour
	maxTransactions = 50_000 // kept over all blocks; beyond it the oldest blocks are dropped
	minBlocks       = 256    // always kept: blockhashes and finality need them
	maxPending      = 4_096  // transactions that wait for the next slot; beyond it sendTransaction refuses
	maxAge          = 150    // blocks for which a blockhash is valid
	finalizedDepth  = 31     // blocks behind the tip (the lockout of the vote program)
	confirmedDepth  = 1
)

// block is immutable once it is in the ledger.
type block struct {
	slot, parentSlot, height uint64
	hash, previousHash       key
	time                     int64
	transactions             []*executed
	reward                   uint64 // the leader's half of the base fees
	leaderBalance            uint64
}

// executed is a transaction that landed; immutable.
type executed struct {
	*wire
	outcome
	slot uint64
}

// ledger holds the blocks, the accounts and the transactions that wait for the next slot.
type ledger struct {
	leader key

	mu          sync.RWMutex // guards what follows
	blocks      []*block     // by slot, the oldest first
	kept        int          // transactions in blocks
	count       uint64       // transactions since the start
	accounts    map[key][]version
	bySignature map[signature]*executed
	heights     map[key]uint64 // of recent blockhashes

	queueMu sync.Mutex // guards pending
	pending []*wire
}

func newLedger(leader key) *ledger {
	return &ledger{
		leader: leader, accounts: map[key][]version{}, bySignature: map[signature]*executed{},
		heights: map[key]uint64{},
	}
}

// enqueue queues a transaction for the next slot; false when the queue is full.
func (l *ledger) enqueue(w *wire) bool {
	l.queueMu.Lock()
	defer l.queueMu.Unlock()
	if len(l.pending) >= maxPending {
		return false
	}
	l.pending = append(l.pending, w)
	return true
}

func (l *ledger) latestHash() key {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.blocks) == 0 {
		return key{}
	}
	return l.tip().hash
}

// produce appends a block with all queued transactions. As on the network, a transaction that
// cannot pay its fee, is too old or is a duplicate is dropped.
func (l *ledger) produce(slot uint64, at time.Time) {
	l.queueMu.Lock()
	waiting := l.pending
	l.pending = nil
	l.queueMu.Unlock()

	l.mu.Lock()
	defer l.mu.Unlock()
	b := &block{slot: slot, parentSlot: slot - 1, height: slot - slot/32, time: at.Unix()}
	if len(l.blocks) > 0 {
		tip := l.tip()
		b.parentSlot, b.previousHash, b.height = tip.slot, tip.hash, tip.height+1
	}
	b.hash = sha256.Sum256(binary.LittleEndian.AppendUint64(b.previousHash[:], slot))
	for _, w := range waiting {
		if done := l.execute(w, bank{l, slot, b.height}); done.landed {
			l.commit(b, &executed{wire: w, outcome: done, slot: slot})
		}
	}
	l.payLeader(b)
	l.blocks = append(l.blocks, b)
	l.heights[b.hash] = b.height
	l.forget()
}

func (l *ledger) commit(b *block, tx *executed) {
	for k, a := range tx.writes {
		l.write(k, b.slot, a)
	}
	tx.writes = nil
	b.transactions = append(b.transactions, tx)
	b.reward += tx.fee / 2
	l.bySignature[tx.signatures[0]] = tx
	l.count++
	l.kept++
}

func (l *ledger) payLeader(b *block) {
	a, _ := l.at(l.leader, b.slot)
	a.lamports += b.reward
	b.leaderBalance = a.lamports
	if b.reward > 0 {
		l.write(l.leader, b.slot, a)
	}
}

// forget drops the oldest blocks and blockhashes beyond the limits.
func (l *ledger) forget() {
	for len(l.blocks) > maxBlocks || l.kept > maxTransactions && len(l.blocks) > minBlocks {
		for _, tx := range l.blocks[0].transactions {
			delete(l.bySignature, tx.signatures[0])
		}
		l.kept -= len(l.blocks[0].transactions)
		l.blocks[0] = nil
		l.blocks = l.blocks[1:]
	}
	if old := len(l.blocks) - 2*maxAge; old >= 0 {
		delete(l.heights, l.blocks[old].hash)
	}
}

func (l *ledger) tip() *block { return l.blocks[len(l.blocks)-1] }

// behind returns the block that is depth blocks before the tip.
func (l *ledger) behind(depth int) *block { return l.blocks[max(0, len(l.blocks)-1-depth)] }

// find returns the block of a slot and its index; nil when there is none.
func (l *ledger) find(slot uint64) (*block, int) {
	i, found := slices.BinarySearchFunc(l.blocks, slot, func(b *block, s uint64) int {
		switch {
		case b.slot < s:
			return -1
		case b.slot > s:
			return 1
		}
		return 0
	})
	if !found {
		return nil, i
	}
	return l.blocks[i], i
}

// valid reports whether a blockhash may still be used at a block height.
func (l *ledger) valid(hash key, height uint64) bool {
	made, known := l.heights[hash]
	return known && made <= height && height <= made+maxAge
}
