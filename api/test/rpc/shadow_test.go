package rpc_test

import (
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

// A provider on trial sees reads that can be compared, and costs clients nothing.
func TestShadow_GetsCopiesOfReadsThatCanBeCompared(t *testing.T) {
	t.Parallel()
	sub := apitest.Submissions()[0]
	s := setupSpecialOn(t, sub, config.KindNode, 1, func(list []config.Upstream) { list[0].Shadow = "100%" })
	trial := s.of[0]
	s.node.On(sub.Method, testkit.Result(sub.Wanted))
	s.send().Result()
	for method, params := range map[string]string{
		"eth_getBlockByNumber": `["pending",false]`, "eth_gasPrice": `[]`,
	} {
		s.node.On(method, testkit.Result(nil))
		s.RPC(s.key, sub.Chain, apitest.Call(method, params)).Result()
	}
	for _, u := range []*testkit.UpstreamServer{s.node, trial} {
		u.On("eth_getCode", testkit.Result("0x12"))
	}
	params := `["0x0000000000000000000000000000000000000001","latest"]`
	expect.Equal(t, s.RPC(s.key, chain.EthMainnet, apitest.Call("eth_getCode", params)).Result(), `"0x12"`)
	on, _ := s.Pool.Chain(chain.EthMainnet)
	testkit.Eventually(t, apitest.Timeout, func() bool {
		for _, f := range on.Figures() {
			if f.Upstream == "node-a" {
				return f.Compared == 1 && f.Disagreed == 0
			}
		}
		return false
	}, "the copy is compared")
	expect.Equal(t, trial.Total(), 1, "requests to the shadow")
	expect.Equal(t, s.Usage(s.key)["ok"], apitest.Figures{Requests: 4, Units: 4000}, "charged")
}
