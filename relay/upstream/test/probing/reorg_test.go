package probing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

func TestReorg_GenerationNeverGoesDown(t *testing.T) {
	t.Parallel()
	_, c := upstreamtest.NewChain(t, chain.EthMainnet, testkit.NewClock(upstreamtest.Noon).Now,
		[]config.Upstream{{Name: "up-0", URL: "http://127.0.0.1:1", Supply: "public"}})
	for _, step := range []struct{ published, want uint64 }{{0, 0}, {7, 7}, {3, 7}, {8, 8}} {
		s := upstreamtest.Healthy(c, upstreamtest.Noon)
		s.Generation = step.published
		c.Apply(s)
		if got := c.Generation(); got != step.want {
			t.Errorf("after %d was published it is %d, want %d", step.published, got, step.want)
		}
	}
}

// settled is the number of rounds after which a reorg has been noticed.
const settled = 10

// reorganise makes nodes follow another branch from depth blocks below the head.
func (n *network) reorganise(depth uint64, nodes ...*node) {
	fork := trueHead(n.clock.Now()) - depth
	for _, u := range nodes {
		u.set(func(u *node) { u.fork, u.branch = fork, "b" })
	}
}

func (n *network) rounds(count int) (generation uint64) {
	n.Helper()
	for range count {
		n.round()
	}
	return n.last.Generation
}

func TestReorg_DeeperThanFinalRaisesTheGenerationOnce(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3, 5} {
		for before := range 5 { // whatever step of checkPast it coincides with
			n := newNetwork(t, nodes)
			begun := n.rounds(1)
			if got := n.rounds(19 + before); got != begun || begun == 0 {
				t.Fatalf("%d upstreams: generation %d and then %d without a reorganisation", nodes, begun, got)
			}
			n.reorganise(chain.FinalDepth+8, n.nodes...) // three rounds are three blocks
			first := n.rounds(settled)
			if first <= begun || n.chain.Generation() != first {
				t.Errorf("%d upstreams, after %d rounds: the generation is %d, %d in the process", nodes, 20+before,
					first, n.chain.Generation())
			}
			if again := n.rounds(settled); again != first {
				t.Errorf("%d upstreams: one reorganisation raised the generation to %d and then to %d", nodes, first,
					again)
			}
			for _, u := range n.nodes {
				u.set(func(u *node) { u.branch = "c" })
			}
			if second := n.rounds(settled); second <= first {
				t.Errorf("%d upstreams: a second one left the generation at %d", nodes, second)
			}
		}
	}
}

func TestReorg_AboveFinalChangesNothing(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	begun := n.rounds(12)
	n.reorganise(chain.FinalDepth, n.nodes...)
	if got := n.rounds(2 * settled); got != begun {
		t.Errorf("the generation is %d", got)
	}
}

func TestReorg_OneUpstreamWithAnotherPastRaisesNothing(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{2, 3, 5} {
		for liar := range nodes {
			n := newNetwork(t, nodes)
			begun := n.rounds(12 + liar%2)
			n.reorganise(200, n.nodes[liar])
			for round := range 24 {
				n.nodes[liar].set(func(u *node) { u.branch = fmt.Sprint("lie", round/5) }) // alternating lies
				if got := n.rounds(1); got != begun {
					t.Fatalf("upstream %d of %d alone raised the generation to %d", liar, nodes, got)
				}
			}
			// Nor does it keep the others from being believed.
			if nodes > 2 {
				n.reorganise(300, n.nodes...)
				if n.rounds(3*settled) == begun {
					t.Errorf("a reorganisation beside the liar %d of %d is not noticed", liar, nodes)
				}
			}
		}
	}
}

