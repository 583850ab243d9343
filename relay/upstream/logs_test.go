package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
)

// logsOf returns the logs of a range of blocks: none to three in a block.
func logsOf(from, to uint64) []string {
	var logs []string
	for n := from; n <= to; n++ {
		for i := range n % 4 {
			logs = append(logs, logAt(n, i))
		}
	}
	return logs
}

func logAt(block, index uint64) string {
	return fmt.Sprintf(`{"address":"0x%040x","topics":["0x%064x"],"data":"0x%x","blockNumber":"0x%x",`+
		`"blockHash":"0x%064x",`+
		`"logIndex":"0x%x","removed":false}`, 7, index, block*index, block, block*31, index)
}

// logNode is a scripted node that has the logs of every block, and a plan with limits.
type logNode struct {
	*testkit.UpstreamServer

	limit   atomic.Uint64 // blocks; 0 for none
	maxLogs int
	says    func(asked, limit uint64) string // nil names no number
	spoil   func(from uint64, logs []string) testkit.Reply
	asked   atomic.Int64
}

func newLogNode(t *testing.T, limit uint64) *logNode {
	t.Helper()
	n := &logNode{UpstreamServer: testkit.Upstream(t)}
	n.limit.Store(limit)
	n.On("eth_getLogs", n.reply)
	return n
}

func (n *logNode) reply(x *testkit.Exchange) {
	n.asked.Add(1)
	var params []struct{ FromBlock, ToBlock string }
	if err := json.Unmarshal(x.Request.Params, &params); err != nil {
		testkit.Error(-32602, "invalid params")(x)
		return
	}
	from, _ := parseQuantity(params[0].FromBlock)
	to, ok := parseQuantity(params[0].ToBlock)
	if !ok {
		to = testHead
	}
	logs := logsOf(from, to)
	limit := n.limit.Load()
	switch {
	case limit > 0 && to-from+1 > limit:
		message := "Block range limit exceeded."
		if n.says != nil {
			message = n.says(to-from+1, limit)
		}
		testkit.Error(-32600, message)(x)
		return
	case n.maxLogs > 0 && len(logs) > n.maxLogs:
		testkit.Error(-32005, fmt.Sprintf("query returned more than %d results", n.maxLogs))(x)
		return
	}
	if n.spoil != nil {
		if reply := n.spoil(from, logs); reply != nil {
			reply(x)
			return
		}
	}
	rawLogs(logs)(x)
}

func rawLogs(logs []string) testkit.Reply {
	return testkit.Raw(http.StatusOK, "application/json",
		`{"jsonrpc":"2.0","id":$id,"result":[`+strings.Join(logs, ",")+`]}`)
}

func alchemy(_, limit uint64) string {
	return fmt.Sprintf("Under the Free tier plan, you can make eth_getLogs requests with up to a %d block range.",
		limit)
}

func avalanche(asked, limit uint64) string {
	return fmt.Sprintf("requested too many blocks from 1 to %d, maximum is set to %d", asked, limit)
}

// logChain returns Ethereum with nodes, of which the first is asked first.
func logChain(t *testing.T, change func([]config.Upstream), nodes ...*logNode) *Chain {
	t.Helper()
	servers := make([]*testkit.UpstreamServer, len(nodes))
	for i, n := range nodes {
		servers[i] = n.UpstreamServer
	}
	list := providers(servers...)
	if change != nil {
		change(list)
	}
	_, c := poolOf(t, time.Now, list)
	c.Apply(healthy(c, time.Now()))
	return c
}

const firstBlock = 500_000

// getLogs returns a request for the logs of blocks from firstBlock on.
func getLogs(t *testing.T, blocks uint64) *Request {
	t.Helper()
	r := request("eth_getLogs")
	r.Heavy = true
	r.Params = fmt.Appendf(nil, `[{"fromBlock":"0x%x", "toBlock":"0x%x"}]`, firstBlock, firstBlock+blocks-1)
	spanOf(t, r)
	return r
}

func spanOf(t *testing.T, r *Request) {
	t.Helper()
	on, _ := chain.BuiltIn().Lookup("eth_mainnet")
	m, _ := on.Method(r.Method)
	span, ok := m.LogSpan(r.Params, chain.Heads{Latest: testHead})
	if !ok {
		t.Fatalf("%s has no span", r.Params)
	}
	r.Logs = &span
}

