package upstream

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

func fileOf(chains map[chain.ID][]config.Upstream) config.Upstreams {
	file := config.Upstreams{Chains: make(map[string]config.ChainUpstreams)}
	for id, list := range chains {
		file.Chains[string(id)] = config.ChainUpstreams{Upstreams: list}
	}
	return file
}

func reload(t *testing.T, p *Pool, file config.Upstreams, want Reloaded) *Chain {
	t.Helper()
	got, err := p.Reload(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the reload did %+v, want %+v", got, want)
	}
	c, _ := p.Chain(chain.EthMainnet)
	return c
}

func TestReload_KeepsWhatIsKnownOfUnchangedUpstreams(t *testing.T) {
	t.Parallel()
	up := testkit.Upstream(t)
	list := providers(up, testkit.Upstream(t))
	list[0].Headers = map[string]string{"X-Plan": "gold"}
	p, before := poolOf(t, time.Now, list)
	s := healthy(before, time.Now())
	s.Generation = 5
	before.follow(Posted{Known: true, Snapshot: s, Cordons: map[string]Cordon{"up-1": {}}})
	answer, f := before.Read(deadline(t, testTimeout), request("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	connections := up.Connections()

	same := config.Upstream{
		Name: "up-0", URL: list[0].URL, Supply: "public", Headers: map[string]string{"X-Plan": "gold"},
	}
	changed := list[1]
	changed.MaxConcurrent = 7
	added := providers(testkit.Upstream(t))[0]
	added.Name = "new"
	after := reload(t, p, fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: {added, changed, same}}),
		Reloaded{Chains: 1, Kept: 1, Added: 2, Removed: 1})
	if after.endpoints[2] != before.endpoints[0] || after.endpoints[1] == before.endpoints[1] {
		t.Error("the unchanged upstream is to be kept, the changed one made anew")
	}
	head, known := after.Head()
	require.True(t, known)
	expect.Equal(t, head, testHead)
	expect.Equal(t, after.Generation(), 5)
	expect.False(t, after.Joined())
	// The changed one is measured already and still cordoned; the new one must be probed first.
	for name, want := range map[string]bool{"up-0": true, "up-1": true, "new": false} {
		t.Run(name, func(t *testing.T) {
			for _, e := range after.endpoints {
				if state := e.state.Load(); e.Name == name && (state != nil && state.Usable) != want {
					t.Errorf("%s is measured as %+v", name, state)
				}
			}
		})
	}
	for tried := range uint64(1 << 3) {
		if got := after.choice(plan.Public, plan.Balanced, tried); got != "up-0" && got != "none" {
			t.Errorf("chose %s", got)
		}
	}
	if answer, f = after.Read(deadline(t, testTimeout), request("eth_call")); f != nil {
		t.Fatal(f)
	}
	answer.Release()
	if up.Connections() != connections {
		t.Error("the connection was not kept")
	}
}

func TestReload_UnusableFileChangesNothing(t *testing.T) {
	t.Parallel()
	p, before := poolOf(t, time.Now, providers(testkit.Upstream(t)))
	for _, bad := range []config.Upstreams{
		{Chains: map[string]config.ChainUpstreams{"eth_mainnet": {}, "dogecoin": {}}},
		fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: {{Name: "a", URL: "http://canary-secret\x7f/"}}}),
	} {
		_, err := p.Reload(bad)
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("the reload says %v", err)
		}
		if after, _ := p.Chain(chain.EthMainnet); after != before {
			t.Error("the chain changed")
		}
	}
}