func TestReorg_OneUpstreamAloneRaisesNothingWhileOthersAreSilent(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	begun := n.rounds(12)
	n.silence(true, n.nodes[1])
	n.reorganise(200, n.nodes[0])
	if got := n.rounds(settled); got != begun {
		t.Errorf("one of two raised the generation to %d while the other was silent", got)
	}
	for _, kept := range n.last.Checkpoints {
		if kept.Confirmed && kept.By == "up-0" && kept.Hash[:3] == "0xb" {
			t.Errorf("its word alone confirmed %+v", kept)
		}
	}
	n.silence(false, n.nodes[1])
	if got := n.rounds(settled); got != begun {
		t.Errorf("it raised the generation to %d once the other contradicted it", got)
	}
	n.reorganise(300, n.nodes...)
	if got := n.rounds(3 * settled); got <= begun {
		t.Error("what both say is not heard any more")
	}
}

func TestReorg_WhileNoWorkerRanIsNoticed(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	begun := n.rounds(12)
	n.reorganise(200, n.nodes...)
	n.restart(true)
	raised := n.rounds(settled)
	if raised <= begun {
		t.Fatal("the generation was not raised")
	}
	n.restart(true)
	if got := n.rounds(settled); got != raised {
		t.Errorf("after another restart the generation is %d, was %d", got, raised)
	}
}

func TestReorg_ChecksCostOneCallARound(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	n.rounds(6)
	for _, u := range n.nodes {
		u.Forget()
	}
	n.rounds(9)
	total := 0
	for i, u := range n.nodes {
		asked := 0
		for _, r := range u.Requests() {
			if strings.HasPrefix(string(r.Params), `["0x`) { // not by a tag
				asked++
			}
		}
		if asked == 0 {
			t.Errorf("upstream %d was never asked", i)
		}
		total += asked
	}
	if total > 9 {
		t.Errorf("nine rounds asked %d times", total)
	}
	if len(n.last.Checkpoints) == 0 || len(n.last.Checkpoints) > 3 {
		t.Errorf("%d checkpoints are remembered", len(n.last.Checkpoints))
	}
}

// Two workers share the rounds of a chain. The later one must not undo what the other found.
func TestReorg_TwoWorkersShareCheckpointsOnTheBoard(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: testkit.Redis(t).Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	board := upstream.NewBoard(rdb)
	n := newNetwork(t, 2)
	first := n.pool
	n.restart(false)
	workers := []*upstream.Pool{first, n.pool}
	shared := func(round int) upstream.Snapshot {
		t.Helper()
		posted, err := board.Read(t.Context(), chain.EthMainnet)
		if err != nil {
			t.Fatal(err)
		}
		n.clock.Advance(blockTime)
		w := workers[round%2]
		w.Recall(chain.EthMainnet, posted)
		s := probe(t, w, chain.EthMainnet)
		if err := board.Publish(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	begun := shared(0).Generation
	for round := range 10 {
		if s := shared(round + 1); s.Generation != begun {
			t.Fatalf("generation %d before any reorganisation, was %d", s.Generation, begun)
		}
	}
	stale, err := board.Read(t.Context(), chain.EthMainnet)
	if err != nil {
		t.Fatal(err)
	}
	n.reorganise(200, n.nodes...)
	for round := range settled {
		shared(round)
	}
	raised, err := board.Read(t.Context(), chain.EthMainnet)
	if err != nil || raised.Snapshot.Generation <= begun {
		t.Fatalf("the board has generation %d, %v", raised.Snapshot.Generation, err)
	}
	if err := board.Publish(t.Context(), stale.Snapshot); err != nil { // a round that took too long
		t.Fatal(err)
	}
	if err := board.Forget(t.Context(), chain.BuiltIn().All()...); err != nil {
		t.Fatal(err)
	}
	after, err := board.Read(t.Context(), chain.EthMainnet)
	in := expect.In(t, "after a late round and a forgotten snapshot")
	require.NoError(in, err)
	expect.False(in, after.Known)
	expect.Greater(in, after.Snapshot.Generation, raised.Snapshot.Generation)
}

// Redis may lose the board but not the cached answers, which are stored elsewhere.
func TestReorg_LostBoardBeginsAnotherGeneration(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	before := n.rounds(3)
	n.restart(false)
	if after := n.rounds(1); after <= before {
		t.Errorf("generation %d after %d", after, before)
	}
}
