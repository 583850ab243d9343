package relay

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
)

// answers serves calls without an upstream: answers that the gateway computes itself (Local),
// answers kept for a moment in this process (Short), and immutable answers (Final, package cache).
type answers struct {
	now   func() time.Time
	final *cache.Cache // nil disables the Final cache

	mu    sync.RWMutex // guards short
	short map[shortKey]shortEntry

	localHits, shortHits atomic.Uint64
}

func newAnswers(final *cache.Cache, now func() time.Time) *answers {
	return &answers{now: now, final: final, short: make(map[shortKey]shortEntry)}
}

// lookup is the cache's decision about one call. rule is Never when the answer is not cached, even
// if only because of the parameters.
type lookup struct {
	rule       chain.CacheRule
	generation uint64
	short      shortKey
	final      cache.Key
	asked      blockHash // Final: the block hash in the call
	shown      uint64    // Final: the number of the block that the answer is about; zero if it shows none
}

// shortKey is the key of a short-lived answer. There are few keys: one per chain and method of the
// Short rule, because only calls without other parameters are cached.
type shortKey struct {
	chain  chain.ID
	method *chain.Method
	head   upstream.HeadKind // distinguishes Solana's commitments
}

type shortEntry struct {
	result     []byte
	expires    time.Time
	generation uint64
}

// look decides how the cache treats a call. It is cheap for methods that are never cached.
func (a *answers) look(on *upstream.Chain, m *chain.Method, params []byte) (l lookup) {
	switch m.Cache {
	case chain.Never:
	case chain.Local:
		l.rule = chain.Local
	case chain.Short:
		if head, ok := shortKind(m, params); ok {
			l.rule, l.generation, l.short = chain.Short, on.Generation(), shortKey{on.ID, m, head}
		}
	case chain.Final:
		l.lookFinal(on, m, params)
	}
	return l
}

// get returns a cached answer. Heads never go back: if a newer head is known than the cached one,
// get returns the newer. The bytes are shared and must not be changed.
func (a *answers) get(ctx context.Context, on *upstream.Chain, m *chain.Method, l *lookup) ([]byte, bool) {
	switch l.rule {
	case chain.Local:
		a.localHits.Add(1)
		return on.LocalResult(m), true
	case chain.Short:
		return a.getShort(on, l)
	case chain.Final:
		result, tier := a.final.Get(ctx, l.final)
		return result, tier != cache.Nowhere
	default:
		return nil, false
	}
}

func (a *answers) getShort(on *upstream.Chain, l *lookup) ([]byte, bool) {
	a.mu.RLock()
	e, ok := a.short[l.short]
	a.mu.RUnlock()
	if !ok || e.generation != l.generation || !a.now().Before(e.expires) {
		return nil, false
	}
	a.shortHits.Add(1)
	if l.short.head != upstream.NoHead {
		return on.HeadResult(l.short.head, e.result), true
	}
	return e.result, true
}

// put caches a complete result if the rule allows it, and returns the cached copy. It returns nil
// if it cached nothing.
func (a *answers) put(on *upstream.Chain, m *chain.Method, l *lookup, result []byte) []byte {
	if string(result) == "null" {
		return nil
	}
	switch l.rule {
	case chain.Short:
		e := shortEntry{result: bytes.Clone(result), expires: a.now().Add(m.TTL), generation: l.generation}
		a.mu.Lock()
		a.short[l.short] = e
		a.mu.Unlock()
		return e.result
	case chain.Final:
		return a.putFinal(on, m, l, result)
	default:
		return nil
	}
}

// CacheStats counts the calls that needed no upstream.
type CacheStats struct {
	cache.Stats // of the Final rule

	// LocalHits were computed by the gateway; ShortHits came from the short-lived cache.
	LocalHits, ShortHits uint64
	// Followers waited for a call that another caller made.
	Followers uint64
}

// CacheStats returns the counts since the start. It is cheap enough to call at every scrape.
func (r *Relay) CacheStats() CacheStats {
	return CacheStats{
		Stats: r.answers.final.Stats(), LocalHits: r.answers.localHits.Load(), ShortHits: r.answers.shortHits.Load(),
		Followers: r.flights.Followed(),
	}
}

// shortKind reports whether answers to m with these parameters are cached under the Short rule, and
// which head they are about.
func shortKind(m *chain.Method, params []byte) (head upstream.HeadKind, ok bool) {
	if m.Cache != chain.Short {
		return upstream.NoHead, false
	}
	switch m.Name {
	case "eth_blockNumber":
		return upstream.Latest, noParams(params)
	case "getSlot":
		head = commitment(params)
		return head, head != upstream.NoHead
	}
	return upstream.NoHead, noParams(params)
}

// headKind returns the head that a call asks for, even if its parameters keep the answer out of the
// cache: a node may ignore parameters that it does not know.
func headKind(m *chain.Method, params []byte) upstream.HeadKind {
	switch m.Name {
	case "eth_blockNumber":
		return upstream.Latest
	case "getSlot":
		if head := commitment(params); head != upstream.NoHead {
			return head
		}
		return namedCommitment(params)
	}
	return upstream.NoHead
}

// head returns what headKind returns, for a call that was looked up.
func (l *lookup) head(m *chain.Method, params []byte) upstream.HeadKind {
	if l.short.head != upstream.NoHead || m.Cache != chain.Short {
		return l.short.head
	}
	return headKind(m, params)
}

const plainMost = 256 // bytes of parameters that are read for the cache; cacheable ones are shorter

func noParams(params []byte) bool {
	if len(params) <= len("[]") || len(params) > plainMost {
		return len(params) <= len("[]")
	}
	var room [plainMost]byte
	canonical, err := jsonrpc.AppendCanonical(room[:0], params)
	return err == nil && string(canonical) == "[]"
}

// namedCommitment returns the commitment among other parameters of getSlot, or NoHead if nodes do
// not know it.
func namedCommitment(params []byte) upstream.HeadKind {
	canonical, err := jsonrpc.AppendCanonical(nil, params)
	if err != nil || len(canonical) == 0 {
		return upstream.NoHead
	}
	head := upstream.Latest
	jsonrpc.Members(canonical[1:], func(name, val []byte) bool {
		if string(name) != "commitment" {
			return true
		}
		switch string(val) {
		case `"finalized"`, "null":
		case `"confirmed"`:
			head = upstream.Confirmed
		case `"processed"`:
			head = upstream.Processed
		default:
			head = upstream.NoHead
		}
		return false
	})
	return head
}

// commitment returns the commitment in the parameters of getSlot; finalized is the default. It
// returns NoHead if they contain anything else.
func commitment(params []byte) upstream.HeadKind {
	switch {
	case noParams(params):
		return upstream.Latest
	case len(params) > plainMost:
		return upstream.NoHead
	}
	var room [plainMost]byte
	canonical, err := jsonrpc.AppendCanonical(room[:0], params)
	if err != nil {
		return upstream.NoHead
	}
	switch string(canonical) {
	case "[{}]", "[null]", `[{"commitment":"finalized"}]`:
		return upstream.Latest
	case `[{"commitment":"confirmed"}]`:
		return upstream.Confirmed
	case `[{"commitment":"processed"}]`:
		return upstream.Processed
	}
	return upstream.NoHead
}