// wholeLogs returns the logs of an answer, which is released.
func wholeLogs(t *testing.T, a *Answer, f *fault.Error) []string {
	t.Helper()
	if f != nil {
		t.Fatalf("refused: %v (%v)", f, f.Cause)
	}
	defer a.Release()
	if a.Error != nil {
		t.Fatalf("the node said %s", a.Error)
	}
	text := slices.Clone(a.Result)
	if a.Rest != nil {
		rest, err := io.ReadAll(a.Rest)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, rest...)
	}
	var logs []json.RawMessage
	if err := json.Unmarshal(text, &logs); err != nil || !jsonrpc.Valid(text) {
		t.Fatalf("not logs: %v", err)
	}
	texts := make([]string, len(logs))
	for i, l := range logs {
		texts[i] = string(l)
	}
	return texts
}

func wantLogs(t *testing.T, got []string, blocks uint64) {
	t.Helper()
	if diff := cmp.Diff(logsOf(firstBlock, firstBlock+blocks-1), got); diff != "" {
		t.Errorf("the logs differ: %.600s", diff)
	}
}

// Each limit is learned from one refusal; from then on a call takes as many requests as it must.
func TestReadLogs_EqualTheNodesOwnWhateverRangesUpstreamsTake(t *testing.T) {
	t.Parallel()
	for limit, says := range map[uint64]func(asked, limit uint64) string{
		10: alchemy, 50: avalanche, 100: alchemy, 7: nil,
	} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			n := newLogNode(t, limit)
			if n.says = says; says == nil {
				n.limit.Store(16) // halving 1000 reaches 15
				limit = 15
			}
			c := logChain(t, nil, n)
			for range 2 {
				r := getLogs(t, 1000)
				answer, f := c.Read(deadline(t, testTimeout), r)
				wantLogs(t, wholeLogs(t, answer, f), 1000)
				if r.Asked.Attempts != int(n.asked.Load()) || r.Asked.Upstream != "up-0" {
					t.Errorf("asked %+v, and the node was asked %d times", r.Asked, n.asked.Load())
				}
				n.asked.Store(0)
			}
			answer, f := c.Read(deadline(t, testTimeout), getLogs(t, 1000))
			wantLogs(t, wholeLogs(t, answer, f), 1000)
			if want := (1000 + limit - 1) / limit; n.asked.Load() != int64(want) {
				t.Errorf("a known limit of %d takes %d requests, want %d", limit, n.asked.Load(), want)
			}
		})
	}
}

func TestReadLogs_AskTheUpstreamThatNeedsFewestRequests(t *testing.T) {
	t.Parallel()
	ten, fifty, hundred := newLogNode(t, 10), newLogNode(t, 50), newLogNode(t, 100)
	ten.says, fifty.says, hundred.says = alchemy, avalanche, alchemy
	c := logChain(t, nil, ten, fifty, hundred)
	answer, f := c.Read(deadline(t, testTimeout), getLogs(t, 1000))
	wantLogs(t, wholeLogs(t, answer, f), 1000)
	for _, n := range []*logNode{ten, fifty, hundred} {
		n.asked.Store(0)
	}
	r := getLogs(t, 1000)
	answer, f = c.Read(deadline(t, testTimeout), r)
	wantLogs(t, wholeLogs(t, answer, f), 1000)
	if all := ten.asked.Load() + fifty.asked.Load() + hundred.asked.Load(); all != 10 || hundred.asked.Load() != 10 {
		t.Errorf("%d requests, %d of them of the widest", all, hundred.asked.Load())
	}
	r = getLogs(t, 50)
	if answer, f = c.Read(deadline(t, testTimeout), r); r.Asked.Attempts != 1 {
		t.Errorf("a range that fits takes %+v", r.Asked)
	}
	wantLogs(t, wholeLogs(t, answer, f), 50)
}

