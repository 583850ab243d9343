package relay

import (
	"sync"
	"sync/atomic"
)

// Bounds of the memory that answers of batches take from when they are there until their client has
// read them.
const (
	batchAnswerBytes = 32 << 20 // of one batch
	// of each batch that no other can take away from it: batches of small answers are always served
	batchOwnBytes    = 64 << 10
	batchMemoryBytes = 256 << 20 // of all batches together beyond that, unless Options say otherwise
)

// batchMemory is what is left of the memory for the answers of all batches.
type batchMemory struct{ left atomic.Int64 }

func newBatchMemory(bytes int64) *batchMemory {
	if bytes == 0 {
		bytes = batchMemoryBytes
	}
	m := new(batchMemory)
	m.left.Store(bytes)
	return m
}

func (m *batchMemory) take(n int) bool {
	for {
		left := m.left.Load()
		if int64(n) > left {
			return false
		}
		if m.left.CompareAndSwap(left, left-int64(n)) {
			return true
		}
	}
}

func (m *batchMemory) give(n int) { m.left.Add(int64(n)) }

// room is the memory of the answers that go out together, of a batch or of a tool.
type room struct {
	shared *batchMemory
	most   int  // bytes
	single bool // of one answer that a door gives whole

	mu    sync.Mutex // guards what follows
	held  int        // by answers
	taken int        // of shared
}

// vacancy is what room.take finds.
type vacancy uint8

const (
	hasRoom    vacancy = iota
	batchFull          // this batch holds as much as one may
	memoryFull         // all batches together do
)

// take claims memory for a part of an answer; give must follow when it was given.
func (r *room) take(n int) vacancy {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.most-r.held {
		return batchFull
	}
	if more := r.held + n - batchOwnBytes - r.taken; more > 0 {
		if !r.shared.take(more) {
			return memoryFull
		}
		r.taken += more
	}
	r.held += n
	return hasRoom
}

func (r *room) give(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= n
	if spare := r.taken - max(r.held-batchOwnBytes, 0); spare > 0 {
		r.shared.give(spare)
		r.taken -= spare
	}
}