func TestReload_CallUnderWayFinishesAtARemovedUpstream(t *testing.T) {
	t.Parallel()
	old, next := testkit.Upstream(t), testkit.Upstream(t)
	old.On("eth_call", testkit.Hang(testkit.Result("0xold")))
	p, before := poolOf(t, time.Now, providers(old))
	before.Apply(healthy(before, time.Now()))
	answered := make(chan string, 1)
	go func() {
		answer, f := before.Read(deadline(t, testTimeout), request("eth_call"))
		if f != nil {
			answered <- f.Error()
			return
		}
		answered <- string(answer.Result)
		answer.Release()
	}()
	testkit.Eventually(t, testTimeout, func() bool { return old.Count("eth_call") == 1 }, "the call is under way")
	after := reload(t, p, fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: providers(next)}),
		Reloaded{Chains: 1, Added: 1, Removed: 1})
	after.Apply(healthy(after, time.Now()))
	answer, f := after.Read(deadline(t, testTimeout), request("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	if next.Count("eth_call") != 1 {
		t.Error("a call after the reload went elsewhere")
	}
	old.Release()
	if got := <-answered; got != `"0xold"` {
		t.Errorf("the call under way was answered %s", got)
	}
	if removed := before.endpoints[0]; old.Connections() != 1 {
		t.Errorf("%s saw %d connections", removed.Name, old.Connections())
	}
	// Its connection is not kept for another call.
	if answer, f = before.Read(deadline(t, testTimeout), request("eth_chainId")); f != nil {
		t.Fatal(f)
	}
	answer.Release()
	if old.Connections() != 2 {
		t.Errorf("the removed upstream kept a connection: it saw %d", old.Connections())
	}
}

func TestReload_ChangedCredentialInAURLTakesNoChainOut(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(noon)
	up := testkit.Upstream(t)
	old := providers(up)
	old[0].URL += "/v2/old"
	p, before := poolOf(t, clock.Now, old)
	before.follow(Posted{Known: true, Snapshot: healthy(before, clock.Now())})
	served := func(c *Chain) bool {
		answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
		if f == nil {
			answer.Release()
		}
		return f == nil
	}
	var after *Chain
	for _, secret := range []string{"first", "second"} { // and again before anything was measured
		rotated := providers(up)
		rotated[0].URL += "/v2/" + secret
		after = reload(t, p, fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: rotated}),
			Reloaded{Chains: 1, Added: 1, Removed: 1})
		clock.Advance(handoverTime / 3)
		stale := healthy(before, clock.Now()) // from a worker that has the old file
		after.follow(Posted{Known: true, Snapshot: stale})
		if !served(after) {
			t.Fatalf("after the reload to the %s credential the chain is out", secret)
		}
	}
	after.follow(Posted{Known: true, Snapshot: healthy(before, clock.Now()), Cordons: map[string]Cordon{"up-0": {}}})
	if served(after) {
		t.Error("a cordon holds for the removed upstream too")
	}
	clock.Advance(time.Second)
	after.follow(Posted{Known: true, Snapshot: healthy(after, clock.Now())})
	if len(after.eligible()) != 1 || !served(after) {
		t.Error("once the new one is measured it alone serves")
	}
	// If nothing is measured in time, the removed one is dropped anyway.
	last := providers(up)
	last[0].URL += "/v2/last"
	after = reload(t, p, fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: last}),
		Reloaded{Chains: 1, Added: 1, Removed: 1})
	clock.Advance(handoverTime)
	if len(after.eligible()) != 1 || served(after) {
		t.Error("the removed upstream outlives its time")
	}
	after.endHandover()
	if after.leavingEndpoints() != nil {
		t.Error("the removed upstream is not let go")
	}
}

