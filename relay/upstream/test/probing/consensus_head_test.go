package probing

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

// lies are the ways in which one upstream may lie next to honest ones.
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

func TestHead_OneLiarNeitherMovesItNorExcludesAnHonestUpstream(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{2, 3, 5} {
		for _, lie := range lies {
			for _, from := range []int{0, 4} { // from the first round on, or later
				for liar := range nodes {
					t.Run(fmt.Sprintf("%d upstreams, number %d is %s from round %d", nodes, liar, lie.name, from),
						func(t *testing.T) {
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

// holds checks a round in which one of several upstreams may lie.
func (n *network) holds(s upstream.Snapshot, liar, round int) {
	n.Helper()
	honest := trueHead(n.clock.Now())
	before, _ := n.chain.Head()
	n.chain.Apply(s)
	head, _ := n.chain.Head()
	switch {
	case head > honest+tolerated:
		n.Errorf("round %d: the head is %d ahead of every honest upstream", round, head-honest)
	case head+tolerated < honest:
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

// A single upstream is trusted: its first head counts, and so does each head whose block it shows.
// A head without a block is limited to what the chain can have produced (docs/decisions/0021).
func TestHead_OnlyUpstreamIsBelievedAsFarAsPaceOrBlocksAllow(t *testing.T) {
	t.Parallel()
	for _, lie := range lies {
		for _, from := range []int{0, 4} {
			t.Run(fmt.Sprintf("%s from round %d", lie.name, from), func(t *testing.T) {
				t.Parallel()
				n := newNetwork(t, 1)
				u := n.nodes[0]
				var first uint64
				for round := range 10 {
					if round >= from {
						u.set(func(u *node) { lie.tell(u, round-from) })
					}
					before := n.last.Head
					s := n.round()
					said, got := u.claims(), s.Upstreams[0]
					if round == 0 {
						first = said
					}
					limit := first + 2*uint64(round) + maxAhead //nolint:gosec // small
					shown := said <= trueHead(n.clock.Now()) || u.forges
					switch {
					case said >= before && (round == 0 || shown) && (s.Head != said || !got.Usable):
						t.Errorf("round %d: it shows the block of %d, and the head is %d; it is %q", round, said,
							s.Head, got.Reason)
					case s.Head != before && s.Head != said:
						t.Errorf("round %d: the head is %d, which nobody said", round, s.Head)
					case s.Head > limit && !shown && s.Head != before:
						t.Errorf("round %d: it shows nothing, and led the head %d too far", round, s.Head-limit)
					case s.Head < before:
						t.Errorf("round %d: the head went back from %d to %d", round, before, s.Head)
					case said > limit && !shown && got.Reason != upstream.ReasonAhead, said+tolerated < before &&
						got.Reason != upstream.ReasonLagging:
						t.Errorf("round %d: it says %d after %d, and is %q", round, said, before, got.Reason)
					}
				}
			})
		}
	}
}

func TestHead_UpstreamFarOffIsNotUsable(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3, 5} {
		for lead, want := range map[int64]string{1_000_000: upstream.ReasonAhead, -50_000: upstream.ReasonLagging} {
			n := newNetwork(t, nodes)
			n.round()
			n.nodes[0].set(func(u *node) { u.lead = lead })
			if got := n.round().Upstreams[0]; got.Usable || got.Reason != want {
				t.Errorf("one of %d that is off by %d: usable %v, %q, want %q", nodes, lead, got.Usable,
					got.Reason, want)
			}
		}
	}
}

func TestHead_UpstreamOfAnotherChainHasNoSay(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3, 5} {
		n := newNetwork(t, nodes)
		n.nodes[0].On("eth_chainId", testkit.Result("0x5"))
		n.nodes[0].set(func(u *node) { u.lead, u.forges = 1_000_000, true })
		for round := range 8 {
			s := n.round()
			n.chain.Apply(s)
			u := s.Upstreams[0]
			in := expect.In(t, "of %d, round %d", nodes, round)
			require.False(in, u.Usable)
			require.False(in, u.ChainIDOK)
			require.Equal(in, u.Reason, upstream.ReasonWrongChain)
			if head, known := n.chain.Head(); known != (nodes > 1) || (known && head != trueHead(n.clock.Now())) {
				t.Fatalf("of %d, round %d: head %d (%v)", nodes, round, head, known)
			}
			if nodes == 1 {
				if got := upstreamtest.Asked(t, n.chain); got != "none" {
					t.Fatal("it is chosen")
				}
			}
		}
	}
}

// A worker that starts with an empty board has two upstreams, one of which lies: the times of their
// blocks show which.
func TestHead_WithoutMemoryBlockTimesTellWhoLies(t *testing.T) {
	t.Parallel()
	for _, lead := range []int64{1_000_000, 300, -300, -900_000} {
		for liar := range 2 {
			n := newNetwork(t, 2)
			n.nodes[liar].set(func(u *node) { u.lead = lead })
			s := n.round()
			in := expect.In(t, "off by %d", lead)
			expect.Equal(in, s.Head, trueHead(n.clock.Now()))
			expect.True(in, s.Upstreams[1-liar].Usable)
			expect.False(in, s.Upstreams[liar].Usable)
		}
	}
}

// If even the times are made up, nothing shows which one lies. The lower head is the safe one, and
// no upstream is excluded on another's word.
func TestHead_WithoutMemoryAndWithInventedBlocksNobodyIsExcluded(t *testing.T) {
	t.Parallel()
	for _, lead := range []int64{1_000_000, -900_000} {
		n := newNetwork(t, 2)
		n.nodes[0].set(func(u *node) { u.lead, u.forges = lead, true })
		for range 3 {
			s := n.round()
			in := expect.In(t, "off by %d", lead)
			expect.AtMost(in, s.Head, trueHead(n.clock.Now()))
			expect.False(in, !s.Upstreams[0].Usable && lead < 0)
			expect.True(in, s.Upstreams[1].Usable)
		}
	}
}

func TestHead_WorkerRestartForgetsNothing(t *testing.T) {
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

func TestHead_TwoThatAgreeAreBelievedHoweverFarTheChainCame(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.round()
	for _, u := range n.nodes {
		u.set(func(u *node) { u.lead = 5000 }) // the chain halted and caught up
	}
	s := n.round()
	expect.Equal(t, s.Head, trueHead(n.clock.Now())+5000)
	expect.True(t, s.Upstreams[0].Usable)
	expect.True(t, s.Upstreams[1].Usable)
}

func TestHead_OneUpstreamCannotLeadItAwayStepByStep(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	n.round()
	for round := range 50 {
		n.nodes[0].set(func(u *node) { u.lead = int64(50 * (round + 1)) })
		n.round()
	}
	if ahead := n.last.Head - trueHead(n.clock.Now()); ahead > maxAhead+50 {
		t.Errorf("by steps of fifty the head was led %d ahead", ahead)
	}
}

// fastChain makes every node follow a chain with another block time, and have its blocks.
// seenBlockTime returns the time between blocks that probes saw; Ethereum's if they saw none.
func seenBlockTime(s *upstream.Snapshot) time.Duration {
	seen := time.Duration(s.BlockMicros) * time.Microsecond
	if seen <= 0 || seen > blockTime {
		return blockTime
	}
	return seen
}

func (n *network) fastChain(every time.Duration) {
	for _, u := range n.nodes {
		u.set(func(u *node) { u.blockTime = every })
	}
}

// Rounds are more frequent than blocks.
func TestHead_ChainOfTheUsualPaceIsNotTakenForAFasterOne(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3} {
		n := newNetwork(t, nodes)
		for round := range 30 {
			n.clock.Advance(5*time.Second - blockTime)
			if s := n.round(); seenBlockTime(&s) < 10*time.Second { // a block is seen up to a round late
				t.Fatalf("%d nodes, round %d: blocks of %d µs", nodes, round, s.BlockMicros)
			}
		}
	}
}

// A private network may be far faster than the chain under whose name it is configured.
func TestHead_ChainFasterThanTheCatalogIsBelieved(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3} {
		for _, every := range []time.Duration{time.Second, 50 * time.Millisecond} {
			n := newNetwork(t, nodes)
			n.fastChain(every)
			for round := range 20 {
				s := n.round()
				n.chain.Apply(s)
				in := expect.In(t, "%d nodes, blocks of %s, round %d", nodes, every, round)
				require.Equal(in, s.Head, n.nodes[0].claims())
				require.True(in, s.HeadKnown)
				require.True(in, s.Upstreams[0].Usable)
			}
			// a single upstream is believed for twice the pace
			if seen := seenBlockTime(&n.last); seen < every || seen > 2*every {
				t.Errorf("%d nodes: blocks of %s are taken for blocks of %s", nodes, every, seen)
			}
			n.clock.Advance(3 * blockTime) // no probes; the upstreams' answers go on
			said := n.nodes[0].claims()
			if head, ok := n.chain.ObserveHead(upstream.Latest, said); !ok || head != said {
				t.Errorf("%d nodes, blocks of %s: an answer that the chain has come to gives %d (%v), want %d", nodes,
					every, head, ok, said)
			}
			slow := int64(n.last.Head) - int64(trueHead(n.clock.Now())) //nolint:gosec // small
			for _, u := range n.nodes {
				u.set(func(u *node) { u.blockTime, u.lead = 0, slow })
			}
			for range 60 {
				n.round()
			}
			if n.last.BlockMicros != 0 {
				t.Errorf("%d nodes: the chain is slow again, and is taken for one with blocks of %d µs", nodes,
					n.last.BlockMicros)
			}
		}
	}
}

func TestHead_PaceOfAChainIsLearnedFromNobodyAlone(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 2, 3} {
		n := newNetwork(t, nodes)
		for round := range 30 {
			if round > 0 {
				// twice the usual pace: the limit of what a single upstream is believed for
				n.nodes[0].set(func(u *node) { u.lead = int64(2 * round) })
			}
			if s := n.round(); seenBlockTime(&s) < blockTime*2/3 {
				t.Fatalf("%d nodes, round %d: its word alone made the chain one with blocks of %d µs", nodes, round,
					s.BlockMicros)
			}
		}
	}
}

func TestHead_CordonedUpstreamHasNoSay(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	n.pool.Recall(chain.EthMainnet, upstream.Posted{Cordons: map[string]upstream.Cordon{"up-0": {}, "up-1": {}}})
	for _, u := range n.nodes[:2] {
		u.set(func(u *node) { u.lead, u.forges = 1_000_000, true })
	}
	s := n.round()
	expect.Equal(t, s.Head, trueHead(n.clock.Now()))
	expect.True(t, s.HeadKnown)
	expect.True(t, s.Upstreams[2].Usable)
}

func TestHead_SolanaUpstreamsAreComparedByTheTimesOfTheirSlots(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(upstreamtest.Noon)
	honest, liar := testkit.Upstream(t), testkit.Upstream(t)
	for u, slot := range map[*testkit.UpstreamServer]int{honest: 300_000_000, liar: 301_000_000} {
		u.On("getGenesisHash", testkit.Result(solanaGenesis))
		u.On("getSlot", testkit.Result(slot))
	}
	honest.On("getBlockTime", testkit.Result(upstreamtest.Noon.Add(-13*time.Second).Unix()))
	liar.On("getBlockTime", testkit.Error(-32009, "slot was skipped"))
	p, _ := upstreamtest.NewChain(t, chain.SolanaMainnet, clock.Now, upstreamtest.Providers(liar, honest))
	s := probe(t, p, chain.SolanaMainnet)
	expect.Equal(t, s.Head, 300_000_000)
	expect.False(t, s.Upstreams[0].Usable)
	expect.True(t, s.Upstreams[1].Usable)
}

// tagging makes nodes report safe and finalized blocks at these depths below their heads. A node
// without depths knows neither tag.
func (n *network) tagging(depths ...map[string]int64) {
	for i, u := range n.nodes {
		u.set(func(u *node) { u.tags = depths[i] })
	}
}

// deepHeads applies a round and returns how far the safe and the finalized head are below the head;
// -1 for one that is not known.
func (n *network) deepHeads() (safe, finalized int64) {
	n.Helper()
	n.chain.Apply(n.round())
	heads, _ := n.chain.CorroboratedHeads()
	depth := func(number uint64) int64 {
		if number == 0 {
			return -1
		}
		return int64(heads.Latest - number) //nolint:gosec // small
	}
	return depth(heads.Safe), depth(heads.Finalized)
}

func tagsAt(safe, finalized int64) map[string]int64 {
	return map[string]int64{"safe": safe, "finalized": finalized}
}

func TestFinality_IsWhatTwoUpstreamsVouchForOrTheOnlyOne(t *testing.T) {
	t.Parallel()
	high, low := tagsAt(-1_000_000, -1_000_000), tagsAt(900_000, 900_000)
	type depths = []map[string]int64
	for name, tc := range map[string]struct {
		nodes           depths
		safe, finalized int64
	}{
		"the only upstream":                    {depths{tagsAt(32, 64)}, 32, 64},
		"the only one, without the tags":       {depths{nil}, -1, -1},
		"the only one, without safe":           {depths{{"finalized": 64}}, -1, 64},
		"the only one, beyond the head":        {depths{high}, 0, 0},
		"two":                                  {depths{tagsAt(32, 64), tagsAt(33, 66)}, 33, 66},
		"two, one without the tags":            {depths{tagsAt(32, 64), nil}, -1, -1},
		"two, one of which is too high":        {depths{high, tagsAt(32, 64)}, 32, 64},
		"three":                                {depths{tagsAt(32, 64), tagsAt(33, 66), tagsAt(34, 68)}, 33, 66},
		"three, one without the tags":          {depths{tagsAt(32, 64), nil, tagsAt(33, 66)}, 33, 66},
		"three, one of which is too high":      {depths{tagsAt(32, 64), high, tagsAt(33, 66)}, 32, 64},
		"three, one of which is too low":       {depths{low, tagsAt(32, 64), tagsAt(33, 66)}, 33, 66},
		"three, of which only a liar has tags": {depths{nil, low, nil}, -1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, len(tc.nodes))
			n.tagging(tc.nodes...)
			if safe, finalized := n.deepHeads(); safe != tc.safe || finalized != tc.finalized {
				t.Errorf("safe is %d deep and finalized %d, want %d and %d", safe, finalized, tc.safe,
					tc.finalized)
			}
		})
	}
}

func TestFinality_CordonedAndUnusableUpstreamsHaveNoSay(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 4)
	n.tagging(tagsAt(0, 0), tagsAt(32, 64), tagsAt(33, 66), tagsAt(1, 1))
	n.nodes[3].set(func(u *node) { u.lead = 1_000_000 })
	n.pool.Recall(chain.EthMainnet, upstream.Posted{Cordons: map[string]upstream.Cordon{"up-0": {}}})
	if safe, finalized := n.deepHeads(); safe != 33 || finalized != 66 {
		t.Errorf("safe is %d deep and finalized %d", safe, finalized)
	}
}

func TestFinality_IsAskedForEveryHalfMinuteAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	n.tagging(tagsAt(32, 64))
	asked := func() (times int) {
		for _, r := range n.nodes[0].Requests() {
			if string(r.Params) == `["finalized",false]` {
				times++
			}
		}
		return times
	}
	for round, want := range []int{1, 1, 1, 2, 2, 2, 3} { // of twelve seconds
		if round == 2 {
			n.restart(true)
		}
		if n.deepHeads(); asked() != want {
			t.Errorf("after round %d it was asked %d times, want %d", round, asked(), want)
		}
	}
}

func TestFinality_NeverGoesBackAndIsForgottenWithoutVouchers(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 2)
	n.tagging(tagsAt(32, 64), tagsAt(32, 64))
	n.deepHeads()
	before := n.last.Finalized
	n.tagging(tagsAt(500, 500), tagsAt(500, 500))
	for n.last.MeasuredAt.Sub(before.VouchedAt) < deepHeadExpiry+finalityPause+blockTime {
		_, finalized := n.deepHeads()
		alone := n.last.MeasuredAt.Sub(n.last.Finalized.VouchedAt)
		if n.last.Finalized.Number < before.Number {
			t.Fatalf("finalized went back from %d to %d", before.Number, n.last.Finalized.Number)
		}
		if forgotten := finalized == -1; forgotten != (alone >= deepHeadExpiry) {
			t.Fatalf("%s after the last vouchers, it is %d deep", alone, finalized)
		}
	}
	if _, finalized := n.deepHeads(); finalized != -1 {
		t.Errorf("without vouchers it is still %d deep", finalized)
	}
	n.tagging(tagsAt(0, 0), tagsAt(0, 0))
	for range 3 {
		n.deepHeads()
	}
	if _, finalized := n.deepHeads(); finalized < 0 || n.last.Finalized.Number <= before.Number {
		t.Errorf("vouched for again, it is %d deep, at %d", finalized, n.last.Finalized.Number)
	}
}

func TestFinality_FallsWithTheHead(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	n.tagging(tagsAt(32, 64), tagsAt(32, 64), tagsAt(32, 64))
	for _, u := range n.nodes[:2] {
		u.set(func(u *node) { u.lead, u.forges = 1_000_000, true })
	}
	n.deepHeads()
	if wrong := n.last.Finalized.Number; wrong <= trueHead(n.clock.Now()) {
		t.Fatalf("finalized is %d: nothing was to be mended", wrong)
	}
	for _, u := range n.nodes[:2] {
		u.set(func(u *node) { u.lead, u.forges = 0, false })
	}
	for range roundsOfDoubt + 3 {
		n.deepHeads()
	}
	safe, finalized := n.deepHeads()
	expect.Between(t, safe, 32, 36)
	expect.Between(t, finalized, 64, 68)
}
