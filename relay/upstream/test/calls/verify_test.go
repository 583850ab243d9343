package calls

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

// voters returns Ethereum with n healthy upstreams, the first of which is the fastest.
func voters(t *testing.T, n int) (*upstream.Chain, []*testkit.UpstreamServer) {
	t.Helper()
	servers := make([]*testkit.UpstreamServer, n)
	for i := range servers {
		servers[i] = testkit.Upstream(t)
		servers[i].Default(testkit.Result("0x5"))
	}
	_, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, upstreamtest.Providers(servers...))
	c.Apply(upstreamtest.Healthy(c, time.Now()))
	return c, servers
}

// agreed is the outcome of a verified read.
type agreed struct {
	upstream.Agreement

	result string
	fault  *fault.Error
}

func readVerified(t *testing.T, c *upstream.Chain, r *upstream.Request, want int) agreed {
	t.Helper()
	answer, agreement, f := c.ReadVerified(upstreamtest.Deadline(t, 8*time.Second), r, want)
	out := agreed{Agreement: agreement, fault: f}
	if answer != nil {
		out.result = string(answer.Result)
		answer.Release()
	}
	return out
}

func TestReadVerified_GoesOnWithoutAnUpstreamThatHangs(t *testing.T) {
	t.Parallel()
	c, servers := voters(t, 3)
	servers[0].Default(testkit.Hang(nil))
	began := time.Now()
	got := readVerified(t, c, upstreamtest.Call("eth_call"), 2)
	require.Equal(t, got.fault, nil)
	expect.Equal(t, got.result, `"0x5"`)
	expect.Equal(t, got.Agreement, upstream.Agreement{Agreed: 2, Asked: 3})
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("it waited %v for the upstream that hangs", took)
	}
	expect.Equal(t, upstreamtest.Blamed(c, 0), int64(0), "an attempt that was called off")
}

