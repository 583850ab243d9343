package rpc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

const gnosis = chain.ID("gnosis")

// withGnosis adds a chain that is not built in, next to Ethereum.
func withGnosis(t *testing.T) *apitest.Gateway {
	t.Helper()
	known, wrong := chain.BuiltIn().With(chain.Definition{
		ID: gnosis, Title: "Gnosis Chain", ChainID: 100, BlockTime: 5 * time.Second, FinalDepth: 10, MaxLogBlocks: 500,
		Coin: "xDAI", Methods: []chain.Addition{{Name: "gno_blockRewards", Weight: 2, TTL: time.Minute}},
	})
	require.Empty(t, wrong)
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Known, o.Chains = known, []chain.ID{chain.EthMainnet, gnosis}
	})
	g.AllOn("eth_getLogs", testkit.Result([]string{}))
	g.AllOn("eth_getBalance", testkit.Result("0xde0b6b3a7640000"))
	g.AllOn("gno_blockRewards", testkit.Result("0x2a"))
	return g
}

func TestAddedChain_IsMeteredByTheContractsWeights(t *testing.T) {
	t.Parallel()
	g := withGnosis(t)
	key := g.AccountKey(plan.Enterprise)
	for _, step := range []struct {
		method, params string
		units          plan.Units
	}{
		{"eth_chainId", `[]`, 0},
		{"eth_call", `[]`, 1000},
		{"eth_getBalance", `["0x0","earliest"]`, 2000},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x80"}]`, 1000},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x1f4"}]`, 2000},
		{"gno_blockRewards", `[]`, 2000},
		{"gno_blockRewards", `[]`, 0},
		{"gno_blockRewards", `["0x1"]`, 2000},
	} {
		before := g.Usage(key)["ok"].Units
		g.RPC(key, gnosis, apitest.Call(step.method, step.params)).Result()
		expect.Equal(t, g.Usage(key)["ok"].Units-before, step.units, step.method+" "+step.params)
	}
	expect.Equal(t, g.RPC(key, gnosis, apitest.Call("eth_chainId", `[]`)).Result(), `"0x64"`)
	expect.Equal(t, g.Sent("gno_blockRewards"), 2)

	over := g.RPC(key, gnosis, apitest.Call("eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x1f5"}]`))
	expect.Equal[any](t, over.Refused(400, -32602)["max_blocks"], 500.0)
	g.RPC(key, chain.EthMainnet, apitest.Call("gno_blockRewards", `[]`)).Refused(http.StatusNotFound, -32601)
	unknown := g.RPC(key, "sepolia", apitest.Call("eth_call", `[]`))
	unknown.Refused(http.StatusNotFound, -32600)
	expect.Contains(t, unknown.Body, "solana_mainnet, gnosis")
}

func TestAddedChain_CachesByItsOwnFinality(t *testing.T) {
	t.Parallel()
	g := withGnosis(t)
	key := g.Unlimited()
	for height, hit := range map[uint64]bool{apitest.Head - 10: true, apitest.Head - 9: false} {
		hash := fmt.Sprintf("0x%064x", height)
		g.AllOn("eth_getBlockByHash", testkit.Result(map[string]string{
			"hash": hash, "number": fmt.Sprintf("0x%x", height),
		}))
		ask := func(id chain.ID) bool {
			return g.RPC(key, id, apitest.Call("eth_getBlockByHash", `["`+hash+`",false]`)).Hit()
		}
		ask(gnosis)
		expect.Equal(t, ask(gnosis), hit, fmt.Sprint(height))
		ask(chain.EthMainnet)
		expect.False(t, ask(chain.EthMainnet), "64 blocks there")
	}
}

func TestAddedChain_IsOnStatementsAndUsage(t *testing.T) {
	t.Parallel()
	g := withGnosis(t)
	key := g.DoorKey()
	g.RPC(key, gnosis, apitest.Call("eth_call", `[]`)).Result()
	g.Record(g.Identity(key).Account)
	month := time.Now().UTC().Format("2006-01") + "-01"
	expect.Contains(t, g.Ask(http.MethodGet, "/api/statements/"+month+".csv", key, "").Body, "gnosis")
	statement := g.Ask(http.MethodGet, "/api/statements/"+month, key, "")
	require.Equal(t, statement.Status, http.StatusOK)
	expect.Contains(t, statement.Body, `"chain":"gnosis"`)
	used := mcpTool(g, key, "get_usage", `{"view":"report","chain":"gnosis"}`)
	expect.Contains(t, used.Body, `"requests":1`)
	unknown := mcpTool(g, key, "get_usage", `{"view":"report","chain":"sepolia"}`)
	expect.Contains(t, unknown.Body, "solana_mainnet, gnosis")
}

func TestAddedChain_IsWhereChainsAreListed(t *testing.T) {
	t.Parallel()
	g := withGnosis(t)
	key := g.DoorKey()
	for path, word := range map[string]string{
		"/openapi.json": `"gnosis"`, "/docs/methods": `"gnosis"`, "/status.json": `"gnosis"`,
		"/docs/quickstart": "gnosis", "/llms.txt": "Gnosis Chain",
	} {
		t.Run(path, func(t *testing.T) {
			page := g.Get(path, "")
			require.Equal(t, page.Status, http.StatusOK)
			expect.Contains(t, page.Body, word)
		})
	}
	tools := mcp(g, key, "tools/list", `{}`)
	expect.AtLeast(t, strings.Count(tools.Body, `"polygon_pos","gnosis"`)+
		strings.Count(tools.Body, `"solana_mainnet","gnosis"`), 5)
	expect.Contains(t, g.Scrape(), `chain="gnosis"`)
}

func mcp(g *apitest.Gateway, key, method, params string) apitest.Answer {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	return g.Ask(http.MethodPost, "/mcp", key, body,
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream")
}

func mcpTool(g *apitest.Gateway, key, name, arguments string) apitest.Answer {
	return mcp(g, key, "tools/call", `{"name":"`+name+`","arguments":`+arguments+`}`)
}

func TestAddedChain_IsReadByTheToolbox(t *testing.T) {
	t.Parallel()
	g := withGnosis(t)
	key := g.AccountKey(plan.Enterprise)
	g.AllOn("eth_feeHistory", testkit.Result(map[string]any{
		"oldestBlock": "0x64", "baseFeePerGas": []string{"0x1", "0x2"}, "gasUsedRatio": []float64{0.5},
		"reward": [][]string{{"0x3b9aca00", "0x59682f00", "0x77359400"}},
	}))
	gas := g.Get("/toolbox/gas/gnosis", key)
	require.Equal(t, gas.Status, http.StatusOK, gas.Body)
	expect.Contains(t, gas.Body, `"chain":"gnosis"`)
	g.AllOn("eth_getTransactionByHash", testkit.Result(nil))
	g.AllOn("eth_getTransactionReceipt", testkit.Result(nil))
	sent := g.Get(fmt.Sprintf("/toolbox/tx/gnosis/0x%064x", 7), key)
	require.Equal(t, sent.Status, http.StatusOK, sent.Body)
	expect.Contains(t, sent.Body, `"chain":"gnosis"`)
	g.Get("/toolbox/gas/sepolia", key).Refused(http.StatusNotFound, -32600)
}
