package relay

import (
	"sync"
	"sync/atomic"
)

// Limits of the memory for answers of batches, from when they arrive until their client has read
// them.
const (
	batchAnswerBytes = 32 << 20 // of one batch
	// of each batch, reserved: batches of small answers are always served
	batchOwnBytes    = 64 << 10
	batchMemoryBytes = 256 << 20 // of all batches together beyond that, unless Options say otherwise
	// freeItems of a batch take no memory of all batches; each one beyond takes itemBytes, for what
	// the relay keeps of it until it is sent.
	freeItems = 100
	itemBytes = 1 << 10
)

// batchMemory is the memory that is left for the answers of all batches.
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

// Take reserves memory for a part of a split answer. After true the caller must call Give.
func (m *batchMemory) Take(n int) bool { return m.take(n) }

// Give returns what Take reserved.
func (m *batchMemory) Give(n int) { m.give(n) }

// room is the memory of the answers that are sent together, of a batch or of a tool call.
type room struct {
	shared *batchMemory
	most   int  // bytes that all answers together may take
	single bool // one answer, which its transport sends whole

	mu    sync.Mutex // guards what follows
	held  int        // by answers
	taken int        // of shared, for answers
	fixed int        // of shared, for the items themselves
}

// admit reserves memory for the n items of a batch. It returns false when there is none. Each item
// must call leave once.
func (r *room) admit(n int) bool {
	fixed := max(0, n-freeItems) * itemBytes
	if !r.shared.take(fixed) {
		return false
	}
	r.fixed = fixed
	return true
}

// leave returns the memory that admit reserved for one item.
func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fixed > 0 {
		r.fixed -= itemBytes
		r.shared.give(itemBytes)
	}
}

// vacancy is the result of room.take.
type vacancy uint8

const (
	hasRoom    vacancy = iota
	batchFull          // this batch has reached its limit
	memoryFull         // all batches together have
)

// take reserves memory for n bytes of an answer. After hasRoom the caller must call give.
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
