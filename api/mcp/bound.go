package mcp

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/chainaccess/gateway/internal/fault"
)

// What needs no key and is counted by nothing else, the handshake and the list of tools, is bounded
// for each network by each process. Whole companies of agents stand behind one address, and clients
// without a session begin anew for every task, so the bound is wide: it is there against floods. A
// thousand clients of one network may begin at once, with a handshake and a list each.
const (
	greetingsPerSecond = 20
	greetingBurst      = 2_000
	greetingNetworks   = 65_536 // remembered at once; the one that asked longest ago is forgotten first
)

// greetings counts those of each network. It is safe for concurrent use.
type greetings struct {
	now func() time.Time

	mu sync.Mutex // guards of
	of *lru.Cache[netip.Prefix, *rate.Limiter]
}

func newGreetings(now func() time.Time) *greetings {
	of, err := lru.New[netip.Prefix, *rate.Limiter](greetingNetworks)
	if err != nil { // of a size that is none
		panic(err)
	}
	return &greetings{now: now, of: of}
}

// admit refuses what is too much of a network.
func (g *greetings) admit(network netip.Prefix) *fault.Error {
	g.mu.Lock()
	l, ok := g.of.Get(network)
	if !ok {
		l = rate.NewLimiter(greetingsPerSecond, greetingBurst)
		g.of.Add(network, l)
	}
	g.mu.Unlock()
	if l.AllowN(g.now(), 1) {
		return nil
	}
	f := fault.New(fault.RateWindow,
		"Too many handshakes and lists of tools from your network address. Keep the list, which changes with "+
			"releases only, and wait a second.")
	f.RetryAfter, f.Window = time.Second, &fault.Window{Limit: greetingsPerSecond, Reset: time.Second}
	return f
}

// limitHeaders tells when to come back, as HTTP's door does.
func limitHeaders(h http.Header, f *fault.Error) {
	if f.RetryAfter <= 0 || f.Window == nil {
		return
	}
	h["Retry-After"] = []string{strconv.FormatInt(fault.WholeSeconds(f.RetryAfter), 10)}
	h["RateLimit-Limit"] = []string{strconv.FormatInt(f.Window.Limit, 10)}
	h["RateLimit-Remaining"] = []string{strconv.FormatInt(f.Window.Remaining, 10)}
	h["RateLimit-Reset"] = []string{strconv.FormatInt(fault.WholeSeconds(f.Window.Reset), 10)}
}
