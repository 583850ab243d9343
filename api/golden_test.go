package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestWireFormats_StayAsTheyAre(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	account, door := g.Unlimited(), g.DoorKey()
	g.NewKey().Golden("welcome")
	g.NewKey()
	g.NewKey()
	g.NewKey().Golden("new key quota")
	g.Eth(account, "eth_chainId").Golden("hit")
	g.Eth("", "eth_call").Golden("key missing")
	g.Eth(account, "eth_newFilter").Golden("method not served")
	g.RPC(account, "bitcoin", apitest.Call("eth_call", "[]")).Golden("unknown chain")
	g.RPC(account, chain.EthMainnet, "not json").Golden("not json")
	g.RPC(account, chain.EthMainnet, `{"jsonrpc":"2.0","id":"x"}`).Golden("not a request")
	g.RPC(account, chain.EthMainnet, "["+strings.Repeat("1,", 1000)+"1]").Golden("batch too large")
	g.RPC("", chain.EthMainnet, apitest.BatchOf(2, "eth_call")).Golden("batch refused")
	g.RPC(account, chain.EthMainnet, apitest.Call("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x3e8"}]`)).Golden(
		"range too large")
	g.Eth(account, "eth_call", "X-Route-Tier", "slow").Golden("tier refused")
	g.RPC(account, chain.EthMainnet, "["+apitest.Call("eth_chainId", "[]")+","+apitest.Call("eth_nothing", "[]")+
		"]").Golden("batch")
	g.Ask(http.MethodGet, "/rpc/eth_mainnet", "", "").Golden("method not allowed")
	g.Ask(http.MethodGet, "/nothing", "", "").Golden("unknown route")
	g.Eth(door, "eth_nothing").Golden("door key")
	for range 100 {
		if a := g.Eth(door, "eth_chainId"); a.Status == http.StatusTooManyRequests {
			a.Golden("rate window")
			break
		}
	}
	g.All(testkit.Reset())
	g.RPC(account, chain.EthMainnet, apitest.Call("eth_sendRawTransaction",
		`["0x02f86b010780"]`)).Golden("outcome unknown")
	g.All(testkit.HTML(http.StatusBadGateway))
	g.Eth(account, "eth_call").Golden("upstream failed")
	g.All(testkit.ErrorWithData(3, "execution reverted", "0x08c379a0"))
	g.Eth(account, "eth_call").Golden("error in band")
	g.Suspend(door)
	g.Eth(door, "eth_call").Golden("suspended")
	g.Redis.Kill(t)
	g.Eth(account, "eth_call").Golden("meter unreachable")
}
