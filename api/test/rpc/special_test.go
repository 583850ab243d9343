package rpc_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

const submission = "X-Route-Submission"

// special is a gateway with a node and upstreams of a special kind on Ethereum.
type special struct {
	*apitest.Gateway

	node *testkit.UpstreamServer
	of   []*testkit.UpstreamServer // of the special kind
	sub  apitest.Submission
	key  string
}

func setupSpecial(t *testing.T, kind string, n int) *special {
	t.Helper()
	return setupSpecialOn(t, apitest.Submissions()[0], kind, n, nil)
}

// setupSpecialOn sends a submission to its chain. change may change the special upstreams.
func setupSpecialOn(t *testing.T, sub apitest.Submission, kind string, n int, change func([]config.Upstream),
) *special {
	t.Helper()
	s := &special{node: testkit.Upstream(t), sub: sub}
	list := []config.Upstream{{Name: "up-0", URL: s.node.URL, Supply: string(plan.Public)}}
	for i := range n {
		u := testkit.Upstream(t)
		s.of = append(s.of, u)
		list = append(list, config.Upstream{
			Name: kind + "-" + string(rune('a'+i)), URL: u.URL, Kind: kind, Supply: string(plan.Public),
		})
	}
	if change != nil {
		change(list[1:])
	}
	s.Gateway = apitest.Setup(t, func(o *apitest.Options) {
		o.Providers = &config.Upstreams{Chains: map[string]config.ChainUpstreams{
			string(sub.Chain): {Upstreams: list},
		}}
	})
	apitest.ApplyHealthy(s.Pool, sub.Chain, time.Now(), 1)
	s.key = s.Unlimited()
	return s
}

func (s *special) send(headers ...string) apitest.Answer {
	s.T.Helper()
	return s.RPC(s.key, s.sub.Chain, apitest.Call(s.sub.Method, s.sub.Params), headers...)
}

func (s *special) sent(method string) (n int) {
	for _, u := range s.of {
		n += u.Count(method)
	}
	return n
}

const sendRaw = "eth_sendRawTransaction"

func TestPrivate_SubmissionGoesToOnePrivateEndpointOnce(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindPrivate, 2)
	wanted := apitest.Submissions()[0].Wanted
	for _, u := range s.of {
		u.On(sendRaw, testkit.Result(wanted))
	}
	expect.Equal(t, s.send(submission, "private").Result(), `"`+wanted+`"`)
	expect.Equal(t, s.sent(sendRaw), 1, "requests to private endpoints")
	expect.Equal(t, s.node.Count(sendRaw), 0, "requests to the node")

	// Its status is read from the nodes, as that of any transaction.
	s.node.On("eth_getTransactionByHash", testkit.Result(nil))
	a := s.RPC(s.key, chain.EthMainnet, apitest.Call("eth_getTransactionByHash", `["`+wanted+`"]`), submission,
		"private")
	expect.Equal(t, a.Result(), "null")
	expect.Equal(t, s.sent("eth_getTransactionByHash"), 0, "reads of private endpoints")
}

func TestPrivate_WithoutTheHeaderNodesGetSubmissions(t *testing.T) {
	t.Parallel()
	for _, headers := range [][]string{nil, {submission, "public"}} {
		s := setupSpecial(t, config.KindPrivate, 1)
		s.node.On(sendRaw, testkit.Result("0x01"))
		s.send(headers...).Result()
		expect.Equal(t, s.node.Count(sendRaw), 1, "requests to the node")
		expect.Equal(t, s.sent(sendRaw), 0, "requests to private endpoints")
	}
}

// A private submission is never sent to a node instead.
func TestPrivate_NoSubmissionFallsBackToANode(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindPrivate, 1)
	s.of[0].On(sendRaw, testkit.Raw(http.StatusServiceUnavailable, "text/plain", "down"))
	s.send(submission, "private").Refused(http.StatusConflict, -32017)
	expect.Equal(t, s.sent(sendRaw), 1, "requests to private endpoints")
	expect.Equal(t, s.node.Count(sendRaw), 0, "requests to the node")
}

func TestPrivate_WithoutAnEndpointNothingIsSentOrCharged(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	sub := apitest.Submissions()[0]
	g.RPC(key, chain.EthMainnet, apitest.Call(sub.Method, sub.Params), submission, "private").Refused(400, -32602)
	g.RPC(key, chain.EthMainnet, apitest.Call(sub.Method, sub.Params), submission, "secret").Refused(400, -32602)
	expect.Equal(t, g.Sent(sendRaw), 0, "requests")
	day, _ := g.Counted(key)
	expect.Equal(t, day, 0, "charged")
}

func TestPrivate_ItemsOfABatchAreSentPrivately(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindPrivate, 1)
	s.of[0].On(sendRaw, testkit.Result("0x01"))
	s.node.On("net_peerCount", testkit.Result("0x5"))
	body := `[{"jsonrpc":"2.0","id":1,"method":"` + sendRaw + `","params":["0x02"]},` +
		`{"jsonrpc":"2.0","id":2,"method":"net_peerCount","params":[]}]`
	items := s.RPC(s.key, chain.EthMainnet, body, submission, "private").Batch(2)
	expect.Equal(t, string(items[0].Result), `"0x01"`)
	expect.Equal(t, string(items[1].Result), `"0x5"`)
	expect.Equal(t, s.sent(sendRaw), 1, "requests to private endpoints")
	expect.Equal(t, s.sent("net_peerCount"), 0, "reads of private endpoints")
}

