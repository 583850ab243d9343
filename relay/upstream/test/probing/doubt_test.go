package probing

import (
	"fmt"
	"testing"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

// silence makes nodes refuse to report their head, or report it again.
func (n *network) silence(silent bool, nodes ...*node) {
	for _, u := range nodes {
		reply := testkit.ResultOf(func(testkit.Request) any { return fmt.Sprintf("0x%x", u.claims()) })
		if silent {
			reply = testkit.Reset()
		}
		u.On("eth_blockNumber", reply)
	}
}

// recovers runs rounds until the wrong head must be corrected and all upstreams but the liar are
// usable again.
func (n *network) recovers(liar int) {
	n.Helper()
	n.chain.Apply(n.last)
	told, _ := n.chain.Head()
	wrong, generation := n.last.Head, n.last.Generation
	for range roundsOfDoubt + 1 {
		n.chain.Apply(n.round())
	}
	honest := trueHead(n.clock.Now())
	head, known := n.chain.CorroboratedHead()
	if !known || head != honest || !n.last.HeadKnown {
		n.Errorf("the head is %d off (%v)", int64(head)-int64(honest), known) //nolint:gosec // small
	}
	for i, u := range n.last.Upstreams {
		if i != liar && !u.Usable {
			n.Errorf("honest upstream %d is not usable: %s", i, u.Reason)
		}
	}
	if wrong > honest && n.chain.Generation() <= generation {
		n.Error("what was stored by the wrong head is still served")
	}
	if now, _ := n.chain.Head(); now != max(told, honest) && (wrong <= honest || now != honest) {
		n.Errorf("clients are told %d after %d, and the chain is at %d", now, told, honest)
	}
	n.round()
	if n.last.Generation != n.chain.Generation() {
		n.Error("the generation is raised again and again")
	}
}

func TestHead_WrongOneThatSeveralUpstreamsContradictGoesAway(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(n *network) (liar int){
		"only the liar answered in the beginning": func(n *network) int {
			n.silence(true, n.nodes[1:]...)
			n.nodes[0].set(func(u *node) { u.lead, u.forges = 1_000_000, true })
			for range roundsAlone {
				n.round()
			}
			n.silence(false, n.nodes[1:]...)
			return 0
		},
		"two were wrong in the first round": func(n *network) int {
			for _, u := range n.nodes[:2] {
				u.set(func(u *node) { u.lead, u.forges = 1_000_000, true })
			}
			n.round()
			for _, u := range n.nodes[:2] {
				u.set(func(u *node) { u.lead, u.forges = 0, false })
			}
			return -1
		},
		"two were wrong in one round": func(n *network) int {
			n.round()
			for _, u := range n.nodes[:2] {
				u.set(func(u *node) { u.lead, u.forges = 1_000_000, true })
			}
			n.round()
			for _, u := range n.nodes[:2] {
				u.set(func(u *node) { u.lead, u.forges = 0, false })
			}
			return -1
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 3)
			liar := tell(n)
			if n.last.Head <= trueHead(n.clock.Now()) {
				t.Fatalf("the head is %d: nothing was to be mended", n.last.Head)
			}
			n.restart(true) // doubts survive a restart of the worker
			n.recovers(liar)
		})
	}
}

func TestHead_OnlyUpstreamWrongFromTheFirstRoundIsBelievedAgain(t *testing.T) {
	t.Parallel()
	for _, lie := range lies {
		t.Run(lie.name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 1)
			for round := range 4 {
				n.nodes[0].set(func(u *node) { lie.tell(u, round) })
				n.chain.Apply(n.round())
			}
			n.nodes[0].set(func(u *node) { u.lead, u.forges = 0, false })
			n.recovers(-1)
		})
	}
}

func TestHead_GoesDownOnNobodysWordAlone(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{2, 3} {
		for _, forges := range []bool{false, true} {
			n := newNetwork(t, nodes)
			begun := n.round().Generation
			n.nodes[0].set(func(u *node) { u.lead, u.forges = -900_000, forges })
			for round := range 2 * roundsOfDoubt {
				if round == roundsOfDoubt { // from now on it is the only one that answers
					n.silence(true, n.nodes[1:]...)
				}
				before := n.last.Head
				if s := n.round(); s.Head < before || s.Generation != begun {
					t.Fatalf("of %d, forging %v, round %d: the head went from %d to %d", nodes, forges, round, before,
						s.Head)
				}
				for i, u := range n.last.Upstreams[1:] {
					if round < roundsOfDoubt && !u.Usable {
						t.Errorf("of %d, forging %v, round %d: honest upstream %d is %s", nodes, forges, round, i+1,
							u.Reason)
					}
				}
			}
		}
	}
}

