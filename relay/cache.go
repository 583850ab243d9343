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
	switch m.Cache {
	case chain.Local:
		return on.LocalResult(m), true
	case chain.Short:
		if !plainParams(m, params) {
			return nil, false
		}
	default:
		return nil, false
	}
	c.mu.RLock()
	e, ok := c.entries[cacheKey{on.ID, m}]
	c.mu.RUnlock()
	if !ok || !c.now().Before(e.expires) {
		return nil, false
	}
	if isHead(m, params) {
		return on.HeadResult(e.result), true
	}
	return e.result, true
}

func (c *cache) put(on *upstream.Chain, m *chain.Method, params, result []byte) {
	if m.Cache != chain.Short || !plainParams(m, params) || string(result) == "null" {
		return
	}
	e := cacheEntry{result: bytes.Clone(result), expires: c.now().Add(m.TTL)}
	c.mu.Lock()
	c.entries[cacheKey{on.ID, m}] = e
	c.mu.Unlock()
}

// plainParams is whether params leave the method at its default: none at all, or for getSlot the commitment that is the default.
func plainParams(m *chain.Method, params []byte) bool {
	squeezed := squeeze(params)
	return len(squeezed) == 0 || string(squeezed) == "[]" || (m.Name == "getSlot" && string(squeezed) == `[{"commitment":"finalized"}]`)
}

// isHead is whether the answer is the chain's head.
func isHead(m *chain.Method, params []byte) bool {
	return (m.Name == "eth_blockNumber" || m.Name == "getSlot") && plainParams(m, params)
}

// squeeze gives short params without white space; longer ones are not plain anyway, and strings are left alone.
func squeeze(params []byte) []byte {
	const most = 64
	if len(params) > most || bytes.IndexByte(params, '"') >= 0 || bytes.IndexAny(params, " \t\r\n") < 0 {
		return params
	}
	out := make([]byte, 0, len(params))
	for _, c := range params {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			out = append(out, c)
		}
	}
	return out
}
