package upstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/plan"
)

// lies are what one upstream may say beside honest ones.
var lies = []struct {
	name string
	tell func(n *node, round int)
}{
	{"a million blocks ahead", func(n *node, _ int) { n.lead = 1_000_000 }},
	{"a little ahead", func(n *node, _ int) { n.lead = 9 }},
	{"further ahead each round", func(n *node, round int) { n.lead = int64(20 * (round + 1)) }},
	{"jumping ahead and back", func(n *node, round int) { n.lead = []int64{1_000_000, -50_000, 40, -40}[round%4] }},
	{"standing still", func(n *node, round int) { n.lead = -int64(round + 10) }},
	{"far behind", func(n *node, _ int) { n.lead = -900_000 }},
	{"ahead with blocks made up", func(n *node, _ int) { n.lead, n.forges = 1_000_000, true }},
}

func TestOneUpstreamThatLiesNeitherMovesTheHeadNorExcludesAnHonestOne(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3, 5} {
		for _, lie := range lies {
			for _, from := range []int{0, 4} { // from the first round on, or later
				if nodes == 1 && from == 0 {
					continue // with nobody to compare it with, and nothing remembered, its word is all there is
				}
				for liar := range nodes {
					if nodes == 5 && liar%4 != 0 {
						continue // the first and the last one will do
					}
					t.Run(fmt.Sprintf("%d upstreams, number %d is %s from round %d", nodes, liar, lie.name, from), func(t *testing.T) {
						t.Parallel()
						n := newNetwork(t, nodes)
						for round := range 10 {
							if round >= from {
								n.nodes[liar].set(func(u *node) { lie.tell(u, round-from) })
							}
							n.holds(n.round(), liar, round)
						}
					})
				}
			}
		}
	}
}

// holds checks a round in which one upstream may lie.
func (n *network) holds(s Snapshot, liar, round int) {
	n.Helper()
	honest := trueHead(n.clock.Now())
	before := n.chain.heads.known[Latest].Load()
	n.chain.Apply(s)
	head, _ := n.chain.Head()
	switch {
	case head > honest+minLagBlocks && len(n.nodes) > 1:
		n.Errorf("round %d: the head is %d ahead of every honest upstream", round, head-honest)
	case head > honest+2*headSlack:
		n.Errorf("round %d: the head moved %d ahead", round, head-honest)
	case len(n.nodes) > 1 && head+minLagBlocks < honest:
		n.Errorf("round %d: the head stays %d behind", round, honest-head)
	case head < before:
		n.Errorf("round %d: the head went back to %d", round, head)
	}
	for i, u := range s.Upstreams {
		if i != liar && !u.Usable {
			n.Errorf("round %d: honest upstream %d is not usable: %s", round, i, u.Reason)
		}
	}
}

func TestAnUpstreamFarOffIsNotUsable(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3, 5} {
		for lead, want := range map[int64]string{1_000_000: ReasonAhead, -50_000: ReasonLagging} {
			n := newNetwork(t, nodes)
			n.round()
			n.nodes[0].set(func(u *node) { u.lead = lead })
			if got := n.round().Upstreams[0]; got.Usable || got.Reason != want {
				t.Errorf("one of %d that is off by %d: usable %v, %q, want %q", nodes, lead, got.Usable, got.Reason, want)
			}
		}
	}
}

func TestAnUpstreamOfAnotherChainHasNoSay(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3, 5} {
		n := newNetwork(t, nodes)
		n.nodes[0].On("eth_chainId", testkit.Result("0x5"))
		n.nodes[0].set(func(u *node) { u.lead, u.forges = 1_000_000, true })
		for round := range 8 {
			s := n.round()
			n.chain.Apply(s)
			if u := s.Upstreams[0]; u.Usable || u.ChainIDOK || u.Reason != ReasonWrongChain {
				t.Fatalf("of %d, round %d: it is %+v", nodes, round, u)
			}
			if head, known := n.chain.Head(); known != (nodes > 1) || (known && head != trueHead(n.clock.Now())) {
				t.Fatalf("of %d, round %d: head %d (%v)", nodes, round, head, known)
			}
			if nodes == 1 {
				if got := n.chain.choice(plan.Public, plan.Balanced, 0); got != "none" {
					t.Fatal("it is chosen")
				}
			}
		}
	}
}

