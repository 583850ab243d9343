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

// Rate limit per network and process for the handshake and the list of tools, which need no key and
// have no other limit. Many agents may share one address, and clients without a session repeat both
// for every task. The limit is therefore wide and only stops floods: a thousand clients of one
// network can start at once, with a handshake and a list each.
const (
	greetingsPerSecond = 20
	greetingBurst      = 2_000
	greetingNetworks   = 65_536 // held at a time; the least recently used is evicted
)

// greetings holds a limiter for each network. It is safe for concurrent use.
type greetings struct {
	now func() time.Time

	mu sync.Mutex // guards of
	of *lru.Cache[netip.Prefix, *rate.Limiter]
}

func newGreetings(now func() time.Time) *greetings {
	of, err := lru.New[netip.Prefix, *rate.Limiter](greetingNetworks)
	if err != nil { // the size is invalid
		panic(err)
	}
	return &greetings{now: now, of: of}
}

// admit refuses what exceeds a network's rate limit.
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

// limitHeaders sets Retry-After and the rate window, as on the HTTP routes.
func limitHeaders(h http.Header, f *fault.Error) {
	if f.RetryAfter <= 0 || f.Window == nil {
		return
	}
	h["Retry-After"] = []string{strconv.FormatInt(fault.WholeSeconds(f.RetryAfter), 10)}
	h["RateLimit-Limit"] = []string{strconv.FormatInt(f.Window.Limit, 10)}
	h["RateLimit-Remaining"] = []string{strconv.FormatInt(f.Window.Remaining, 10)}
	h["RateLimit-Reset"] = []string{strconv.FormatInt(fault.WholeSeconds(f.Window.Reset), 10)}
}
