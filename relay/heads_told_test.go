package relay

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/upstream"
)

// withSafe returns a process over nodes, after probes found that firstSafe is the safe block.
func withSafe(t *testing.T, nodes ...*chainNode) *process {
	t.Helper()
	p := newProcess(t, nil, nodes...)
	s := upstream.Snapshot{
		Chain: p.on.ID, ChainID: p.on.ChainID, MeasuredAt: time.Now(), HeadKnown: true, Head: firstHead,
		Safe: upstream.DeepHead{Number: firstSafe, VouchedAt: time.Now()},
	}
	p.on.Apply(s)
	for _, n := range nodes {
		n.safe.Store(firstSafe)
	}
	return p
}

const (
	safeBlock   = `["safe",false]`
	safeBalance = `["0xaa","safe"]`
	firstSafe   = firstHead - 100
)

// number returns the block that a result shows.
func (a got) number(t *testing.T) uint64 {
	t.Helper()
	shown, ok := quantity([]byte(a.result))
	if ok {
		return shown
	}
	p := readProof(&blockProof, []byte(a.result))
	if !p.numbered {
		p = readProof(&receiptProof, []byte(a.result))
	}
	if !p.numbered {
		t.Errorf("no number in %q %q %v", a.result, a.inBand, a.fault)
	}
	return p.number
}

func TestSafe_ANewerBlockOfTwoUpstreamsIsTheAnswerAndTheNextOnes(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead)}
	p := withSafe(t, nodes...)
	for _, n := range nodes {
		n.safe.Store(firstSafe + 5)
	}
	expect.Equal(t, p.call(t, "eth_getBlockByNumber", safeBlock, false).number(t), firstSafe+5)
	expect.Equal(t, p.call(t, "eth_getBalance", safeBalance, false).number(t), firstSafe+5)
	nodes[0].safe.Store(firstSafe + 2)
	nodes[1].safe.Store(firstSafe + 2)
	expect.Equal(t, p.call(t, "eth_getBlockByNumber", safeBlock, false).number(t), firstSafe+5, "after one went back")
}

func TestSafe_TheOnlyUpstreamIsBelieved(t *testing.T) {
	t.Parallel()
	n := newNode(t, firstHead)
	p := withSafe(t, n)
	n.safe.Store(firstSafe + 5)
	expect.Equal(t, p.call(t, "eth_getBlockByNumber", safeBlock, false).number(t), firstSafe+5)
}

func TestSafe_ABlockThatOneUpstreamMadeUpIsNotTold(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)}
	p := withSafe(t, nodes...)
	nodes[0].safe.Store(firstHead)
	a := p.call(t, "eth_getBlockByNumber", safeBlock, false)
	expect.Equal(t, a.number(t), firstSafe)
	expect.Equal(t, a.attempts, 2)
	expect.Equal(t, p.call(t, "eth_getBalance", safeBalance, false).number(t), firstSafe)
}

// A second upstream that hangs must not use up the time of a call.
func TestSafe_AnUpstreamThatHangsIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)}
	p := withSafe(t, nodes...)
	nodes[0].safe.Store(firstSafe + 5)
	nodes[2].safe.Store(firstSafe + 5)
	nodes[1].On("eth_getBlockByNumber", testkit.Hang(testkit.Result(nil)))
	began := time.Now()
	expect.Equal(t, p.call(t, "eth_getBlockByNumber", safeBlock, false).number(t), firstSafe+5)
	expect.Less(t, time.Since(began), patience/2)
}

func TestSafe_AnAnswerWithoutABlockIsAskedForByNumber(t *testing.T) {
	t.Parallel()
	n := newNode(t, firstHead)
	p := withSafe(t, n)
	n.safe.Store(firstHead + 1) // not there: null
	expect.Equal(t, p.call(t, "eth_getBlockByNumber", safeBlock, false).number(t), firstSafe)
}

func TestNearHead_PricesComeFromUpstreamsAtMostThreeSecondsBehind(t *testing.T) {
	t.Parallel()
	for lag, asked := range map[uint64]int{12: 1, 13: 0} { // blocks of 250 ms
		preferred, ahead := newNode(t, firstHead-lag), newNode(t, firstHead)
		p := newProcess(t, nil, preferred, ahead)
		a := p.call(t, "eth_gasPrice", `[]`, false)
		in := expect.In(t, "%d blocks behind", lag)
		expect.Equal(in, a.result, `"0x1"`)
		expect.Equal(in, preferred.Count("eth_gasPrice"), asked)
	}
}

