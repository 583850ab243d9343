package probing

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

func chainAt(t *testing.T, id chain.ID) (*upstream.Chain, *testkit.Clock) {
	t.Helper()
	return chainOf(t, id, 1)
}

// nowhere returns upstreams that are never called.
func nowhere(upstreams int) []config.Upstream {
	list := make([]config.Upstream, upstreams)
	for i := range list {
		list[i] = config.Upstream{
			Name: fmt.Sprintf("up-%d", i), URL: fmt.Sprintf("http://127.0.0.1:%d", i+1), Supply: "public",
		}
	}
	return list
}

func chainOf(t *testing.T, id chain.ID, upstreams int) (*upstream.Chain, *testkit.Clock) {
	t.Helper()
	clock := testkit.NewClock(upstreamtest.Noon)
	_, c := upstreamtest.NewChain(t, id, clock.Now, nowhere(upstreams))
	c.Apply(upstreamtest.Healthy(c, upstreamtest.Noon))
	return c, clock
}

func TestHead_NeverGoesBack(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.EthMainnet)
	for _, step := range []struct{ answered, want uint64 }{
		{upstreamtest.Head + 3, upstreamtest.Head + 3},
		{upstreamtest.Head + 1, upstreamtest.Head + 3},
		{upstreamtest.Head + 4, upstreamtest.Head + 4},
		{1, upstreamtest.Head + 4},
	} {
		if got, ok := c.ObserveHead(upstream.Latest, step.answered); !ok || got != step.want {
			t.Errorf("an upstream at %d gives %d (%v), want %d", step.answered, got, ok, step.want)
		}
	}
	older := upstreamtest.Healthy(c, upstreamtest.Noon.Add(time.Second))
	older.Head = 5
	c.Apply(older)
	if head, _ := c.Head(); head != upstreamtest.Head+4 {
		t.Errorf("a snapshot took the head back to %d", head)
	}
	if got := string(c.HeadResult(upstream.Latest, []byte(`"0x1"`))); got != fmt.Sprintf(`"0x%x"`,
		upstreamtest.Head+4) {
		t.Errorf("a stored head is given as %s", got)
	}
}

// One of several upstreams may answer with a head up to a minute ahead, as far as one may lag; a
// single one with up to 64 blocks.
func TestHead_FarAheadIsNotBelieved(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		id             chain.ID
		upstreams      int
		slack, tenMore uint64 // blocks: at once, and in ten minutes at twice the usual pace
	}{
		{chain.EthMainnet, 2, 5, 100},
		{chain.BaseMainnet, 3, 30, 600},
		{chain.ArbitrumOne, 2, 64, 4800},
		{chain.EthMainnet, 1, 64, 100},
	} {
		t.Run(string(of.id), func(t *testing.T) {
			c, clock := chainOf(t, of.id, of.upstreams)
			if head, ok := c.ObserveHead(upstream.Latest, upstreamtest.Head+of.slack+1); ok ||
				head != upstreamtest.Head {
				t.Errorf("%d of %s: a head further ahead than the slack gives %d, %v", of.upstreams, of.id, head, ok)
			}
			if _, ok := c.ObserveHead(upstream.Latest, upstreamtest.Head+of.slack); !ok {
				t.Errorf("%d of %s: a burst inside the slack is plausible", of.upstreams, of.id)
			}
			clock.Advance(10 * time.Minute)
			if _, ok := c.ObserveHead(upstream.Latest, upstreamtest.Head+of.slack+of.tenMore); !ok {
				t.Errorf("%d of %s: twice the usual pace is plausible", of.upstreams, of.id)
			}
			if _, ok := c.ObserveHead(upstream.Latest, upstreamtest.Head+of.slack+of.tenMore+1); ok {
				t.Errorf("%d of %s: more than twice the usual pace is not", of.upstreams, of.id)
			}
		})
	}
}

// A network with an id of its own is not the catalog's, whatever name it is configured under.
func TestHead_BlockTimeOfAPrivateNetworkIsUnknown(t *testing.T) {
	t.Parallel()
	p, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{
		"eth_mainnet": {ChainID: 1337, Upstreams: nowhere(2)},
	}}, testkit.NewClock(upstreamtest.Noon).Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c, _ := p.Chain(chain.EthMainnet)
	c.Apply(upstreamtest.Healthy(c, upstreamtest.Noon))
	if _, ok := c.ObserveHead(upstream.Latest, upstreamtest.Head+64); !ok {
		t.Error("64 blocks ahead are refused")
	}
}

func TestHead_UpstreamCannotRaiseTheBoundStepByStep(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.EthMainnet)
	for i := range uint64(100) {
		c.ObserveHead(upstream.Latest, upstreamtest.Head+(i+1)*64)
	}
	if head, _ := c.Head(); head != upstreamtest.Head+64 {
		t.Errorf("the head is %d above the measured one", head-upstreamtest.Head)
	}
}

func TestHead_SolanaCommitmentsHaveTheirOwn(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.SolanaMainnet)
	if head, ok := c.ObserveHead(upstream.Processed, upstreamtest.Head+40); !ok || head != upstreamtest.Head+40 {
		t.Errorf("processed: %d, %v", head, ok)
	}
	if head, ok := c.ObserveHead(upstream.Confirmed, upstreamtest.Head+32); !ok || head != upstreamtest.Head+32 {
		t.Errorf("confirmed: %d, %v", head, ok)
	}
	if head, _ := c.Head(); head != upstreamtest.Head {
		t.Errorf("the chain's head became %d, which is not final", head)
	}
	if head, ok := c.ObserveHead(upstream.Confirmed, upstreamtest.Head); !ok || head != upstreamtest.Head+32 {
		t.Errorf("confirmed went back to %d", head)
	}
	if _, ok := c.ObserveHead(upstream.Confirmed, upstreamtest.Head+1_000_000); ok {
		t.Error("a slot a million ahead is not plausible at any commitment")
	}
	if got := string(c.HeadResult(upstream.Processed, []byte("1"))); got != fmt.Sprint(upstreamtest.Head+40) {
		t.Errorf("a stored slot is given as %s", got)
	}
}