// A proxy that adds the header must not make a private submission public.
func TestPrivate_AHeaderThatComesTwiceIsRefused(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindPrivate, 1)
	s.send(submission, "public", submission, "private").Refused(http.StatusBadRequest, -32602)
	expect.Equal(t, s.sent(sendRaw)+s.node.Count(sendRaw), 0, "requests")
	day, _ := s.Counted(s.key)
	expect.Equal(t, day, 0, "charged")
}

func TestPrivate_OnSolana(t *testing.T) {
	t.Parallel()
	sub := apitest.Submissions()[1]
	s := setupSpecialOn(t, sub, config.KindPrivate, 1, nil)
	s.of[0].On(sub.Method, testkit.Result(sub.Wanted))
	expect.Equal(t, s.send(submission, "private").Result(), `"`+sub.Wanted+`"`)
	expect.Equal(t, s.sent(sub.Method), 1, "requests to private endpoints")
	expect.Equal(t, s.node.Count(sub.Method), 0, "requests to the node")
}

// The receipt is looked for at nodes, because private endpoints answer no reads.
func TestPrivate_SyncIsPostedPrivately(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindPrivate, 1)
	s.of[0].On(sendRaw, testkit.Result(s.sub.Wanted))
	receipt := map[string]string{"transactionHash": s.sub.Wanted, "status": "0x1"}
	s.node.On("eth_getTransactionReceipt", testkit.Result(receipt))
	a := s.RPC(s.key, s.sub.Chain, apitest.Call("eth_sendRawTransactionSync", s.sub.Params), submission, "private")
	expect.Contains(t, a.Result(), s.sub.Wanted)
	expect.Equal(t, s.sent(sendRaw), 1, "requests to private endpoints")
	expect.Equal(t, s.node.Count(sendRaw), 0, "submissions to the node")
	expect.Equal(t, s.sent("eth_getTransactionReceipt"), 0, "reads of private endpoints")
}

// A refused connection proves that nothing was sent, so another private endpoint may be asked.
func TestPrivate_AnotherEndpointIsTriedOnlyIfNothingWasSent(t *testing.T) {
	t.Parallel()
	s := setupSpecialOn(t, apitest.Submissions()[0], config.KindPrivate, 2, func(list []config.Upstream) {
		list[0].URL = "http://" + testkit.ClosedAddress(t)
	})
	s.of[1].On(sendRaw, testkit.Result("0x01"))
	expect.Equal(t, s.send(submission, "private").Result(), `"0x01"`)
	expect.Equal(t, s.node.Count(sendRaw), 0, "requests to the node")
}

func TestPrivate_SupplyAndRateOfAnEndpointHold(t *testing.T) {
	t.Parallel()
	t.Run("supply", func(t *testing.T) {
		t.Parallel()
		s := setupSpecialOn(t, apitest.Submissions()[0], config.KindPrivate, 1, func(list []config.Upstream) {
			list[0].Supply = string(plan.Premium)
		})
		s.RPC(s.DoorKey(), s.sub.Chain, apitest.Call(s.sub.Method, s.sub.Params), submission, "private").
			Refused(http.StatusServiceUnavailable, -32020)
		expect.Equal(t, s.sent(sendRaw)+s.node.Count(sendRaw), 0, "requests")
	})
	t.Run("rate", func(t *testing.T) {
		t.Parallel()
		s := setupSpecialOn(t, apitest.Submissions()[0], config.KindPrivate, 1, func(list []config.Upstream) {
			list[0].MaxPerSecond = 0.001
		})
		s.of[0].On(sendRaw, testkit.Result("0x01"))
		s.send(submission, "private").Result()
		s.send(submission, "private").Refused(http.StatusServiceUnavailable, -32020)
		expect.Equal(t, s.sent(sendRaw), 1, "requests to the endpoint")
		expect.Equal(t, s.node.Count(sendRaw), 0, "requests to the node")
	})
}

func TestPrivate_TrafficIsNotTheChains(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindPrivate, 1)
	s.of[0].On(sendRaw, testkit.Status(http.StatusServiceUnavailable))
	s.send(submission, "private").Refused(http.StatusConflict, -32017)
	on, _ := s.Pool.Chain(chain.EthMainnet)
	for _, slot := range on.Slots() {
		expect.Equal(t, slot.Calls, 0, "calls")
		expect.Equal(t, slot.Lost, 0, "lost")
	}
}

func TestPrivate_AWrongChainIsNeverUsed(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindPrivate, 1)
	on, _ := s.Pool.Chain(chain.EthMainnet)
	snapshot := upstream.Snapshot{
		Chain: chain.EthMainnet, MeasuredAt: time.Now(), Special: []upstream.UpstreamState{{
			Name: "private-a", Fingerprint: on.Fingerprint("private-a"), Reason: upstream.ReasonWrongChain,
		}},
	}
	on.Apply(snapshot)
	s.send(submission, "private").Refused(http.StatusServiceUnavailable, -32020)
	expect.Equal(t, s.sent(sendRaw), 0, "requests to private endpoints")
}
