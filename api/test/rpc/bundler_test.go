package rpc_test

import (
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

const userOperation = `[{"sender":"0x0000000000000000000000000000000000000001"},` +
	`"0x0000000071727De22E5E9d8BAf0edAc6f37da032"]`

func TestBundler_TakesUserOperationsOnce(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindBundler, 2)
	for _, u := range s.of {
		u.On("eth_sendUserOperation", testkit.Raw(http.StatusInternalServerError, "text/plain", ""))
	}
	a := s.RPC(s.key, chain.EthMainnet, apitest.Call("eth_sendUserOperation", userOperation))
	data := a.Refused(http.StatusConflict, -32017)
	expect.NotContains(t, a.Body, "transaction")
	expect.Contains(t, data["rule"].(string), "user operation") //nolint:errcheck,forcetypeassert // a string
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

// A pending operation may be known to one bundler only.
func TestBundler_ANullIsAskedOfAnother(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"eth_getUserOperationByHash", "eth_getUserOperationReceipt"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := setupSpecial(t, config.KindBundler, 2)
			s.of[0].On(method, testkit.Result(nil))
			s.of[1].On(method, testkit.Result("0x1"))
			params := `["` + apitest.Hash(1) + `"]`
			expect.Equal(t, s.RPC(s.key, chain.EthMainnet, apitest.Call(method, params)).Result(), `"0x1"`)
			s.of[1].On(method, testkit.Result(nil))
			expect.Equal(t, s.RPC(s.key, chain.EthMainnet, apitest.Call(method, params)).Result(), "null")
			expect.Equal(t, s.Usage(s.key)["ok"], apitest.Figures{Requests: 2, Units: 2000}, "charged")
		})
	}
}

// What a bundler says of an operation is its answer, also in words that providers use for limits.
func TestBundler_RefusalsOfAnOperationAreItsAnswer(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindBundler, 2)
	for _, u := range s.of {
		u.On("eth_sendUserOperation", testkit.Error(-32504, "paymaster is throttled or banned"))
	}
	for range 12 { // more than a bundler may be throttled before it is excluded
		a := s.RPC(s.key, chain.EthMainnet, apitest.Call("eth_sendUserOperation", userOperation))
		expect.Equal(t, a.Status, http.StatusOK)
		expect.Contains(t, a.Body, "-32504")
	}
	on, _ := s.Pool.Chain(chain.EthMainnet)
	for _, f := range on.Figures() {
		expect.Equal(t, f.Throttled, 0, f.Upstream)
	}
}

func TestBundler_PrivateOperationsAreRefused(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindBundler, 1)
	s.RPC(s.key, chain.EthMainnet, apitest.Call("eth_sendUserOperation", userOperation), submission, "private").
		Refused(http.StatusBadRequest, -32602)
	expect.Equal(t, s.sent("eth_sendUserOperation"), 0, "requests")
}

func TestBundler_IsNotAskedForTheHead(t *testing.T) {
	t.Parallel()
	s := setupSpecial(t, config.KindBundler, 1)
	s.of[0].On("eth_supportedEntryPoints", testkit.Result([]string{}))
	a := s.RPC(s.key, chain.EthMainnet, apitest.Call("eth_supportedEntryPoints", `[]`), consistency, "head")
	expect.Equal(t, a.Result(), "[]")
	expect.Equal(t, s.sent("eth_blockNumber"), 0, "questions for the head")
}
