package relay

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
)

// headCalls is how many calls the property test makes:
// go test ./relay -run Property -head-calls 1000000.
var headCalls = flag.Int64("head-calls", 3000, "calls of the property test of heads")

// minGrowth is how many blocks the chain makes at least.
const minGrowth = 10

// TestHeads_PropertyNoClientSeesABlockAndThenNone has clients ask two processes over three
// upstreams whose lag changes at random. Whatever a client was told, no later answer contradicts
// it.
func TestHeads_PropertyNoClientSeesABlockAndThenNone(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)}
	for _, n := range nodes {
		n.sees(firstHead)
	}
	processes := [2]*process{newProcess(t, server, nodes...), newProcess(t, server, nodes...)}
	for _, p := range processes {
		p.stands(t)
	}
	done := make(chan struct{})
	var chainOf, clients sync.WaitGroup
	chainOf.Go(func() { grow(nodes, done) })
	var calls, refused, grown atomic.Int64
	for i := range 4 {
		clients.Go(func() {
			c := client{t: t, processes: processes, random: rand.New(rand.NewPCG(7, uint64(i)))}
			for (calls.Load() < *headCalls || c.told < firstHead+minGrowth) && !t.Failed() {
				c.step()
				calls.Add(1)
			}
			refused.Add(c.refused)
			grown.Store(int64(c.told - firstHead)) //nolint:gosec // small
		})
	}
	clients.Wait()
	close(done)
	chainOf.Wait()
	t.Logf("%d calls, of which %d were refused; the head grew by %d blocks", calls.Load(), refused.Load(), grown.Load())
	if refused.Load() > calls.Load()/50 {
		t.Errorf("%d of %d calls were refused", refused.Load(), calls.Load())
	}
}

// grow has the chain make a block every 200 ms, which each node sees up to 8 blocks
// later.
func grow(nodes []*chainNode, done <-chan struct{}) {
	random := rand.New(rand.NewPCG(1, 1))
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for head := firstHead; ; head++ {
		for _, n := range nodes {
			n.sees(max(n.head.Load(), head-random.Uint64N(9)))
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// sees has a node know a head. Its safe and finalized blocks advance by eight.
func (n *chainNode) sees(head uint64) {
	n.head.Store(head)
	n.safe.Store(head - head%8 - 16)
	n.finalized.Store(head - head%8 - 32)
}

// client remembers the highest blocks that it was told.
type client struct {
	t               *testing.T
	processes       [2]*process
	random          *rand.Rand
	told            uint64
	safe, finalized uint64
	refused         int64
}

// step makes one call and checks its answer.
func (c *client) step() {
	p := c.processes[c.random.IntN(2)]
	known := max(c.told, firstHead)
	method, params, check := c.choose(known)
	a := p.call(c.t, method, params, false)
	switch {
	case a.fault != nil:
		c.refused++
	case a.inBand != "":
		c.t.Errorf("%s %s after %d: %s", method, params, known, a.inBand)
	default:
		check([]byte(a.result))
	}
}

func (c *client) choose(known uint64) (method, params string, check func([]byte)) {
	if c.random.IntN(100) == 0 {
		return "eth_getBlockByNumber", blockParams(known + 1), func(result []byte) {
			if string(result) != "null" { // it may be there, and counts then
				c.block(result, known, false)
			}
		}
	}
	switch c.random.IntN(9) {
	case 7:
		return c.deep("safe", &c.safe)
	case 8:
		return c.deep("finalized", &c.finalized)
	case 0:
		return "eth_blockNumber", `[]`, func(result []byte) { c.see(result, known, "eth_blockNumber") }
	case 1:
		return "eth_getBalance", `["0xaa","latest"]`, func(result []byte) { c.see(result, known, "latest") }
	case 2:
		return "eth_getBlockByNumber", `["latest",false]`, func(result []byte) { c.block(result, known, false) }
	case 3:
		return "eth_getBlockByNumber", blockParams(known), func(result []byte) { c.block(result, known, true) }
	case 4:
		params = fmt.Sprintf("[%q]", hashOf(known))
		return "eth_getTransactionReceipt", params, func(result []byte) {
			if string(result) == "null" {
				c.t.Errorf("the receipt of block %d is null after it was told", known)
			}
		}
	case 5:
		params = fmt.Sprintf(`["0xaa",%q]`, hexOf(known))
		return "eth_getBalance", params, func(result []byte) { c.see(result, known, "a state read") }
	}
	params = fmt.Sprintf(`[{"fromBlock":%q}]`, hexOf(known-2))
	return "eth_getLogs", params, func(result []byte) {
		var logs []struct{ BlockNumber string }
		if err := json.Unmarshal(result, &logs); err != nil || len(logs) < 3 {
			c.t.Errorf("%d logs up to the head after %d was told, %v", len(logs), known, err)
			return
		}
		c.tell(numberOf(logs[len(logs)-1].BlockNumber, 0), known, "eth_getLogs")
	}
}

// deep asks for the block of a tag, or for the state at it. Neither is older than what was told.
func (c *client) deep(tag string, told *uint64) (method, params string, check func([]byte)) {
	known := *told
	if c.random.IntN(2) == 0 {
		return "eth_getBalance", fmt.Sprintf(`["0xaa",%q]`, tag), func(result []byte) {
			n, _ := quantity(result)
			if n < known {
				c.t.Errorf("the state at %s is of %d after %d was told", tag, n, known)
			}
			*told = max(known, n)
		}
	}
	return "eth_getBlockByNumber", fmt.Sprintf(`[%q,false]`, tag), func(result []byte) {
		shown := readProof(&blockProof, result)
		if !shown.numbered || shown.number < known {
			c.t.Errorf("the %s block is %s after %d was told", tag, result, known)
		}
		*told = max(known, shown.number)
	}
}

func (c *client) block(result []byte, known uint64, exact bool) {
	var b struct{ Number string }
	if err := json.Unmarshal(result, &b); err != nil || b.Number == "" {
		c.t.Errorf("a block is %s after %d was told", result, known)
		return
	}
	number := numberOf(b.Number, 0)
	if exact && number != known {
		c.t.Errorf("block %d is answered with block %d", known, number)
	}
	c.tell(number, known, "eth_getBlockByNumber")
}

func (c *client) see(result []byte, known uint64, what string) {
	var text string
	if err := json.Unmarshal(result, &text); err != nil {
		c.t.Errorf("%s is %s", what, result)
		return
	}
	c.tell(numberOf(text, 0), known, what)
}

func (c *client) tell(number, known uint64, what string) {
	if number < known {
		c.t.Errorf("%s is at %d after %d was told", what, number, known)
	}
	c.told = max(known, number)
}