func TestReadLogs_DeclaredLimitNeedsNoRefusal(t *testing.T) {
	t.Parallel()
	n := newLogNode(t, 100)
	c := logChain(t, func(list []config.Upstream) { list[0].MaxLogBlocks = 100 }, n)
	r := getLogs(t, 950)
	answer, f := c.Read(deadline(t, testTimeout), r)
	wantLogs(t, wholeLogs(t, answer, f), 950)
	if r.Asked.Attempts != 10 {
		t.Errorf("asked %+v", r.Asked)
	}
}

func TestReadLogs_AWholeRangeIsSentAsItCameToAnUpstreamThatTakesIt(t *testing.T) {
	t.Parallel()
	limited, unlimited := newLogNode(t, 10), newLogNode(t, 0)
	limited.says = alchemy
	c := logChain(t, nil, limited, unlimited)
	answer, f := c.Read(deadline(t, testTimeout), getLogs(t, 1000))
	wantLogs(t, wholeLogs(t, answer, f), 1000)
	r := getLogs(t, 1000)
	answer, f = c.Read(deadline(t, testTimeout), r)
	wantLogs(t, wholeLogs(t, answer, f), 1000)
	if r.Asked != (Asked{Upstream: "up-1", Attempts: 1}) || limited.asked.Load() != 1 {
		t.Errorf("asked %+v, the limited one %d times", r.Asked, limited.asked.Load())
	}
	if got := unlimited.Requests()[1].Params; string(got) != string(r.Params) {
		t.Errorf("sent %s instead of %s", got, r.Params)
	}
	if kept := c.favourites[0][1][heavyReads].Load(); kept != nil && kept.Name == "up-1" {
		t.Error("it became the favourite for all reads because another takes short ranges only")
	}
	unlimited.On("eth_getLogs", testkit.HTML(http.StatusBadGateway))
	answer, f = c.Read(deadline(t, testTimeout), getLogs(t, 1000))
	wantLogs(t, wholeLogs(t, answer, f), 1000)
	if limited.asked.Load() != 101 {
		t.Errorf("when it fails, the limited one is asked %d times", limited.asked.Load())
	}
}

func TestReadLogs_EndsThatAreTags(t *testing.T) {
	t.Parallel()
	n := newLogNode(t, 10)
	n.says = alchemy
	c := logChain(t, nil, n)
	for params, requests := range map[string]int64{
		fmt.Sprintf(`[{"fromBlock":"0x%x","toBlock":"latest"}]`, testHead-99): 10,
		fmt.Sprintf(`[{"fromBlock":"0x%x"}]`, testHead-99):                    10,
	} {
		r := getLogs(t, 1000)
		r.Params = []byte(params)
		spanOf(t, r)
		answer, f := c.Read(deadline(t, testTimeout), r)
		if diff := cmp.Diff(logsOf(testHead-99, testHead), wholeLogs(t, answer, f)); diff != "" {
			t.Errorf("%s: %.300s", params, diff)
		}
		if got := n.asked.Swap(0); got != requests && got != requests+1 {
			t.Errorf("%s took %d requests", params, got)
		}
	}
	r := getLogs(t, 1000)
	r.Params = fmt.Appendf(nil, `[{"fromBlock":"0x%x","toBlock":"finalized"}]`, testHead-99)
	spanOf(t, r)
	_, f := c.Read(deadline(t, testTimeout), r)
	in := expect.In(t, "a tag whose block is unknown")
	require.NotNil(in, f)
	expect.Equal(in, f.Reason, fault.RangeTooLarge)
	expect.Contains(in, f.Message, "Send block numbers")
}

// partOf returns the number of a part of ten blocks.
func partOf(from uint64) uint64 { return (from - firstBlock) / 10 }