func TestReload_ChainsComeAndGo(t *testing.T) {
	t.Parallel()
	eth, base := providers(testkit.Upstream(t)), providers(testkit.Upstream(t))
	p, before := poolOf(t, time.Now, eth)
	before.Apply(healthy(before, time.Now()))
	reload(t, p, fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: eth, chain.BaseMainnet: base}),
		Reloaded{Chains: 2, Kept: 1, Added: 1})
	added, ok := p.Chain(chain.BaseMainnet)
	in := expect.In(t, "the added chain")
	require.True(in, ok)
	require.True(in, added.Joined())
	require.False(in, added.Measured())
	added.Apply(healthy(added, time.Now()))
	reload(t, p, fileOf(map[chain.ID][]config.Upstream{chain.BaseMainnet: base}), Reloaded{
		Chains: 1, Kept: 1, Removed: 1,
	})
	if _, ok := p.Chain(chain.EthMainnet); ok || len(p.Chains()) != 1 {
		t.Errorf("chains are %v", p.Chains())
	}
	if _, err := p.Probe(t.Context(), chain.EthMainnet); err == nil ||
		!strings.Contains(err.Error(), ErrNotConfigured.Error()) {
		t.Errorf("probing it says %v", err)
	}
	if kept, _ := p.Chain(chain.BaseMainnet); !kept.Measured() && kept.choice(plan.Public, plan.Balanced, 0) == "none" {
		t.Error("the chain that stayed lost its verdicts")
	}
}

func TestReload_AnotherChainIDForgetsTheHead(t *testing.T) {
	t.Parallel()
	list := providers(testkit.Upstream(t))
	p, before := poolOf(t, time.Now, list)
	before.follow(Posted{Known: true, Snapshot: healthy(before, time.Now())})
	file := fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: list})
	file.Chains["eth_mainnet"] = config.ChainUpstreams{ChainID: 31337, Upstreams: list}
	after := reload(t, p, file, Reloaded{Chains: 1, Added: 1, Removed: 1})
	if head, known := after.Head(); known {
		t.Errorf("the head of the other chain, %d, is still known", head)
	}
}

// A name with a new address or chain id must be probed again.
func TestReload_VerdictHoldsForWhatWasMeasuredNotForTheName(t *testing.T) {
	t.Parallel()
	one := func(address string, id uint64) *Chain {
		p, err := NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{string(chain.EthMainnet): {
			ChainID: id, Upstreams: []config.Upstream{{Name: "a", URL: address, Supply: "public"}},
		}}}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		c, _ := p.Chain(chain.EthMainnet)
		return c
	}
	measured := one("https://node.example/secret-one", 0)
	snapshot := healthy(measured, time.Now())
	for name, c := range map[string]struct {
		chain  *Chain
		usable bool
	}{
		"the same":         {one("https://node.example/secret-one", 0), true},
		"another address":  {one("https://node.example/secret-two", 0), false},
		"another chain id": {one("https://node.example/secret-one", 31337), false},
	} {
		t.Run(name, func(t *testing.T) {
			c.chain.Apply(snapshot)
			if ok := c.chain.choiceFor(request("eth_call"), 0) != "none"; ok != c.usable {
				t.Errorf("chosen is %v", ok)
			}
		})
	}
	if measured.Fingerprint("nobody") != "" || len(measured.Fingerprint("a")) != 16 {
		t.Error("a fingerprint is 16 digits, and none for an unknown name")
	}
}

func TestReload_RefusesOtherDefinitionsOfChains(t *testing.T) {
	t.Parallel()
	gnosis := chain.Definition{ID: "gnosis", Title: "Gnosis", ChainID: 100, BlockTime: 5 * time.Second}
	known, wrong := chain.BuiltIn().With(gnosis)
	require.Empty(t, wrong)
	file := fileOf(map[chain.ID][]config.Upstream{
		chain.EthMainnet: providers(testkit.Upstream(t)), "gnosis": providers(testkit.Upstream(t)),
	})
	file.Known = known
	p, err := NewPool(file, time.Now)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	expect.Len(t, p.Chains(), 2)

	gnosis.BlockTime = time.Second
	file.Known, _ = chain.BuiltIn().With(gnosis)
	_, err = p.Reload(file)
	require.Error(t, err)
	expect.Contains(t, err.Error(), "restart")
	_, err = p.Reload(fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: providers(testkit.Upstream(t))}))
	expect.Error(t, err)
	file.Known, _ = chain.BuiltIn().With(chain.Definition{
		ID: "gnosis", Title: "Gnosis", ChainID: 100, BlockTime: 5 * time.Second,
	})
	_, err = p.Reload(file)
	expect.NoError(t, err, "the same definitions")
}