func TestHold_ABlockThatTwoUpstreamsHaveIsAnsweredOnceItIsTold(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)}
	p, other := newProcess(t, server, nodes...), newProcess(t, server, nodes...)
	p.stands(t)
	other.stands(t)
	for _, n := range nodes {
		n.head.Store(firstHead + 1)
	}
	a := p.call(t, "eth_getBlockByNumber", blockParams(firstHead+1), false)
	expect.Equal(t, a.number(t), firstHead+1)
	a = other.call(t, "eth_getBalance", `["0xaa","latest"]`, false)
	expect.Equal(t, a.number(t), firstHead+1, "latest of another process")
}

func TestHold_ABlockThatOnlyOneUpstreamHasIsNotThereYet(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)}
	p := newProcess(t, testkit.Redis(t), nodes...)
	p.stands(t)
	nodes[0].head.Store(firstHead + 1)
	receipt := fmt.Sprintf("[%q]", hashOf(firstHead+1))
	expect.Equal(t, p.call(t, "eth_getBlockByNumber", blockParams(firstHead+1), false).result, "null")
	expect.Equal(t, p.call(t, "eth_getTransactionReceipt", receipt, false).result, "null")
	head, _ := p.on.Head()
	expect.Equal(t, head, firstHead, "told")
	nodes[1].head.Store(firstHead + 1)
	expect.Equal(t, p.call(t, "eth_getBlockByNumber", blockParams(firstHead+1), false).number(t), firstHead+1)
	expect.Equal(t, p.call(t, "eth_getTransactionReceipt", receipt, false).number(t), firstHead+1)
}

// syncs looks for the receipt of the transaction of a block, as eth_sendRawTransactionSync does.
func (p *process) syncs(t *testing.T, block uint64, wait time.Duration) got {
	t.Helper()
	c := &call{
		on: p.on, envelope: &Envelope{Chain: p.on, Tier: plan.Balanced, Subject: new(meter.Subject)},
		started: time.Now(),
	}
	ask := &upstream.Request{Supply: plan.Public, Tier: plan.Balanced, MaxAnswer: 1 << 20}
	answer := p.awaitReceipt(t.Context(), c, ask, hashOf(block), wait)
	defer answer.Release()
	return got{result: string(answer.Result), inBand: string(answer.Error)}
}

func TestHold_TheReceiptOfASubmissionIsAnsweredOnceItsBlockIsTold(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)}
	p, other := newProcess(t, server, nodes...), newProcess(t, server, nodes...)
	p.stands(t)
	other.stands(t)
	nodes[0].head.Store(firstHead + 1)
	expect.Contains(t, p.syncs(t, firstHead+1, 2*time.Second).inBand, `"code":4`, "while only one upstream has it")
	nodes[1].head.Store(firstHead + 1)
	expect.Contains(t, p.syncs(t, firstHead+1, patience).result, hashOf(firstHead+1))
	a := other.call(t, "eth_getBalance", `["0xaa","latest"]`, false)
	expect.Equal(t, a.number(t), firstHead+1, "latest of another process")
}

func TestHeads_ANullReceiptIsAskedOfTheFreshestOther(t *testing.T) {
	t.Parallel()
	lacking, behind, fresh := newNode(t, firstHead), newNode(t, firstHead-5), newNode(t, firstHead)
	p := newProcess(t, nil, lacking, behind, fresh)
	lacking.On("eth_getTransactionReceipt", testkit.Result(nil))
	a := p.call(t, "eth_getTransactionReceipt", fmt.Sprintf("[%q]", hashOf(firstHead)), false)
	expect.NotEqual(t, a.result, "null")
	expect.Equal(t, a.attempts, 2)
	expect.Equal(t, behind.Count("eth_getTransactionReceipt"), 0, "the one that is behind")
}

func TestHeads_AnUpstreamThatJumpsBackAnswersNothingOlder(t *testing.T) {
	t.Parallel()
	jumps, stays, also := newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)
	p := newProcess(t, testkit.Redis(t), jumps, stays, also)
	p.stands(t)
	for i := range 10 {
		jumps.head.Store(firstHead - uint64(i%2)*5000)
		in := expect.In(t, "round %d", i)
		expect.Equal(in, p.call(t, "eth_blockNumber", `[{}]`, false).result, fmt.Sprintf("%q", hexOf(firstHead)))
		expect.Equal(in, p.call(t, "eth_getBlockByNumber", `["latest",false]`, false).number(t), firstHead)
		expect.Equal(in, p.call(t, "eth_getBalance", `["0xaa","latest"]`, false).number(t), firstHead)
	}
}