func TestReadLogs_APartThatFailsIsAskedOfAnother(t *testing.T) {
	t.Parallel()
	spoiled := logAt(firstBlock+29, 0)
	for name, reply := range map[string]func(logs []string) testkit.Reply{
		"502":      func([]string) testkit.Reply { return testkit.HTML(http.StatusBadGateway) },
		"reset":    func([]string) testkit.Reply { return testkit.Reset() },
		"no array": func([]string) testkit.Reply { return testkit.Result("0x1") },
		"null":     func([]string) testkit.Reply { return testkit.Result(nil) },
		"cut":      func([]string) testkit.Reply { return testkit.Truncated() },
		"before":   func(l []string) testkit.Reply { return rawLogs(append([]string{logAt(firstBlock+19, 2)}, l...)) },
		"after":    func(l []string) testkit.Reply { return rawLogs(append(l, logAt(firstBlock+30, 0))) },
		"another block": func(l []string) testkit.Reply {
			return rawLogs(append(l, strings.ReplaceAll(spoiled, "0x0000", "0x0001")))
		},
		"pending": func(l []string) testkit.Reply {
			return rawLogs(append(l, strings.Replace(spoiled, `"blockNumber":"0x7a13d"`, `"blockNumber":null`, 1)))
		},
		"words of a plan": func([]string) testkit.Reply {
			return testkit.Error(-32600, "eth_getLogs is not available on the Free tier")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newLogNode(t, 10), newLogNode(t, 10)
			var spoilt atomic.Bool // by the one that was asked first
			first.spoil = func(from uint64, logs []string) testkit.Reply {
				if partOf(from) == 2 && spoilt.CompareAndSwap(false, true) {
					return reply(logs)
				}
				return nil
			}
			second.spoil = first.spoil
			declare := func(list []config.Upstream) { list[0].MaxLogBlocks, list[1].MaxLogBlocks = 10, 10 }
			c := logChain(t, declare, first,
				second)
			r := getLogs(t, 100)
			answer, f := c.Read(deadline(t, testTimeout), r)
			wantLogs(t, wholeLogs(t, answer, f), 100)
			if r.Asked.Attempts != 11 {
				t.Errorf("asked %+v", r.Asked)
			}
		})
	}
}

// One refusal, nothing partial, and the memory is free again.
func TestReadLogs_APartThatFailsForGoodFailsTheCall(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reply testkit.Reply
		want  fault.Reason
	}{
		"502":     {testkit.HTML(http.StatusBadGateway), fault.UpstreamFailed},
		"no logs": {testkit.Result("0x1"), fault.UpstreamFailed},
		"filter":  {testkit.Error(-32701, "Please specify an address in your request"), fault.RangeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			n := newLogNode(t, 10)
			n.spoil = func(from uint64, _ []string) testkit.Reply {
				if partOf(from) == 2 {
					return row.reply
				}
				return nil
			}
			c := logChain(t, func(list []config.Upstream) { list[0].MaxLogBlocks = 10 }, n)
			r := getLogs(t, 1000)
			memory := &counted{limit: 1 << 30}
			r.Memory = memory
			answer, f := c.Read(deadline(t, testTimeout), r)
			in := expect.In(t, "%s", name)
			require.NotNil(in, f)
			expect.Nil(in, answer)
			expect.Equal(in, f.Reason, row.want)
			if memory.now() != 0 {
				t.Errorf("%d bytes are not given back", memory.now())
			}
			if n.asked.Load() > 50 {
				t.Errorf("the call went on for %d requests", n.asked.Load())
			}
		})
	}
	n := newLogNode(t, 10)
	n.spoil = func(uint64, []string) testkit.Reply { return testkit.Error(-32000, "invalid topic") }
	n.On("eth_getLogs", n.reply)
	c := logChain(t, func(list []config.Upstream) { list[0].MaxLogBlocks = 10 }, n)
	answer, f := c.Read(deadline(t, testTimeout), getLogs(t, 100))
	if f != nil || !strings.Contains(string(answer.Error), "invalid topic") {
		t.Errorf("a node's own answer: %v", f)
	}
}

func TestReadLogs_WordsThatChangeInTheMiddle(t *testing.T) {
	t.Parallel()
	n := newLogNode(t, 100)
	n.says = alchemy
	n.spoil = func(uint64, []string) testkit.Reply {
		if n.asked.Load() == 4 {
			n.limit.Store(20)
		}
		return nil
	}
	c := logChain(t, func(list []config.Upstream) { list[0].MaxConcurrent = 2 }, n) // one part after the other
	answer, f := c.Read(deadline(t, testTimeout), getLogs(t, 1000))
	wantLogs(t, wholeLogs(t, answer, f), 1000)
	if limit := c.endpoints[0].logLimit.blocks(time.Now()); limit != 20 {
		t.Errorf("it has learned %d", limit)
	}
}

