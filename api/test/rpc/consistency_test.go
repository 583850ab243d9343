package rpc_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

const consistency = "X-Route-Consistency"

// oneBehind starts a gateway whose first upstream is preferred and a block behind the second.
func oneBehind(t *testing.T) *apitest.Gateway {
	t.Helper()
	g := apitest.Setup(t)
	on, _ := g.Pool.Chain(chain.EthMainnet)
	s := upstream.Snapshot{Chain: chain.EthMainnet, MeasuredAt: time.Now(), Head: apitest.Head, HeadKnown: true}
	for i, head := range []uint64{apitest.Head - 1, apitest.Head} {
		name := fmt.Sprintf("up-%d", i)
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Name: name, Fingerprint: on.Fingerprint(name), Usable: true, ChainIDOK: true, Head: head,
			LatencyMicros: int64(1000 << (6 * i)),
		})
		g.Ups[i].On("eth_blockNumber", testkit.Result(fmt.Sprintf("%#x", head)))
	}
	on.Apply(s)
	return g
}

func TestConsistency_HeadAsksOnlyUpstreamsThatHaveTheHead(t *testing.T) {
	t.Parallel()
	g := oneBehind(t)
	key := g.Unlimited()
	g.AllOn("net_peerCount", testkit.Result("0x5"))
	g.Eth(key, "net_peerCount").Result()
	expect.Equal(t, g.Ups[0].Count("net_peerCount"), 1, "without the header, the preferred upstream")
	g.Eth(key, "net_peerCount", consistency, "head").Result()
	expect.Equal(t, g.Ups[0].Count("net_peerCount"), 1, "with the header, the upstream that is behind")
	expect.Equal(t, g.Ups[1].Count("net_peerCount"), 1, "with the header, the upstream at the head")
}

func TestConsistency_HeadHoldsForEveryItemOfABatch(t *testing.T) {
	t.Parallel()
	g := oneBehind(t)
	g.AllOn("net_peerCount", testkit.Result("0x5"))
	a := g.RPC(g.Unlimited(), chain.EthMainnet, apitest.BatchOf(3, "net_peerCount"), consistency, "head")
	for _, item := range a.Batch(3) {
		expect.Equal(t, string(item.Result), `"0x5"`)
	}
	expect.Equal(t, g.Ups[0].Count("net_peerCount"), 0, "calls of the upstream that is behind")
}

func TestConsistency_RefusesAnotherValue(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.Eth(key, "net_peerCount", consistency, "strong").Refused(400, -32602)
	expect.Equal(t, g.Sent("net_peerCount"), 0, "calls that were relayed")
	expect.Equal(t, g.Usage(key)["ok"], apitest.Figures{}, "charged")
}

func TestConsistency_ANullForAToldBlockIsRefusedAndRefunded(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.AllOn("eth_getBlockByNumber", testkit.Result(nil))
	day, period := g.Counted(key)
	params := fmt.Sprintf(`["%#x",false]`, apitest.Head)
	a := g.RPC(key, chain.EthMainnet, apitest.Call("eth_getBlockByNumber", params))
	a.Refused(502, -32022)
	expect.Equal(t, a.Header.Get("Retry-After"), "1")
	expect.Equal(t, g.Sent("eth_getBlockByNumber"), 2, "upstreams that were asked")
	gotDay, gotPeriod := g.Counted(key)
	expect.Equal(t, gotDay, day, "units of the day")
	expect.Equal(t, gotPeriod, period, "units of the period")
}
