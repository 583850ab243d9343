package tools_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// relayed is a relayed call over HTTP and with the tool.
func relayed(name string, on chain.ID, method, params string) pair {
	return pair{
		name: name, path: "/rpc/" + string(on), body: fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"method":%q,"params":%s}`,
			method, params), tool: "rpc_call", args: fmt.Sprintf(`{"chain":%q,"method":%q,"params":%s}`, on, method,
			params),
	}
}

func (p pair) refused(code int) pair { p.code = code; return p }

func (p pair) by(key func(*apitest.Gateway) string) pair { p.key = key; return p }

func (p pair) after(before func(g *apitest.Gateway, key string)) pair { p.before = before; return p }

func (p pair) fromCache() pair { p.hit = true; return p }

// onTier sets the tier on both sides.
func (p pair) onTier(tier string) pair {
	p.headers = []string{"X-Route-Tier", tier}
	p.args = p.args[:len(p.args)-1] + fmt.Sprintf(`,"tier":%q}`, tier)
	return p
}

// with adds an option on both sides. argument is its member of the arguments in JSON.
func (p pair) with(header, value, argument string) pair {
	p.headers = []string{header, value}
	p.args = p.args[:len(p.args)-1] + "," + argument + "}"
	return p
}

func planned(key string) func(*apitest.Gateway) string {
	return func(g *apitest.Gateway) string { return g.AccountKey(key) }
}

func anonymous(*apitest.Gateway) string { return "" }

// fillWindow sends calls that cost nothing until the rate window of 15 minutes refuses.
func fillWindow(g *apitest.Gateway, key string) {
	for g.Eth(key, "eth_chainId").Status != http.StatusTooManyRequests {
		continue
	}
}

func limited(s account.Settings, ofAccount bool) func(g *apitest.Gateway, key string) {
	return func(g *apitest.Gateway, key string) { g.Configure(key, s, ofAccount) }
}

func relayPairs() []pair {
	const eth = chain.EthMainnet
	one := json.Number("1")
	read := relayed("a read", eth, "eth_call", `[{"to":"0x01"},"latest"]`)
	receipt := relayed("an answer that is stored", eth, "eth_getTransactionReceipt",
		fmt.Sprintf(`[%q]`, apitest.Hash(1)))
	small := relayed("a call past a cap", eth, "eth_call", `[]`)
	return []pair{
		read, read.onTier("fast"), read.onTier("cheap"), read.onTier("balanced"),
		relayed("without parameters", eth, "eth_blockNumber", `[]`),
		relayed("a heavy call", eth, "debug_traceTransaction", fmt.Sprintf(`[%q]`, apitest.Hash(3))),
		relayed("logs of many blocks", eth, "eth_getLogs", `[{"fromBlock":"0xf4000","toBlock":"0xf41f4"}]`),
		relayed("Solana", chain.SolanaMainnet, "getBalance", `["11111111111111111111111111111111"]`),
		receipt, receipt.fromCache(),
		relayed("what the service answers itself", eth, "eth_chainId", `[]`).fromCache(),
		relayed("a revert", eth, "eth_estimateGas", `[{"to":"0x02"}]`),
		relayed("a submission", eth, "eth_sendRawTransaction", `["0x02f86b010780"]`),
		relayed("a submission on Solana that the node refuses", chain.SolanaMainnet, "sendTransaction",
			`["AQ==",{"encoding":"base64"}]`),
		relayed("a private submission without an endpoint for it", eth, "eth_sendRawTransaction", `["0x02f86b010780"]`).
			with("X-Route-Submission", "private", `"submission":"private"`).refused(-32602),
		relayed("a public submission", eth, "eth_sendRawTransaction", `["0x02f86b010781"]`).
			with("X-Route-Submission", "public", `"submission":"public"`),
		read.with("X-Route-Consistency", "head", `"consistency":"head"`),
		relayed("a verified read", eth, "eth_getCode", `["0x01","latest"]`).with("X-Route-Verify", "2", `"verify":2`),
		relayed("a read that cannot be verified", eth, "eth_gasPrice", `[]`).
			with("X-Route-Verify", "3", `"verify":3`).refused(-32602),
		relayed("an unknown chain", "bitcoin", "eth_call", `[]`).refused(-32600),
		relayed("an unknown chain without a key", "bitcoin", "eth_call", `[]`).by(anonymous).refused(-32001),
		relayed("an unknown method", eth, "eth_nothing", `[]`).refused(-32601),
		relayed("a method that is refused", eth, "eth_sendTransaction", `[{}]`).refused(-32601),
		relayed("an unknown method of a door key", eth, "eth_nothing",
			`[]`).by((*apitest.Gateway).DoorKey).refused(-32601),
		relayed("a method of another family", chain.SolanaMainnet, "eth_call", `[]`).refused(-32601),
		relayed("a range that is too large", eth, "eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x3e8"}]`).refused(
			-32602),
		relayed("a range of a door key", eth, "eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x3e8"}]`).by(
			(*apitest.Gateway).DoorKey).refused(-32602),
		relayed("too many blocks of fees", eth, "eth_feeHistory", `["0x401","latest",[]]`).refused(-32602),
		read.by(anonymous).refused(-32001),
		read.by(func(*apitest.Gateway) string { return "cag_nothing" }).refused(-32001),
		read.by((*apitest.Gateway).DoorKey).after((*apitest.Gateway).Revoke).refused(-32001),
		read.by((*apitest.Gateway).DoorKey).after((*apitest.Gateway).Suspend).refused(-32009),
		read.by(planned(plan.Free)).after(fillWindow).refused(-32005),
		small.after(func(g *apitest.Gateway, key string) {
			g.Configure(key, account.Settings{MonthlyCap: &one}, false)
			g.Eth(key, "eth_call").Result()
		}).refused(-32006),
		small.after(limited(apitest.Enabled("gas"), false)).refused(-32012),
		small.after(limited(apitest.Enabled("gas"), true)).refused(-32012),
		small.by((*apitest.Gateway).WalletKey).after(limited(apitest.Enabled("gas"), false)).refused(-32012),
		small.after(func(g *apitest.Gateway, key string) {
			g.Configure(key, apitest.RPCCap("1"), false)
			g.Eth(key, "eth_call").Result()
		}).refused(-32014),
		small.after(func(g *apitest.Gateway, key string) {
			g.Configure(key, apitest.RPCCap("1"), true)
			g.Eth(key, "eth_call").Result()
		}).refused(-32014),
		small.by((*apitest.Gateway).DoorKey).after(exhaust("day")).refused(-32016),
		small.by((*apitest.Gateway).WalletKey).after(exhaust("ap")).refused(-32007),
		small.by(planned(plan.Free)).after(exhaust("ap")).refused(-32007),
		receipt.by((*apitest.Gateway).DoorKey).after(exhaust("day")).fromCache(),
	}
}

func TestRPCCallTool_IsTheRelay(t *testing.T) {
	t.Parallel()
	w := twinsOf(t, func() *apitest.Gateway {
		g := apitest.Setup(t)
		g.All(apitest.Node(apitest.Deepest))
		for _, u := range g.Ups {
			u.On("eth_call", testkit.ResultOf(func(r testkit.Request) any { return r.Params }))
			u.On("eth_blockNumber", testkit.Result("0xf4240"))
			u.On("eth_getLogs", testkit.Result([]any{}))
			u.On("getBalance", testkit.Result(map[string]any{"value": json.Number("12345678901234567890")}))
			u.On("eth_estimateGas", testkit.ErrorWithData(3, "execution reverted", "0x08c379a0"))
			u.On("eth_sendRawTransaction", testkit.Result("0xhash"))
			u.On("sendTransaction", testkit.Error(-32002, "Transaction simulation failed"))
		}
		return g
	})
	w.run(relayPairs())
}

// twinsOf starts two gateways in the same state.
func twinsOf(t *testing.T, open func() *apitest.Gateway) *twins {
	return &twins{t: t, http: open(), tools: open()}
}

// Whatever happens to a submission, the tool sends it as often as the route does: once, and again
// only when nothing was sent.
func TestMCP_SendsSubmissionsExactlyOnce(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testkit.Reply{
		"reset after the write": testkit.Reset(), "502 HTML": testkit.HTML(http.StatusBadGateway),
		"half a document": testkit.InvalidJSON(), "another id": testkit.WrongID("0xhash"),
		"truncated": testkit.Truncated(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := twinsOf(t, func() *apitest.Gateway {
				g := apitest.Setup(t)
				g.All(reply)
				return g
			})
			var rows []pair
			for _, s := range apitest.Submissions() {
				rows = append(rows, relayed(name, s.Chain, s.Method, s.Params).refused(-32017))
			}
			w.run(rows)
			for _, s := range apitest.Submissions() {
				if n := w.tools.Sent(s.Method); n != 1 {
					t.Errorf("%s reached the upstreams %d times", s.Method, n)
				}
			}
		})
	}
}

func TestMCP_RefusesAsTheRelayWhenItsServersFail(t *testing.T) {
	t.Parallel()
	read := relayed("a read", chain.EthMainnet, "eth_call", `[]`)
	for name, row := range map[string]struct {
		change func(*apitest.Options)
		open   func(*apitest.Gateway)
		row    pair
	}{
		"no upstream has an answer": {
			open: func(g *apitest.Gateway) { g.All(testkit.HTML(http.StatusBadGateway)) }, row: read.refused(-32022),
		},
		"an upstream hangs": {
			change: func(o *apitest.Options) { o.Timeout, o.Upstreams = 300e6, 1 }, open: func(g *apitest.Gateway) {
				g.All(testkit.Hang(nil))
			}, row: read.refused(-32023),
		},
		"no upstream is of the key's supply": {
			change: func(o *apitest.Options) { o.Supply = plan.Premium },
			row:    read.by(planned(plan.Free)).refused(-32020),
		},
		"no head is known": {
			change: func(o *apitest.Options) { o.Apply = false }, row: relayed("logs", chain.EthMainnet, "eth_getLogs",
				`[{"fromBlock":"0x0","toBlock":"latest"}]`).refused(-32020),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			twinsOf(t, func() *apitest.Gateway {
				g := apitest.Setup(t, func(o *apitest.Options) {
					if row.change != nil {
						row.change(o)
					}
				})
				if row.open != nil {
					row.open(g)
				}
				return g
			}).run([]pair{row.row})
		})
	}
}

func TestMCP_RefusesAsHTTPWhenTheMeterIsAway(t *testing.T) {
	t.Parallel()
	w := twinsOf(t, func() *apitest.Gateway { return apitest.Setup(t) })
	var keys [2]string
	for i, g := range []*apitest.Gateway{w.http, w.tools} {
		keys[i] = g.Unlimited()
		g.Eth(keys[i], "eth_call").Result()
		g.Redis.Kill(t)
	}
	p := relayed("a read", chain.EthMainnet, "eth_call", `[]`)
	a, b := w.http.Ask(p.verb(), p.path, keys[0], p.body), tell(w.tools, keys[1], toolCall(p.tool, p.args))
	if got, want := reduced(t, givenIn(b)), reduced(t, w.ofHTTP(&p, a)); got != want || givenIn(b).code(t) != -32021 {
		t.Errorf("the tool gives %s, HTTP %s", got, want)
	}
}