func TestReadLogs_TooManyLogsAreHalvedDownToOneBlock(t *testing.T) {
	t.Parallel()
	n := newLogNode(t, 0)
	n.maxLogs = 20
	c := logChain(t, nil, n)
	r := getLogs(t, 1000)
	answer, f := c.Read(deadline(t, testTimeout), r)
	wantLogs(t, wholeLogs(t, answer, f), 1000)
	if limit := c.endpoints[0].logLimit.blocks(time.Now()); limit != noLogLimit {
		t.Errorf("it has learned a limit of %d from the number of logs", limit)
	}
	n.maxLogs = 2 // three logs in a block are too many
	_, f = c.Read(deadline(t, testTimeout), getLogs(t, 1000))
	in := expect.In(t, "a block with too many logs")
	require.NotNil(in, f)
	expect.Equal(in, f.Reason, fault.RangeTooLarge)
	expect.Contains(in, f.Message, "alone has more logs")
	expect.Contains(in, f.Message, "topics")
}

func TestReadLogs_RequestsAreBounded(t *testing.T) {
	t.Parallel()
	n := newLogNode(t, 1)
	c := logChain(t, func(list []config.Upstream) { list[0].MaxLogBlocks = 1 }, n)
	_, f := c.Read(deadline(t, testTimeout), getLogs(t, 5000))
	require.NotNil(t, f)
	require.Equal(t, f.Reason, fault.RangeTooLarge)
	require.Contains(t, f.Message, "this block range should work: [0x7a120, ")
	want := chain.BlockRange{FromBlock: firstBlock, ToBlock: firstBlock + 2499}
	if got, _ := f.Data["working_range"].(chain.BlockRange); got != want || n.asked.Load() != 0 {
		t.Errorf("the range that works is %+v, after %d requests", got, n.asked.Load())
	}
}

func TestReadLogs_KeepsWithinTheUpstreamsLimits(t *testing.T) {
	t.Parallel()
	n := newLogNode(t, 10)
	var mu sync.Mutex
	var inFlight, most int
	n.On("eth_getLogs", func(x *testkit.Exchange) {
		mu.Lock()
		inFlight++
		most = max(most, inFlight)
		mu.Unlock()
		n.reply(x)
		mu.Lock()
		inFlight--
		mu.Unlock()
	})
	c := logChain(t, func(list []config.Upstream) {
		list[0].MaxLogBlocks, list[0].MaxConcurrent, list[0].MaxPerSecond = 10, 4, 40
	}, n)
	started := time.Now()
	answer, f := c.Read(deadline(t, testTimeout), getLogs(t, 1000))
	wantLogs(t, wholeLogs(t, answer, f), 1000)
	if most > 2 {
		t.Errorf("%d requests at once of an upstream that takes 4", most)
	}
	if took := time.Since(started); took < 2*time.Second {
		t.Errorf("100 requests at 40 a second took %s", took)
	}
	if _, f := c.Read(deadline(t, 300*time.Millisecond), getLogs(t, 1000)); f == nil {
		t.Error("a call without the time for it was answered")
	}
}

func TestReadLogs_AThrottledPartIsRepeated(t *testing.T) {
	t.Parallel()
	n := newLogNode(t, 10)
	var throttled atomic.Int64
	n.spoil = func(from uint64, _ []string) testkit.Reply {
		if partOf(from) == 5 && throttled.Add(1) <= 2 {
			return testkit.TooMany(time.Second)
		}
		return nil
	}
	c := logChain(t, func(list []config.Upstream) { list[0].MaxLogBlocks = 10 }, n)
	answer, f := c.Read(deadline(t, testTimeout), getLogs(t, 100))
	wantLogs(t, wholeLogs(t, answer, f), 100)
}

// counted is a Memory that remembers the most that was taken.
type counted struct {
	mu                 sync.Mutex
	limit, taken, most int
}

func (c *counted) Take(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken+n > c.limit {
		return false
	}
	c.taken += n
	c.most = max(c.most, c.taken)
	return true
}

func (c *counted) Give(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken -= n
}

func (c *counted) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}

