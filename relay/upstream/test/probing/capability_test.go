package probing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

// findings returns verdicts measured now.
func findings(able map[chain.Capability]bool) map[chain.Capability]upstream.Verdict {
	now := time.Now()
	all := make(map[chain.Capability]upstream.Verdict)
	for of, can := range able {
		all[of] = upstream.Verdict{Able: can, MeasuredAt: now, AskedAt: now}
	}
	return all
}

func TestCapability_MethodGoesToAnUpstreamThatHasIt(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	s := upstreamtest.Healthy(c, time.Now())
	s.Upstreams[0].Capabilities = findings(map[chain.Capability]bool{chain.Debug: false, chain.Trace: true})
	s.Upstreams[1].Capabilities = findings(map[chain.Capability]bool{chain.Debug: true, chain.Trace: false})
	c.Apply(s)
	read := func(method string, needs chain.Capability) {
		t.Helper()
		r := upstreamtest.Call(method)
		r.Needs = needs
		answer, f := c.Read(upstreamtest.Context(t), r)
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	for range 3 {
		read("debug_traceCall", chain.Debug)
		read("trace_block", chain.Trace)
		read("eth_call", chain.Plain)
		read("arbtrace_block", chain.ArbTrace) // no upstream was measured for it
	}
	for _, want := range []struct {
		upstreams []*testkit.UpstreamServer
		method    string
		calls     int
	}{
		{[]*testkit.UpstreamServer{first}, "debug_traceCall", 0},
		{[]*testkit.UpstreamServer{second}, "debug_traceCall", 3},
		{[]*testkit.UpstreamServer{first}, "trace_block", 3},
		{[]*testkit.UpstreamServer{first, second}, "eth_call", 3},
		{[]*testkit.UpstreamServer{first, second}, "arbtrace_block", 3},
	} {
		t.Run(want.method, func(t *testing.T) {
			n := 0
			for _, u := range want.upstreams {
				n += u.Count(want.method)
			}
			if n != want.calls {
				t.Errorf("%d calls, want %d", n, want.calls)
			}
		})
	}
	// If no upstream is known to be able, one is asked anyway: the probe may be out of date.
	s.Upstreams[1].Capabilities = findings(map[chain.Capability]bool{chain.Debug: false})
	c.Apply(s)
	read("debug_traceCall", chain.Debug)
}

func TestCapability_IsMeasuredWhereItExists(t *testing.T) {
	t.Parallel()
	const head = 200_000_000
	evm := []string{
		"debug_traceCall", "trace_call", "eth_simulateV1", "txpool_status", "alchemy_getTokenBalances",
		"alchemy_getAssetTransfers",
	}
	for id, want := range map[chain.ID]struct {
		methods []string
		state   []string // the heights at which state is read
	}{
		chain.EthMainnet: {evm, []string{"0x1", fmt.Sprintf("0x%x", head-128)}},
		chain.ArbitrumOne: {
			append(slices.Clone(evm), "arbtrace_call"), []string{"0x152dd4a", fmt.Sprintf("0x%x", head-128)},
		},
		chain.OptimismMainnet: {evm, []string{"0x645c278", fmt.Sprintf("0x%x", head-128)}},
		chain.PolygonPoS: {
			append(slices.Clone(evm), "bor_getCurrentProposer"), []string{"0x1", fmt.Sprintf("0x%x", head-128)},
		},
		chain.SolanaMainnet: {[]string{"getFirstAvailableBlock", "getTokenAccountsByOwner"}, nil},
	} {
		t.Run(string(id), func(t *testing.T) {
			u := testkit.Upstream(t)
			known, _ := chain.BuiltIn().Lookup(string(id))
			u.On("eth_chainId", testkit.Result(fmt.Sprintf("0x%x", known.ChainID)))
			u.On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", head)))
			u.On("getGenesisHash", testkit.Result(solanaGenesis))
			u.On("getSlot", testkit.Result(head))
			p, _ := upstreamtest.NewChain(t, id, time.Now, upstreamtest.Providers(u))
			probe(t, p, id)
			var methods, heights []string
			for _, r := range u.Requests() {
				switch r.Method {
				case "eth_chainId", "eth_blockNumber", "getGenesisHash", "getSlot", "eth_getBlockByNumber":
				case "eth_getBalance":
					var params []string
					if err := json.Unmarshal(r.Params, &params); err != nil {
						t.Fatal(err)
					}
					heights = append(heights, params[1])
				default:
					methods = append(methods, r.Method)
				}
			}
			slices.Sort(methods)
			slices.Sort(want.methods)
			if !slices.Equal(methods, want.methods) || !slices.Equal(heights, want.state) {
				t.Errorf("%s was asked for %v and for state at %v, want %v and %v", id, methods, heights, want.methods,
					want.state)
			}
		})
	}
}

func TestCapability_DepthOfStateIsMeasured(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	n.nodes[0].On("eth_getBalance", testkit.Error(-32000, "missing trie node"))
	n.nodes[0].NextOf("eth_getBalance", testkit.Error(-32000, "missing trie node"), testkit.Result("0x0"))
	s := n.round().Upstreams[0]
	archive, known := s.Capable(chain.Archive, n.clock.Now())
	recent, knownToo := s.Capable(recentBlocks, n.clock.Now())
	expect.False(t, archive)
	require.True(t, recent)
	require.True(t, known)
	expect.True(t, knownToo)
}

func TestCapability_SolanaHistoryIsCompleteOnlyFromTheFirstEpoch(t *testing.T) {
	t.Parallel()
	for first, want := range map[int]bool{0: true, 431_999: true, 432_000: false, 250_000_000: false} {
		t.Run(strconv.Itoa(first), func(t *testing.T) {
			u := testkit.Upstream(t)
			u.On("getGenesisHash", testkit.Result(solanaGenesis))
			u.On("getSlot", testkit.Result(300_000_000))
			u.On("getFirstAvailableBlock", testkit.Result(first))
			u.On("getTokenAccountsByOwner", testkit.Error(-32601, "method not found"))
			p, _ := upstreamtest.NewChain(t, chain.SolanaMainnet, time.Now, upstreamtest.Providers(u))
			s := probe(t, p, chain.SolanaMainnet).Upstreams[0]
			if got, known := s.Capable(chain.History, time.Now()); !known || got != want {
				t.Errorf("history from slot %d on: %v (%v)", first, got, known)
			}
			if got, known := s.Capable(chain.Data, time.Now()); !known || got {
				t.Errorf("data without its method: %v (%v)", got, known)
			}
		})
	}
}

func TestCapability_VerdictsAreRepeatedAndExpire(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	u := n.nodes[0]
	u.On("debug_traceCall", testkit.Result("0x"))
	able := func() (able, known bool) {
		s := n.round().Upstreams[0]
		return s.Capable(chain.Debug, n.clock.Now())
	}
	if able, known := able(); !able || !known {
		t.Fatal("it is capable")
	}
	// No answer is no verdict: the last one stays, for a while.
	u.On("debug_traceCall", testkit.TooMany(time.Second))
	u.Forget()
	for range 3 {
		n.clock.Advance(capabilityPause)
		if able, known := able(); !able || !known {
			t.Fatal("the last verdict is to stay while there is no other")
		}
	}
	if u.Count("debug_traceCall") != 3 {
		t.Errorf("asked %d times", u.Count("debug_traceCall"))
	}
	n.clock.Advance(capabilityPause)
	if _, known := able(); known {
		t.Error("a verdict that old is to count as unknown")
	}
	u.On("debug_traceCall", testkit.Error(-32601, "method not found"))
	n.clock.Advance(capabilityPause)
	if able, known := able(); able || !known {
		t.Error("it is not capable any more")
	}
}

func TestCapability_HangingOneTakesNoTimeOfTheOthers(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	u := n.nodes[0]
	u.On("trace_call", testkit.Result("0x"))
	u.On("eth_getBalance", testkit.Result("0x0"))
	u.On("debug_traceCall", testkit.Hang(nil)) // the first capability that is probed
	s := n.round().Upstreams[0]
	if _, known := s.Capable(chain.Debug, n.clock.Now()); known || !s.Usable {
		t.Errorf("it hangs, and debug is known (%v); usable: %v", known, s.Usable)
	}
	if able, known := s.Capable(chain.Trace, n.clock.Now()); !able || !known {
		t.Errorf("the one after it: %v (%v)", able, known)
	}
	s = n.round().Upstreams[0] // a slow machine may need a second round
	for of, want := range map[chain.Capability]bool{
		chain.Simulate: false, chain.Archive: true, recentBlocks: true, chain.Data: false,
	} {
		t.Run(string(of), func(t *testing.T) {
			if able, known := s.Capable(of, n.clock.Now()); !known || able != want {
				t.Errorf("%s: %v (%v), want %v", of, able, known, want)
			}
		})
	}
}

func TestCapability_HangingOnesLeaveTheNextRoundsToTheOthers(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	u := n.nodes[0]
	for _, method := range []string{"debug_traceCall", "trace_call", "eth_simulateV1"} {
		u.On(method, testkit.Hang(nil))
	}
	u.On("eth_getBalance", testkit.Result("0x0"))
	n.round() // has no time for all three
	n.round()
	s := n.round().Upstreams[0]
	for _, of := range []chain.Capability{chain.Archive, recentBlocks, chain.Data} {
		if _, known := s.Capable(of, n.clock.Now()); !known {
			t.Errorf("%s is not known after three rounds", of)
		}
	}
	for _, method := range []string{"debug_traceCall", "trace_call", "eth_simulateV1"} {
		if asked := u.Count(method); asked != 1 {
			t.Errorf("%s was asked %d times", method, asked)
		}
	}
}

func TestCapability_WithoutAVerdictIsAskedForEverMoreRarely(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	u := n.nodes[0]
	u.On("debug_traceCall", testkit.TooMany(time.Second))
	n.round()
	for i, minutes := range []int{1, 2, 4, 8, 16, 30, 30} {
		pause := time.Duration(minutes) * time.Minute
		n.clock.Advance(pause - 2*blockTime)
		n.round()
		if asked := u.Count("debug_traceCall"); asked != i+1 {
			t.Fatalf("asked %d times before the pause of %s was over, want %d", asked, pause, i+1)
		}
		n.restart(true) // pauses survive a restart of the worker
		n.round()
		if asked := u.Count("debug_traceCall"); asked != i+2 {
			t.Fatalf("asked %d times when the pause of %s was over, want %d", asked, pause, i+2)
		}
	}
	u.On("debug_traceCall", testkit.Result("0x"))
	n.clock.Advance(capabilityPause)
	if able, known := n.round().Upstreams[0].Capable(chain.Debug, n.clock.Now()); !able || !known {
		t.Errorf("it answered: %v (%v)", able, known)
	}
	u.On("debug_traceCall", testkit.TooMany(time.Second))
	n.clock.Advance(capabilityPause)
	n.round()
	before := u.Count("debug_traceCall")
	n.clock.Advance(unclearRetry)
	if n.round(); u.Count("debug_traceCall") != before+1 {
		t.Error("after a verdict the pauses are to begin anew")
	}
}

func TestCapability_ExpiredVerdictSendsNobodyElsewhere(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	s := upstreamtest.Healthy(c, time.Now())
	old := upstream.Verdict{MeasuredAt: time.Now().Add(-verdictExpiry)}
	s.Upstreams[0].Capabilities = map[chain.Capability]upstream.Verdict{chain.Debug: old}
	c.Apply(s)
	r := upstreamtest.Call("debug_traceCall")
	r.Needs = chain.Debug
	answer, f := c.Read(upstreamtest.Context(t), r)
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	if first.Count("debug_traceCall") != 1 || second.Total() != 0 {
		t.Error("an upstream whose verdict is too old was passed over")
	}
}

func TestCapability_DeepStateReadsGoToAnArchive(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	s := upstreamtest.Healthy(c, time.Now())
	s.Upstreams[0].Capabilities = findings(map[chain.Capability]bool{chain.Archive: false})
	s.Upstreams[1].Capabilities = findings(map[chain.Capability]bool{chain.Archive: true})
	c.Apply(s)
	m, _ := c.Method([]byte("eth_getBalance"))
	for class, up := range map[chain.Class]*testkit.UpstreamServer{chain.Heavy: second, chain.Standard: first} {
		r := upstreamtest.Call("eth_getBalance")
		r.Needs = m.NeedsFor(class)
		answer, f := c.Read(upstreamtest.Context(t), r)
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
		if up.Count("eth_getBalance") != 1 {
			t.Errorf("a %s read went elsewhere", class)
		}
	}
}
