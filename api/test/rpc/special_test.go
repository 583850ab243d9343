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
	key  string
}

func setupSpecial(t *testing.T, kind string, n int) *special {
	t.Helper()
	s := &special{node: testkit.Upstream(t)}
	list := []config.Upstream{{Name: "up-0", URL: s.node.URL, Supply: string(plan.Public)}}
	for i := range n {
		u := testkit.Upstream(t)
		s.of = append(s.of, u)
		list = append(list, config.Upstream{
			Name: kind + "-" + string(rune('a'+i)), URL: u.URL, Kind: kind, Supply: string(plan.Public),
		})
	}
	s.Gateway = apitest.Setup(t, func(o *apitest.Options) {
		o.Providers = &config.Upstreams{Chains: map[string]config.ChainUpstreams{
			string(chain.EthMainnet): {Upstreams: list},
		}}
	})
	apitest.ApplyHealthy(s.Pool, chain.EthMainnet, time.Now(), 1)
	s.key = s.Unlimited()
	return s
}

func (s *special) send(headers ...string) apitest.Answer {
	s.T.Helper()
	sub := apitest.Submissions()[0]
	return s.RPC(s.key, chain.EthMainnet, apitest.Call(sub.Method, sub.Params), headers...)
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

const userOperation = `[{"sender":"0x0000000000000000000000000000000000000001"},` +
	`"0x0000000071727De22E5E9d8BAf0edAc6f37da032"]`

func TestBundler_TakesUserOperationsOnce(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindBundler, 2)
	for _, u := range s.of {
		u.On("eth_sendUserOperation", testkit.Raw(http.StatusInternalServerError, "text/plain", ""))
	}
	s.RPC(s.key, chain.EthMainnet, apitest.Call("eth_sendUserOperation", userOperation)).
		Refused(http.StatusConflict, -32017)
	expect.Equal(t, s.sent("eth_sendUserOperation"), 1, "requests to bundlers")
	expect.Equal(t, s.node.Count("eth_sendUserOperation"), 0, "requests to the node")
}

func TestBundler_ReadsFailOver(t *testing.T) {
	t.Parallel()
	for _, method := range []string{
		"eth_estimateUserOperationGas", "eth_getUserOperationByHash", "eth_getUserOperationReceipt",
		"eth_supportedEntryPoints",
	} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := setupSpecial(t, config.KindBundler, 2)
			s.of[0].On(method, testkit.Raw(http.StatusServiceUnavailable, "text/plain", ""))
			s.of[1].On(method, testkit.Result("0x1"))
			a := s.RPC(s.key, chain.EthMainnet, apitest.Call(method, `[]`))
			expect.Equal(t, a.Result(), `"0x1"`)
			expect.Equal(t, s.node.Count(method), 0, "requests to the node")
			expect.Equal(t, s.Usage(s.key)["ok"], apitest.Figures{Requests: 1, Units: 1000}, "charged")
		})
	}
}

func TestBundler_WithoutOneTheMethodsAreNotServed(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, method := range []string{"eth_sendUserOperation", "eth_supportedEntryPoints"} {
		data := g.RPC(key, chain.EthMainnet, apitest.Call(method, `[]`)).Refused(404, -32601)
		expect.Equal(t, data["suggestion"], nil, method)
	}
	expect.Equal(t, g.Sent("eth_sendUserOperation"), 0, "requests")
	day, _ := g.Counted(key)
	expect.Equal(t, day, 0, "charged")
}