func TestHead_FirstWordOfOneOfSeveralIsNotBelievedAtOnce(t *testing.T) {
	t.Parallel()
	for lead, rounds := range map[int64]int{0: roundsAlone, 1_000_000: roundsOfDoubt} { // the second has no block
		n := newNetwork(t, 2)
		n.silence(true, n.nodes[1])
		n.nodes[0].set(func(u *node) { u.lead = lead })
		for round := range rounds {
			if n.last.HeadKnown || n.last.Head != 0 {
				t.Fatalf("%d ahead, round %d: the head is %d", lead, round, n.last.Head)
			}
			if s := n.round(); !s.Upstreams[0].Usable {
				t.Errorf("%d ahead, round %d: it is %s", lead, round, s.Upstreams[0].Reason)
			}
		}
		if !n.last.HeadKnown || n.last.Head != n.nodes[0].claims() {
			t.Errorf("%d ahead: after %d rounds the head is %d (%v)", lead, rounds, n.last.Head, n.last.HeadKnown)
		}
	}
}

func TestHead_TwoOfThreeThatInventANumberAreFoundByTheirBlocks(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 3} {
		n := newNetwork(t, 3)
		for range before {
			n.round()
		}
		for _, u := range n.nodes[:2] {
			u.set(func(u *node) { u.lead = 1_000_000 })
		}
		s := n.round()
		in := expect.In(t, "after %d", before)
		expect.Equal(in, s.Head, trueHead(n.clock.Now()))
		expect.True(in, s.Upstreams[2].Usable)
		expect.Equal(in, s.Upstreams[0].Reason, upstream.ReasonAhead)
	}
}

// The board may hold another chain id: what the first chain's rounds found must not count for the
// second.
func TestHead_SnapshotOfAnotherChainIDIsNotBelieved(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	for _, u := range n.nodes {
		u.set(func(u *node) { u.lead = 1_000_000 })
	}
	n.round()
	old := upstream.Posted{Known: true, Snapshot: n.last, Cordons: map[string]upstream.Cordon{"up-1": {}}}
	file := config.Upstreams{Chains: map[string]config.ChainUpstreams{
		string(chain.EthMainnet): {
			ChainID: 31337, Upstreams: upstreamtest.Providers(n.nodes[0].UpstreamServer, n.nodes[1].UpstreamServer),
		},
	}}
	if _, err := n.pool.Reload(file); err != nil {
		t.Fatal(err)
	}
	n.chain, _ = n.pool.Chain(chain.EthMainnet)
	ctx, board := t.Context(), upstreamtest.NewBoard(t)
	require.NoError(t, board.Cordon(ctx, chain.EthMainnet, "up-1", upstream.Cordon{}))
	require.NoError(t, board.Publish(ctx, old.Snapshot))
	upstreamtest.WatchBoard(t, board, n.pool)
	testkit.Eventually(t, upstreamtest.Timeout, func() bool { return n.chain.Generation() == old.Snapshot.Generation },
		"the generation holds for the name")
	if head, known := n.chain.Head(); known || n.chain.Measured() {
		t.Errorf("the other chain's head, %d, is known", head)
	}
	old.Cordons = nil
	n.pool.Recall(chain.EthMainnet, old)
	for _, u := range n.nodes {
		u.On("eth_chainId", testkit.Result("0x7a69"))
		u.set(func(u *node) { u.lead = 0 })
	}
	s := n.round()
	expect.Equal(t, s.Head, trueHead(n.clock.Now()))
	expect.True(t, s.Upstreams[0].Usable)
	expect.True(t, s.Upstreams[1].Usable)
	expect.AtLeast(t, s.Generation, old.Snapshot.Generation)
	require.NoError(t, board.Publish(ctx, s))
	testkit.Eventually(t, upstreamtest.Timeout, n.chain.Measured, "its own snapshot is in force")
	expect.Equal(t, n.chain.Condition().Usable, 1) // the cordon holds for the name
	if head, known := n.chain.Head(); !known || head != s.Head {
		t.Errorf("its own snapshot gives %d (%v)", head, known)
	}
}
