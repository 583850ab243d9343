package relay

import (
	"bytes"
	"sync"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/upstream"
)

// cache keeps answers that may be served again for a moment, in this process. Its size is bounded by what it keys on: a chain and
// a method of the Short rule, asked without parameters that change the answer.
type cache struct {
	now func() time.Time

	mu      sync.RWMutex // guards entries
	entries map[cacheKey]cacheEntry
}

type cacheKey struct {
	chain  chain.ID
	method *chain.Method
	head   upstream.HeadKind // keeps Solana's commitments apart
}

type cacheEntry struct {
	result  []byte
	expires time.Time
}

func newCache(now func() time.Time) *cache {
	return &cache{now: now, entries: make(map[cacheKey]cacheEntry)}
}

// get gives an answer that is still fresh, or one that the service gives by itself. Heads never go back: when a newer one is
// known than the stored, the newer is given.
func (c *cache) get(on *upstream.Chain, m *chain.Method, params []byte) ([]byte, bool) {
	if m.Cache == chain.Local {
		return on.LocalResult(m), true
	}
	head, ok := shortKey(m, params)
	if !ok {
		return nil, false
	}
	c.mu.RLock()
	e, ok := c.entries[cacheKey{on.ID, m, head}]
	c.mu.RUnlock()
	if !ok || !c.now().Before(e.expires) {
		return nil, false
	}
	if head != upstream.NoHead {
		return on.HeadResult(head, e.result), true
	}
	return e.result, true
}

func (c *cache) put(on *upstream.Chain, m *chain.Method, params, result []byte) {
	head, ok := shortKey(m, params)
	if !ok || string(result) == "null" {
		return
	}
	e := cacheEntry{result: bytes.Clone(result), expires: c.now().Add(m.TTL)}
	c.mu.Lock()
	c.entries[cacheKey{on.ID, m, head}] = e
	c.mu.Unlock()
}

// shortKey is whether answers to m with these parameters are kept for a moment, and which head they are about.
func shortKey(m *chain.Method, params []byte) (head upstream.HeadKind, ok bool) {
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

// headKind says which of the chain's heads a call asks for.
func headKind(m *chain.Method, params []byte) upstream.HeadKind {
	if head, ok := shortKey(m, params); ok {
		return head
	}
	return upstream.NoHead
}

func noParams(params []byte) bool {
	var room [squeezeMost]byte
	squeezed := squeeze(room[:0], params)
	return len(params) == 0 || string(squeezed) == "[]"
}

// commitment reads the parameters of getSlot: finalized is the default. NoHead when they say anything besides.
func commitment(params []byte) upstream.HeadKind {
	if noParams(params) {
		return upstream.Latest
	}
	var room [squeezeMost]byte
	switch string(squeeze(room[:0], params)) {
	case "[{}]", "[null]", `[{"commitment":"finalized"}]`:
		return upstream.Latest
	case `[{"commitment":"confirmed"}]`:
		return upstream.Confirmed
	case `[{"commitment":"processed"}]`:
		return upstream.Processed
	}
	return upstream.NoHead
}

const squeezeMost = 64 // no parameters that matter here are longer

// squeeze appends params without the white space outside strings; nothing when they are long.
func squeeze(out, params []byte) []byte {
	if len(params) > squeezeMost {
		return out
	}
	inString := false
	for _, c := range params {
		if c == '"' {
			inString = !inString // an escaped quote ends in a text that matches nothing
		}
		if inString || (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
			out = append(out, c)
		}
	}
	return out
}
