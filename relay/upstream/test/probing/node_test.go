package probing

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

// node is a scripted node of Ethereum with a block every twelve seconds of its clock.
type node struct {
	*testkit.UpstreamServer

	now func() time.Time

	mu        sync.Mutex    // guards what follows
	lead      int64         // added to the true head in answers
	blockTime time.Duration // of its chain; zero means the constant blockTime
	forges    bool          // it has blocks up to the head that it claims, with plausible times
	fork      uint64        // blocks above this height are of another branch; 0 for none
	branch    string        // its name
	// tags are the tags that it knows besides latest, with their distance below the head that it
	// claims.
	tags map[string]int64
}

const (
	blockTime   = 12 * time.Second
	trueGenesis = upstreamtest.Head // the head at noon
)

func newNode(t *testing.T, now func() time.Time) *node {
	t.Helper()
	n := &node{UpstreamServer: testkit.Upstream(t), now: now}
	n.Default(testkit.Error(-32601, "method not found"))
	n.On("eth_chainId", testkit.Result("0x1"))
	n.On("eth_blockNumber", testkit.ResultOf(func(testkit.Request) any { return fmt.Sprintf("0x%x", n.claims()) }))
	n.On("eth_getBlockByNumber", testkit.ResultOf(n.block))
	return n
}

// set changes the node's behaviour.
func (n *node) set(change func(n *node)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

// trueHead returns the head of the chain that honest nodes follow.
//
//nolint:gosec // after noon
func trueHead(now time.Time) uint64 {
	return trueGenesis + uint64(now.Sub(upstreamtest.Noon)/blockTime)
}

func (n *node) claims() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return uint64(int64(n.head()) + n.lead) //nolint:gosec // small
}

// head returns the head of the chain that the node follows. The caller holds mu.
func (n *node) head() uint64 {
	if n.blockTime == 0 {
		return trueHead(n.now())
	}
	return trueGenesis + uint64(n.now().Sub(upstreamtest.Noon)/n.blockTime) //nolint:gosec // after noon
}

func (n *node) block(r testkit.Request) any {
	var params []any
	if json.Unmarshal(r.Params, &params) != nil || len(params) != 2 {
		return nil
	}
	height, err := strconv.ParseUint(fmt.Sprint(params[0]), 0, 64)
	claimed := n.claims()
	n.mu.Lock()
	defer n.mu.Unlock()
	if depth, tagged := n.tags[fmt.Sprint(params[0])]; tagged {
		return map[string]any{"number": fmt.Sprintf("0x%x", int64(claimed)-depth)} //nolint:gosec // small
	}
	head := n.head()
	exists := height <= head && height <= claimed || n.forges && height <= claimed
	if err != nil || !exists {
		return nil
	}
	branch := ""
	if n.fork > 0 && height > n.fork {
		branch = n.branch
	}
	at := upstreamtest.Noon.Add(time.Duration(int64(height)-trueGenesis) * blockTime) //nolint:gosec // small
	if n.forges {
		at = n.now()
	}
	return map[string]any{
		"number": fmt.Sprintf("0x%x", height), "hash": fmt.Sprintf("0x%s%d", branch, height),
		"timestamp": fmt.Sprintf("0x%x", at.Unix()),
	}
}

// network is several nodes and a pool of them.
type network struct {
	*testing.T
	clock *testkit.Clock
	nodes []*node
	pool  *upstream.Pool
	chain *upstream.Chain
	last  upstream.Snapshot
}

func newNetwork(t *testing.T, nodes int) *network {
	t.Helper()
	n := &network{T: t, clock: testkit.NewClock(upstreamtest.Noon)}
	for range nodes {
		n.nodes = append(n.nodes, newNode(t, n.clock.Now))
	}
	n.restart(false)
	return n
}

// restart replaces the pool, as a worker's restart does, with the last snapshot from the board or
// without.
func (n *network) restart(remembering bool) {
	n.Helper()
	var servers []*testkit.UpstreamServer
	for _, u := range n.nodes {
		servers = append(servers, u.UpstreamServer)
	}
	n.pool, n.chain = upstreamtest.NewChain(n.T, chain.EthMainnet, n.clock.Now, upstreamtest.Providers(servers...))
	if !remembering {
		return
	}
	raw, err := json.Marshal(n.last)
	if err != nil {
		n.Fatal(err)
	}
	posted := upstream.Posted{Known: true}
	if err := json.Unmarshal(raw, &posted.Snapshot); err != nil {
		n.Fatal(err)
	}
	n.pool.Recall(chain.EthMainnet, posted)
}

// round advances the clock by twelve seconds and probes.
func (n *network) round() upstream.Snapshot {
	n.Helper()
	n.clock.Advance(blockTime)
	n.last = probe(n.T, n.pool, chain.EthMainnet)
	return n.last
}
