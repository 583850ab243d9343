package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
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