// hugeLogs replies with a log of so many bytes for each part.
func hugeLogs(size int) func(from uint64, _ []string) testkit.Reply {
	return func(from uint64, _ []string) testkit.Reply {
		large := strings.Replace(logAt(from, 0), `"data":"0x`, `"data":"0x`+strings.Repeat("0", size), 1)
		return rawLogs([]string{large})
	}
}

func TestReadLogs_HugePartsAreBoundedInMemory(t *testing.T) {
	t.Parallel()
	n := newLogNode(t, 10)
	n.spoil = hugeLogs(2 << 20)
	c := logChain(t, func(list []config.Upstream) { list[0].MaxLogBlocks = 10 }, n)
	for name, row := range map[string]struct {
		answer    int64
		memory    int
		want      fault.Reason
		mayFollow string
	}{
		"the answer":     {16 << 20, 1 << 30, fault.RangeTooLarge, "this block range should work: [0x7a120, 0x7a313]"},
		"a split answer": {1 << 30, 1 << 30, fault.RangeTooLarge, "larger than the 67108864 bytes"},
		"the memory":     {1 << 30, 16 << 20, fault.UpstreamFailed, "Retry in a second"},
	} {
		t.Run(name, func(t *testing.T) {
			r := getLogs(t, 1000)
			memory := &counted{limit: row.memory}
			r.MaxAnswer, r.Memory = row.answer, memory
			_, f := c.Read(deadline(t, testTimeout), r)
			in := expect.In(t, "%s is too small", name)
			require.NotNil(in, f)
			expect.Equal(in, f.Reason, row.want)
			expect.Contains(in, f.Message, row.mayFollow)
			bound := int(min(row.answer, maxSplitBytes)) + logsAtOnce*(4<<20)
			if memory.now() != 0 || memory.most > min(row.memory, bound) {
				t.Errorf("it held %d bytes, and %d afterwards", memory.most, memory.now())
			}
		})
	}
	r := getLogs(t, 100)
	memory := &counted{limit: 64 << 20}
	r.Memory = memory
	answer, f := c.Read(deadline(t, testTimeout), r)
	in := expect.In(t, "ten parts of 2 MiB")
	require.Nil(in, f)
	require.NotEqual(in, answer.Rest, nil)
	require.AtLeast(in, memory.now(), 20<<20)
	if logs := wholeLogs(t, answer, f); len(logs) != 10 || memory.now() != 0 {
		t.Errorf("%d logs, and %d bytes are held", len(logs), memory.now())
	}
}

func TestReadLogs_AnUnsplitAnswerIsCheckedAndStreams(t *testing.T) {
	t.Parallel()
	bad, good := newLogNode(t, 0), newLogNode(t, 0)
	bad.spoil = func(_ uint64, logs []string) testkit.Reply { return rawLogs(append(logs, logAt(firstBlock+1000, 0))) }
	c := logChain(t, nil, bad, good)
	r := getLogs(t, 300)
	answer, f := c.Read(deadline(t, testTimeout), r)
	wantLogs(t, wholeLogs(t, answer, f), 300)
	if r.Asked != (Asked{Upstream: "up-1", Attempts: 2}) {
		t.Errorf("asked %+v", r.Asked)
	}
	good.spoil = hugeLogs(8 << 20)
	c = logChain(t, nil, good)
	if answer, f = c.Read(deadline(t, testTimeout), getLogs(t, 900)); f != nil || answer.Rest == nil {
		t.Fatalf("a long answer does not stream: %v", f)
	}
	answer.Release()
	bad.spoil = func(from uint64, _ []string) testkit.Reply {
		large := strings.Replace(logAt(from, 0), `"0x`, `"0x`+strings.Repeat("0", 1<<20), 1)
		return rawLogs([]string{large, logAt(from-1, 0)})
	}
	c = logChain(t, nil, bad)
	answer, f = c.Read(deadline(t, testTimeout), getLogs(t, 900))
	if f != nil {
		t.Fatal(f)
	}
	defer answer.Release()
	if rest, err := io.ReadAll(answer.Rest); err == nil || strings.Contains(string(rest), "]}") {
		t.Error("a stream with a log outside the range ended as if it were whole")
	}
}
