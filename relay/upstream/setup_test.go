package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

const (
	testHead    = 1_000_000
	testTimeout = 20 * time.Second
	maxAnswer   = 512 << 20
)

// providers returns scripted upstreams in the form of the upstreams file, named up-0, up-1, …
func providers(servers ...*testkit.UpstreamServer) []config.Upstream {
	list := make([]config.Upstream, len(servers))
	for i, s := range servers {
		list[i] = config.Upstream{Name: fmt.Sprintf("up-%d", i), URL: s.URL, Supply: string(plan.Public)}
	}
	return list
}

// poolOf returns Ethereum with these upstreams, before any probe.
func poolOf(t *testing.T, now func() time.Time, list []config.Upstream) (*Pool, *Chain) {
	t.Helper()
	file := config.Upstreams{Chains: map[string]config.ChainUpstreams{string(chain.EthMainnet): {Upstreams: list}}}
	p, err := NewPool(file, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c, _ := p.Chain(chain.EthMainnet)
	return p, c
}

// healthy returns a snapshot in which every upstream is usable; the first are the fastest.
func healthy(c *Chain, at time.Time) Snapshot {
	s := Snapshot{Chain: c.ID, MeasuredAt: at, Head: testHead, HeadKnown: true}
	for i, e := range c.endpoints {
		s.Upstreams = append(s.Upstreams, UpstreamState{
			Fingerprint: e.fingerprint,
			Name:        e.Name, Usable: true, ChainIDOK: true, Head: testHead,
			LatencyMicros: int64(1000 * (1 << (2 * i))),
		})
	}
	return s
}

// twoUpstreams returns Ethereum with two scripted upstreams, of which the first is asked first.
func twoUpstreams(t *testing.T) (c *Chain, first, second *testkit.UpstreamServer) {
	t.Helper()
	first, second = testkit.Upstream(t), testkit.Upstream(t)
	_, c = poolOf(t, time.Now, providers(first, second))
	c.Apply(healthy(c, time.Now()))
	return c, first, second
}

// idIn returns the id of a request.
func idIn(body io.Reader) json.RawMessage {
	var call struct{ ID json.RawMessage }
	if err := json.NewDecoder(body).Decode(&call); err != nil {
		return json.RawMessage("null")
	}
	return call.ID
}

// answerTo returns the answer "0x1" to a request.
func answerTo(body io.Reader) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"0x1"}`, idIn(body))
}

// held returns how many calls hold room of an endpoint.
func held(e *Endpoint) int64 {
	most := e.limits.Concurrency()
	free := int64(0)
	for free < most && e.limits.Take(time.Now()) {
		free++
	}
	for range free {
		e.limits.Release()
	}
	return most - free
}

func request(method string) *Request {
	return &Request{
		Method: []byte(method), Params: []byte(`[]`), Supply: plan.Public, Tier: plan.Balanced, MaxAnswer: maxAnswer,
		Links: chain.Links{Contact: "contact@example.org", Docs: "https://docs.example.org"},
	}
}

func deadline(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// measured returns verdicts measured now.
func measured(able map[chain.Capability]bool) map[chain.Capability]Verdict {
	now := time.Now()
	all := make(map[chain.Capability]Verdict)
	for of, can := range able {
		all[of] = Verdict{Able: can, MeasuredAt: now, AskedAt: now}
	}
	return all
}

// probed returns the snapshot of a round of probes of Ethereum.
func probed(t *testing.T, p *Pool) Snapshot {
	t.Helper()
	s, err := p.Probe(deadline(t, testTimeout), chain.EthMainnet)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instant answers every read at once, so that a benchmark measures everything but the transport.
type instant struct{}

// instantBody is an answer with the id of its request.
type instantBody struct {
	text [len(instantAnswer)]byte
	read int
}

const instantAnswer = `{"jsonrpc":"2.0","id":1000000000000000,"result":"0x1"}`

func (b *instantBody) Read(p []byte) (int, error) {
	n := copy(p, b.text[b.read:])
	if b.read += n; b.read == len(b.text) {
		return n, io.EOF
	}
	return n, nil
}

func (*instantBody) Close() error { return nil }

func (instant) Do(_ context.Context, request []byte, _ time.Time) (*http.Response, error) {
	body := new(instantBody)
	copy(body.text[:], instantAnswer)
	copy(body.text[len(`{"jsonrpc":"2.0","id":`):], transport.IDOf(request))
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(instantAnswer)), Body: body}, nil
}

func (i instant) DoAlone(ctx context.Context, body []byte, deadline time.Time) (*http.Response, error) {
	return i.Do(ctx, body, deadline)
}

func (instant) CloseIdleConnections() {}

func (instant) Retire() {}

// benchmarked returns Ethereum with n measured upstreams that answer at once.
func benchmarked(b *testing.B, n int) *Chain {
	b.Helper()
	var list []config.Upstream
	for i := range n {
		list = append(list, config.Upstream{Name: fmt.Sprintf("up-%d", i), URL: "http://127.0.0.1:1", Supply: "public"})
	}
	p, err := NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(chain.EthMainnet): {Upstreams: list}},
	}, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Close)
	c, _ := p.Chain(chain.EthMainnet)
	c.Apply(healthy(c, time.Now()))
	for _, e := range c.endpoints {
		e.reads = instant{}
		e.measured(time.Millisecond)
	}
	return c
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{3, 32} {
		b.Run(fmt.Sprintf("upstreams=%d", n), func(b *testing.B) {
			c := benchmarked(b, n)
			r := &Request{Method: []byte("eth_call"), Supply: plan.Public, Tier: plan.Balanced}
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, ok := c.next(&search{r: r, list: c.endpoints}); !ok {
						b.Error("nobody was chosen")
					}
				}
			})
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, tier := range []plan.Tier{plan.Balanced, plan.Fast} {
		b.Run(string(tier), func(b *testing.B) {
			c := benchmarked(b, 3)
			c.hedges.credit.Store(maxHedgeCredit)
			ctx := WithDeadline(b.Context(), time.Now().Add(time.Hour), time.Now)
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					answer, f := c.Read(ctx, &Request{
						Method: []byte("eth_call"), Params: []byte(`[{},"latest"]`), Supply: plan.Public, Tier: tier,
						MaxAnswer: maxAnswer,
					})
					if f != nil {
						b.Error(f)
						return
					}
					answer.Release()
				}
			})
		})
	}
}
