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

// answers is what may be served again: what the service answers by itself, what is kept for a
// moment in this process, and what does not change any more (package cache).
type answers struct {
	now   func() time.Time
	final *cache.Cache // nil keeps nothing

	mu    sync.RWMutex // guards short
	short map[shortKey]shortEntry

	localHits, shortHits atomic.Uint64
}

func newAnswers(final *cache.Cache, now func() time.Time) *answers {
	return &answers{now: now, final: final, short: make(map[shortKey]shortEntry)}
}

// lookup is what the cache has to do with one call. The rule is Never when this call's answer is
// not kept, be it only for its parameters.
type lookup struct {
	rule       chain.CacheRule
	generation uint64
	short      shortKey
	final      cache.Key
	asked      blockHash // Final: the hash that is asked for
}

// shortKey names an answer that is kept for a moment. There are few: a chain and a method of the
// Short rule, asked without parameters that change the answer.
type shortKey struct {
	chain  chain.ID
	method *chain.Method
	head   upstream.HeadKind // keeps Solana's commitments apart
}

type shortEntry struct {
	result     []byte
	expires    time.Time
	generation uint64
}

// look tells what the cache has to do with a call. It costs nothing for methods that are never
// kept.
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

// get returns an answer that may be served. Heads never go back: when a newer one is known than the
// stored, the newer is given. The bytes are shared.
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

// put keeps a whole result if the rule allows it, and gives the copy that it kept; nil when it did
// not.
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

// CacheStats counts what the relay did not ask an upstream for.
type CacheStats struct {
	cache.Stats // of the one-week rule

	// LocalHits were answered by the service itself, ShortHits from what is kept for a moment.
	LocalHits, ShortHits uint64
	// Followers waited for a call that another made.
	Followers uint64
}

// CacheStats returns the counts since the start, for collectors of metrics; it may be called at
// every scrape.
func (r *Relay) CacheStats() CacheStats {
	return CacheStats{
		Stats: r.answers.final.Stats(), LocalHits: r.answers.localHits.Load(), ShortHits: r.answers.shortHits.Load(),
		Followers: r.flights.Followed(),
	}
}

// shortKind reports whether answers to m with these parameters are kept for a moment, and which
// head they are about.
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

// headKind says which of the chain's heads a call asks for, also when its answer is not kept for
// its parameters: a node may pass over those that it does not know.
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

// head says the same of a call that was looked up.
func (l *lookup) head(m *chain.Method, params []byte) upstream.HeadKind {
	if l.short.head != upstream.NoHead || m.Cache != chain.Short {
		return l.short.head
	}
	return headKind(m, params)
}

const plainMost = 256 // bytes of parameters that are read for the cache; those that matter here are shorter

func noParams(params []byte) bool {
	if len(params) <= len("[]") || len(params) > plainMost {
		return len(params) <= len("[]")
	}
	var room [plainMost]byte
	canonical, err := jsonrpc.AppendCanonical(room[:0], params)
	return err == nil && string(canonical) == "[]"
}

// namedCommitment reads the commitment among other parameters of getSlot; NoHead when it is none of
// those that nodes know.
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

// commitment reads the parameters of getSlot: finalized is the default. NoHead when they say
// anything besides.
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