// A worker that starts with an empty board has two upstreams, one of which lies: the times of their blocks tell which.
func TestWithoutMemoryTheTimesOfBlocksTellWhoLies(t *testing.T) {
	t.Parallel()
	for _, lead := range []int64{1_000_000, 300, -300, -900_000} {
		for liar := range 2 {
			n := newNetwork(t, 2)
			n.nodes[liar].set(func(u *node) { u.lead = lead })
			s := n.round()
			if s.Head != trueHead(n.clock.Now()) || !s.Upstreams[1-liar].Usable || s.Upstreams[liar].Usable {
				t.Errorf("off by %d: head is %d off, upstreams %+v", lead, int64(s.Head)-int64(trueHead(n.clock.Now())), s.Upstreams) //nolint:gosec // small
			}
		}
	}
}

// When even the times are made up there is no telling: the lower head is the safe one, and nobody is excluded on anybody's word.
func TestWithoutMemoryAndWithBlocksMadeUpNobodyIsExcluded(t *testing.T) {
	t.Parallel()
	for _, lead := range []int64{1_000_000, -900_000} {
		n := newNetwork(t, 2)
		n.nodes[0].set(func(u *node) { u.lead, u.forges = lead, true })
		for range 3 {
			s := n.round()
			if s.Head > trueHead(n.clock.Now()) || !s.Upstreams[0].Usable && lead < 0 || !s.Upstreams[1].Usable {
				t.Errorf("off by %d: head %d, upstreams %+v", lead, s.Head, s.Upstreams)
			}
		}
	}
}

func TestARestartOfTheWorkerForgetsNothing(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.round()
	n.nodes[0].set(func(u *node) { u.lead, u.forges = 1_000_000, true })
	n.nodes[1].Forget()
	n.restart(true)
	s := n.round()
	if honest := trueHead(n.clock.Now()); s.Head != honest {
		t.Errorf("after the restart the head is %d ahead", s.Head-honest)
	}
	for _, method := range []string{"eth_chainId", "debug_traceCall", "trace_call"} {
		if n.nodes[1].Count(method) != 0 {
			t.Errorf("%s was asked again after the restart", method)
		}
	}
}

func TestTwoThatAgreeAreBelievedHoweverFarTheChainCame(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.round()
	for _, u := range n.nodes {
		u.set(func(u *node) { u.lead = 5000 }) // the chain stood still and caught up
	}
	if s := n.round(); s.Head != trueHead(n.clock.Now())+5000 || !s.Upstreams[0].Usable || !s.Upstreams[1].Usable {
		t.Errorf("head %d, upstreams %+v", s.Head, s.Upstreams)
	}
}

func TestOneUpstreamCannotLeadTheHeadAwayStepByStep(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	n.round()
	for round := range 50 {
		n.nodes[0].set(func(u *node) { u.lead = int64(50 * (round + 1)) })
		n.round()
	}
	if ahead := n.last.Head - trueHead(n.clock.Now()); ahead > headSlack+50 {
		t.Errorf("by steps of fifty the head was led %d ahead", ahead)
	}
}

func TestACordonedUpstreamHasNoSayInTheHead(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	n.pool.Recall(chain.EthMainnet, Posted{Cordons: map[string]Cordon{"up-0": {}, "up-1": {}}})
	for _, u := range n.nodes[:2] {
		u.set(func(u *node) { u.lead, u.forges = 1_000_000, true })
	}
	if s := n.round(); s.Head != trueHead(n.clock.Now()) || !s.HeadKnown || !s.Upstreams[2].Usable {
		t.Errorf("head %d, upstreams %+v", s.Head, s.Upstreams)
	}
}

func TestSolanaUpstreamsAreComparedByTheTimesOfTheirSlots(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(noon)
	honest, liar := testkit.Upstream(t), testkit.Upstream(t)
	for u, slot := range map[*testkit.UpstreamServer]int{honest: 300_000_000, liar: 301_000_000} {
		u.On("getGenesisHash", testkit.Result(solanaMainnetGen))
		u.On("getSlot", testkit.Result(slot))
	}
	honest.On("getBlockTime", testkit.Result(noon.Add(-13*time.Second).Unix()))
	liar.On("getBlockTime", testkit.Error(-32009, "slot was skipped"))
	p, _ := poolOf(t, chain.SolanaMainnet, clock.Now, providers(liar, honest))
	if s := probe(t, p, chain.SolanaMainnet); s.Head != 300_000_000 || s.Upstreams[0].Usable || !s.Upstreams[1].Usable {
		t.Errorf("head %d, upstreams %+v", s.Head, s.Upstreams)
	}
}