func TestReadVerified_AsksAnotherWhereOneFails(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testkit.Reply{
		"no answer":       testkit.Reset(),
		"no JSON":         testkit.HTML(502),
		"throttled":       testkit.TooMany(time.Second),
		"pruned":          testkit.Error(-32000, "missing trie node 5f00 (path )"),
		"an unknown word": testkit.Error(-32099, "this provider has a rule of its own"),
		"two values": testkit.Raw(200, "application/json",
			`{"jsonrpc":"2.0","id":$id,"result":{"hash":"0x1","hash":"0x2"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, servers := voters(t, 3)
			servers[0].Default(reply)
			got := readVerified(t, c, upstreamtest.Call("eth_call"), 2)
			require.Equal(t, got.fault, nil)
			expect.Equal(t, got.Agreement, upstream.Agreement{Agreed: 2, Asked: 3})
			expect.Equal(t, c.Figures()[0].Disagreed, int64(0), "it does not lie")
		})
	}
}

// That two nodes have pruned the state is not what clients asked for two opinions about.
func TestReadVerified_NodesWithoutTheStateHaveNoVote(t *testing.T) {
	t.Parallel()
	c, servers := voters(t, 3)
	for _, u := range servers[:2] {
		u.Default(testkit.Error(-32000, "missing trie node 5f00 (path )"))
	}
	got := readVerified(t, c, upstreamtest.Call("eth_call"), 2)
	require.True(t, got.fault != nil)
	expect.Equal(t, got.fault.Reason, fault.UpstreamFailed)
}

func TestReadVerified_AnUpstreamThatIsBehindIsNoLiar(t *testing.T) {
	t.Parallel()
	c, servers := voters(t, 3)
	s := upstreamtest.Healthy(c, time.Now())
	s.Upstreams[2].Head -= 2
	c.Apply(s)
	r := func(method string, null chain.NullMeaning) *upstream.Request {
		r := upstreamtest.Call(method)
		r.Block, r.Told, r.Null = upstreamtest.Head, upstreamtest.Head, null
		return r
	}
	servers[2].On("eth_getBlockByNumber", testkit.Result(nil))
	servers[2].On("eth_getBalance", testkit.Error(-32000, "header not found"))
	servers[2].On("eth_call", testkit.Result("0x4")) // of an older block
	for method, null := range map[string]chain.NullMeaning{
		"eth_getBlockByNumber": chain.NullNoBlock, "eth_getBalance": chain.NullAnswer, "eth_call": chain.NullAnswer,
	} {
		t.Run(method, func(t *testing.T) {
			got := readVerified(t, c, r(method, null), 3)
			require.NotEqual(t, got.fault, nil)
			expect.Equal(t, got.fault.Reason, fault.UpstreamFailed)
		})
	}
	got := readVerified(t, c, r("eth_call", chain.NullAnswer), 2)
	expect.Equal(t, got.Agreement, upstream.Agreement{Agreed: 2, Asked: 2}, "those that have the block are asked first")
}

func TestReadVerified_AnOlderAnswerOfAnUpstreamThatIsBehindIsNoLie(t *testing.T) {
	t.Parallel()
	c, servers := voters(t, 4)
	s := upstreamtest.Healthy(c, time.Now())
	s.Upstreams[2].Head, s.Upstreams[3].Head = upstreamtest.Head-1, upstreamtest.Head-1
	c.Apply(s)
	servers[1].Default(testkit.HTML(502))
	servers[2].Default(testkit.Result("0x4"))
	r := upstreamtest.Call("eth_call")
	r.Block, r.Told = upstreamtest.Head, upstreamtest.Head
	got := readVerified(t, c, r, 2)
	require.Equal(t, got.fault, nil)
	expect.Equal(t, got.result, `"0x5"`)
	expect.Equal(t, got.Agreement, upstream.Agreement{Agreed: 2, Asked: 4})
	expect.Equal(t, c.Figures()[2].Disagreed, int64(0))
}

func TestReadVerified_NullIsAgreedOnAndBlamesNobody(t *testing.T) {
	t.Parallel()
	c, servers := voters(t, 3)
	for _, s := range servers {
		s.Default(testkit.Result(nil))
	}
	servers[0].Default(testkit.Result(map[string]any{"hash": "0x1"})) // it saw the transaction first
	r := upstreamtest.Call("eth_getTransactionByHash")
	r.Null = chain.NullUnknown
	got := readVerified(t, c, r, 2)
	require.Equal(t, got.fault, nil)
	expect.Equal(t, got.result, "null")
	expect.Equal(t, got.Agreement, upstream.Agreement{Agreed: 2, Asked: 3})
	expect.Equal(t, c.Figures()[0].Disagreed, int64(0))
}

// allowance is a Memory that counts.
type allowance struct{ left, least atomic.Int64 }

func (a *allowance) Take(n int) bool {
	if a.left.Load() < int64(n) {
		return false
	}
	a.least.Store(min(a.least.Load(), a.left.Add(int64(-n))))
	return true
}

func (a *allowance) Give(n int) { a.left.Add(int64(n)) }

func TestReadVerified_LongAnswersCountAgainstTheMemory(t *testing.T) {
	t.Parallel()
	const long = 1 << 20
	for name, row := range map[string]struct {
		memory int64
		served bool
	}{"enough": {16 * long, true}, "too little": {long / 2, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, servers := voters(t, 2)
			for _, s := range servers {
				s.Default(testkit.Result("0x" + strings.Repeat("ab", long/2)))
			}
			memory := new(allowance)
			memory.left.Store(row.memory)
			memory.least.Store(row.memory)
			r := upstreamtest.Call("eth_call")
			r.Memory = memory
			got := readVerified(t, c, r, 2)
			expect.Equal(t, got.fault == nil, row.served, fmt.Sprint(got.fault))
			expect.Equal(t, memory.left.Load(), row.memory, "memory that was given back")
			if row.served && memory.least.Load() > row.memory-long {
				t.Errorf("%d bytes were taken", row.memory-memory.least.Load())
			}
		})
	}
}

func TestReadVerified_LogsOfUpstreamsWithDifferentLimitsAgree(t *testing.T) {
	t.Parallel()
	c, servers := voters(t, 2)
	logs := func(x *testkit.Exchange) {
		if strings.Contains(string(x.Request.Params), `"fromBlock":"0x1","toBlock":"0x2"`) {
			testkit.Error(-32602, "block range too large, max is 1 blocks")(x)
			return
		}
		testkit.Result([]any{})(x)
	}
	servers[0].Default(logs)
	servers[1].Default(testkit.Result([]any{}))
	r := upstreamtest.Call("eth_getLogs")
	r.Params = []byte(`[{"fromBlock":"0x1","toBlock":"0x2"}]`)
	r.Logs = &chain.LogSpan{From: 1, To: 2, Divisible: true}
	got := readVerified(t, c, r, 2)
	require.Equal(t, got.fault, nil)
	expect.Equal(t, got.result, "[]")
	expect.Equal(t, got.Agreement, upstream.Agreement{Agreed: 2, Asked: 2})
}
