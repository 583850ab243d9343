// Package upstreamtest has what tests of upstreams share: a pool of one chain over scripted
// upstreams.
package upstreamtest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// Timeout is how long a test waits for what must happen.
const Timeout = 20 * time.Second

// Head is the head of snapshots that Healthy returns.
const Head = 1_000_000

const maxBytes = 512 << 20

// Noon is when the clocks of tests start.
var Noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Providers returns scripted upstreams in the form of the upstreams file, named up-0, up-1, …
func Providers(servers ...*testkit.UpstreamServer) []config.Upstream {
	list := make([]config.Upstream, len(servers))
	for i, s := range servers {
		list[i] = config.Upstream{Name: fmt.Sprintf("up-%d", i), URL: s.URL, Supply: string(plan.Public)}
	}
	return list
}

// NewChain returns a pool of one chain with these upstreams, before any probe.
func NewChain(t *testing.T, id chain.ID, now func() time.Time, list []config.Upstream,
) (*upstream.Pool, *upstream.Chain) {
	t.Helper()
	file := config.Upstreams{Chains: map[string]config.ChainUpstreams{string(id): {Upstreams: list}}}
	p, err := upstream.NewPool(file, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c, _ := p.Chain(id)
	return p, c
}

// Healthy returns a snapshot in which every upstream is usable; the first are the fastest.
func Healthy(c *upstream.Chain, at time.Time) upstream.Snapshot {
	s := upstream.Snapshot{Chain: c.ID, MeasuredAt: at, Head: Head, HeadKnown: true}
	for i, name := range c.Names() {
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Fingerprint: c.Fingerprint(name), Name: name, Usable: true, ChainIDOK: true, Head: Head,
			LatencyMicros: int64(1000 * (1 << (2 * i))),
		})
	}
	return s
}

// TwoUpstreams returns Ethereum with two scripted upstreams, of which the first is asked first.
func TwoUpstreams(t *testing.T) (c *upstream.Chain, first, second *testkit.UpstreamServer) {
	t.Helper()
	first, second = testkit.Upstream(t), testkit.Upstream(t)
	_, c = NewChain(t, chain.EthMainnet, time.Now, Providers(first, second))
	c.Apply(Healthy(c, time.Now()))
	return c, first, second
}

// Call returns a request of the public supply and the balanced tier, without parameters.
func Call(method string) *upstream.Request {
	return &upstream.Request{
		Method: []byte(method), Params: []byte(`[]`), Supply: plan.Public, Tier: plan.Balanced, MaxAnswer: maxBytes,
		Links: chain.Links{Contact: "contact@example.org", Docs: "https://docs.example.org"},
	}
}

// Context returns a context that ends with the test or after Timeout.
func Context(t *testing.T) context.Context {
	t.Helper()
	return Deadline(t, Timeout)
}

// Deadline returns a context that ends with the test or after d.
func Deadline(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Asked returns the name of the upstream that a read asks, or "none".
func Asked(t *testing.T, c *upstream.Chain) string {
	t.Helper()
	r := Call("eth_call")
	if answer, f := c.Read(Context(t), r); f == nil {
		answer.Release()
	}
	if r.Asked.Attempts == 0 {
		return "none"
	}
	return r.Asked.Upstream
}

// NewBoard returns a board of the test's own.
func NewBoard(t *testing.T) *upstream.Board {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: testkit.Redis(t).Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return upstream.NewBoard(rdb)
}

// WatchBoard applies the board to the pool until the test ends.
func WatchBoard(t *testing.T, b *upstream.Board, p *upstream.Pool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		b.Watch(ctx, p, 5*time.Millisecond, slog.New(slog.DiscardHandler))
	}()
	t.Cleanup(func() {
		cancel()
		<-watched
	})
}

// Blamed returns how many attempts at an upstream count against it, by its place in the file.
func Blamed(c *upstream.Chain, place int) int64 {
	f := c.Figures()[place]
	return f.Failed + f.Throttled
}
