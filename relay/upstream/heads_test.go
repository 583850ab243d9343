package upstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

func chainAt(t *testing.T, id chain.ID) (*Chain, *testkit.Clock) {
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

func chainOf(t *testing.T, id chain.ID, upstreams int) (*Chain, *testkit.Clock) {
	t.Helper()
	clock := testkit.NewClock(noon)
	_, c := poolOf(t, id, clock.Now, nowhere(upstreams))
	c.Apply(healthy(c, noon))
	return c, clock
}

func TestHead_NeverGoesBack(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.EthMainnet)
	for _, step := range []struct{ answered, want uint64 }{
		{testHead + 3, testHead + 3}, {testHead + 1, testHead + 3}, {testHead + 4, testHead + 4}, {1, testHead + 4},
	} {
		if got, ok := c.ObserveHead(Latest, step.answered); !ok || got != step.want {
			t.Errorf("an upstream at %d gives %d (%v), want %d", step.answered, got, ok, step.want)
		}
	}
	older := healthy(c, noon.Add(time.Second))
	older.Head = 5
	c.Apply(older)
	if head, _ := c.Head(); head != testHead+4 {
		t.Errorf("a snapshot took the head back to %d", head)
	}
	if got := string(c.HeadResult(Latest, []byte(`"0x1"`))); got != fmt.Sprintf(`"0x%x"`, testHead+4) {
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
		c, clock := chainOf(t, of.id, of.upstreams)
		if head, ok := c.ObserveHead(Latest, testHead+of.slack+1); ok || head != testHead {
			t.Errorf("%d of %s: a head further ahead than the slack gives %d, %v", of.upstreams, of.id, head, ok)
		}
		if _, ok := c.ObserveHead(Latest, testHead+of.slack); !ok {
			t.Errorf("%d of %s: a burst inside the slack is plausible", of.upstreams, of.id)
		}
		clock.Advance(10 * time.Minute)
		if _, ok := c.ObserveHead(Latest, testHead+of.slack+of.tenMore); !ok {
			t.Errorf("%d of %s: twice the usual pace is plausible", of.upstreams, of.id)
		}
		if _, ok := c.ObserveHead(Latest, testHead+of.slack+of.tenMore+1); ok {
			t.Errorf("%d of %s: more than twice the usual pace is not", of.upstreams, of.id)
		}
	}
}

// A network with an id of its own is not the catalog's, whatever name it is configured under.
func TestHead_BlockTimeOfAPrivateNetworkIsUnknown(t *testing.T) {
	t.Parallel()
	p, err := NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{
		"eth_mainnet": {ChainID: 1337, Upstreams: nowhere(2)},
	}}, testkit.NewClock(noon).Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	c, _ := p.Chain(chain.EthMainnet)
	c.Apply(healthy(c, noon))
	if _, ok := c.ObserveHead(Latest, testHead+64); !ok {
		t.Error("64 blocks ahead are refused")
	}
}

func TestHead_UpstreamCannotRaiseTheBoundStepByStep(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.EthMainnet)
	for i := range uint64(100) {
		c.ObserveHead(Latest, testHead+(i+1)*maxSlack)
	}
	if head, _ := c.Head(); head != testHead+maxSlack {
		t.Errorf("the head is %d above the measured one", head-testHead)
	}
}

func TestHead_SolanaCommitmentsHaveTheirOwn(t *testing.T) {
	t.Parallel()
	c, _ := chainAt(t, chain.SolanaMainnet)
	if head, ok := c.ObserveHead(Processed, testHead+40); !ok || head != testHead+40 {
		t.Errorf("processed: %d, %v", head, ok)
	}
	if head, ok := c.ObserveHead(Confirmed, testHead+32); !ok || head != testHead+32 {
		t.Errorf("confirmed: %d, %v", head, ok)
	}
	if head, _ := c.Head(); head != testHead {
		t.Errorf("the chain's head became %d, which is not final", head)
	}
	if head, ok := c.ObserveHead(Confirmed, testHead); !ok || head != testHead+32 {
		t.Errorf("confirmed went back to %d", head)
	}
	if _, ok := c.ObserveHead(Confirmed, testHead+1_000_000); ok {
		t.Error("a slot a million ahead is not plausible at any commitment")
	}
	if got := string(c.HeadResult(Processed, []byte("1"))); got != fmt.Sprint(testHead+40) {
		t.Errorf("a stored slot is given as %s", got)
	}
}

func TestHead_IsReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{`"0x10"`: 16, `"0x0"`: 0, `17`: 17, `"0x7fffffffffffffff"`: 1<<63 - 1} {
		if got, ok := parseHead([]byte(text)); !ok || got != want {
			t.Errorf("%s reads as %d (%v)", text, got, ok)
		}
	}
	for _, text := range []string{
		`null`, `""`, `"0x"`, `"16"`, `-1`, `1.5`, `"0xzz"`, `{}`, `"0xffffffffffffffffff"`, `true`, ``,
	} {
		if got, ok := parseHead([]byte(text)); ok {
			t.Errorf("%s reads as %d", text, got)
		}
	}
}
