package tools_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

const (
	someTx  = "0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b"
	someSig = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"
)

// words encodes numbers as the result of an eth_call.
func words(numbers ...int64) string {
	text := "0x"
	for _, n := range numbers {
		text += fmt.Sprintf("%064x", n)
	}
	return text
}

// answersOfCalls scripts eth_call by called address and selector.
func answersOfCalls(results map[string]string) testkit.Reply {
	return testkit.ResultOf(func(r testkit.Request) any {
		var params []json.RawMessage
		var msg struct{ To, Data string }
		if json.Unmarshal(r.Params, &params) != nil || json.Unmarshal(params[0], &msg) != nil {
			return nil
		}
		if result, ok := results[strings.ToLower(msg.To)+" "+msg.Data[:10]]; ok {
			return result
		}
		return "0x"
	})
}

func fees(base string) map[string]any {
	return map[string]any{
		"oldestBlock": "0x64", "baseFeePerGas": []string{"0x1", "0x1", base}, "gasUsedRatio": []float64{0.5, 0.01},
		"reward": [][]string{{"0x3b9aca00", "0x59682f00", "0x77359400"}, {"0x0", "0x0", "0x0"}},
	}
}

// openToolbox returns a gateway for all chains, with one upstream that answers a little of
// everything, and a key.
func openToolbox(t *testing.T) (g *apitest.Gateway, key string) {
	t.Helper()
	g = apitest.Setup(t, func(o *apitest.Options) {
		o.Upstreams, o.Chains = 1, nil
		for _, c := range chain.BuiltIn().All() {
			o.Chains = append(o.Chains, c.ID)
		}
	})
	now := time.Now().Unix()
	u := g.Ups[0]
	u.On("eth_feeHistory", testkit.Result(fees("0x4a817c800")))
	u.On("eth_blockNumber", testkit.Result("0x6e"))
	u.On("eth_call", answersOfCalls(map[string]string{
		"0x420000000000000000000000000000000000000f 0x49948e0e": words(12_345_678_901),
		"0x00000000000000000000000000000000000000c8 0xc94e6eeb": words(25_000, 4_000, 20_000_000, 31_000_000_000),
		"0x5f4ec3df9cbd43714fe2740f5e3616155c5b8419 0xfeaf968c": words(77, 345_612_000_000, now, now, 77),
		"0x5f4ec3df9cbd43714fe2740f5e3616155c5b8419 0x313ce567": words(8),
		"0xf4030086522a5beea4988f8ca5b36dbc97bee88c 0xfeaf968c": words(78, 6_812_345_678_901, now-8_000, now-8_000, 78),
		"0xf4030086522a5beea4988f8ca5b36dbc97bee88c 0x313ce567": words(8),
		"0x2c1d072e956affc0d435cb7ac38ef18d24d9127c 0xfeaf968c": words(79, 0, now, now, 79),
		"0x2c1d072e956affc0d435cb7ac38ef18d24d9127c 0x313ce567": words(8),
	}))
	return g, g.Unlimited()
}

func TestGas_AnswersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	g, key := openToolbox(t)
	g.Get("/toolbox/gas/eth_mainnet", key).Golden("gas on ethereum")
	g.Get("/toolbox/gas/eth_mainnet", key).Golden("gas again")
	g.Get("/toolbox/gas/base_mainnet", key).Golden("gas on base")
	g.Get("/toolbox/gas/arbitrum_one", key).Golden("gas on arbitrum")
	g.Get("/toolbox/gas/polygon_pos", key).Golden("gas on polygon")
	g.Get("/toolbox/gas/solana_mainnet", key).Golden("gas on solana")
	got := g.Usage(key)
	expect.Equal(t, got["ok"], apitest.Figures{Requests: 4, Units: 4 * plan.Unit})
	expect.Equal(t, got["hit"], apitest.Figures{Requests: 1, Units: 0})
	expect.Equal(t, got["field_refused"], apitest.Figures{Requests: 1, Units: 0})
}

func TestTx_AnswersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	g, key := openToolbox(t)
	u := g.Ups[0]
	path := "/toolbox/tx/eth_mainnet/"
	receipt := map[string]any{
		"transactionHash": someTx, "blockNumber": "0x64", "gasUsed": "0x5208", "effectiveGasPrice": "0x3b9aca01",
		"status": "0x1",
	}
	u.On("eth_getTransactionByHash",
		testkit.Result(map[string]any{"hash": someTx, "blockNumber": "0x64", "gasPrice": "0x3b9aca01"}))
	u.On("eth_getTransactionReceipt", testkit.Result(receipt))
	g.Get(path+"0x"+strings.ToUpper(someTx[2:]), key).Golden("tx confirmed")
	g.Get(path+someTx, key).Golden("tx again")
	receipt["status"] = "0x0"
	u.On("eth_getTransactionReceipt", testkit.Result(receipt))
	g.Get("/toolbox/tx/base_mainnet/"+someTx, key).Golden("tx failed")
	u.On("eth_getTransactionByHash",
		testkit.Result(map[string]any{"hash": someTx, "blockNumber": nil, "gasPrice": "0x3b9aca01"}))
	u.On("eth_getTransactionReceipt", testkit.Result(nil))
	g.Get("/toolbox/tx/optimism_mainnet/"+someTx, key).Golden("tx pending")
	u.On("eth_getTransactionByHash", testkit.Result(nil))
	g.Get("/toolbox/tx/arbitrum_one/"+someTx, key).Golden("tx unknown")
	u.On("getSignatureStatuses", testkit.Result(map[string]any{"context": map[string]any{"slot": 400}, "value": []any{
		map[string]any{
			"slot": 321, "confirmations": nil, "err": map[string]any{
				"InstructionError": []any{0, map[string]any{"Custom": 1}},
			}, "confirmationStatus": "finalized",
		},
	}}))
	g.Get("/toolbox/tx/solana_mainnet/"+someSig, key).Golden("tx on solana")
	g.Get("/toolbox/tx/solana_mainnet/"+someTx, key).Golden("tx hash on solana")
	got := g.Usage(key)
	expect.Equal(t, got["ok"], apitest.Figures{Requests: 5, Units: 10 * plan.Unit})
	expect.Equal(t, got["hit"], apitest.Figures{Requests: 1, Units: 0})
	expect.Equal(t, got["field_refused"], apitest.Figures{Requests: 1, Units: 0})
}

func TestPrice_AnswersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	g, key := openToolbox(t)
	g.Get("/toolbox/prices?symbols=LINK,eth,btc", key).Golden("prices")
	if a := g.Get("/toolbox/prices", key); !a.Hit() {
		t.Error("all prices by name and all prices are not the same")
	}
	g.Get("/toolbox/prices?symbols=doge", key).Golden("price refused")
	if got := g.Usage(key); got["ok"] != (apitest.Figures{Requests: 1, Units: plan.Unit}) ||
		got["hit"] != (apitest.Figures{Requests: 1, Units: 0}) {
		t.Errorf("used %v", got)
	}
}

func TestToolbox_WrongPathsAndQueriesSayWhatIsTaken(t *testing.T) {
	t.Parallel()
	g, key := openToolbox(t)
	for path, says := range map[string]string{
		"/toolbox/gas/solana_mainnet":                             "lamports",
		"/toolbox/gas/eth_mainnet?speed=fast":                     "speed",
		"/toolbox/tx/eth_mainnet/0x":                              "64 hexadecimal digits",
		"/toolbox/tx/eth_mainnet/" + someTx[:65]:                  "64 hexadecimal digits",
		"/toolbox/tx/eth_mainnet/" + someTx + "0":                 "64 hexadecimal digits",
		"/toolbox/tx/eth_mainnet/" + someTx[2:]:                   "0x is missing",
		"/toolbox/tx/eth_mainnet/" + someTx[:42]:                  "address",
		"/toolbox/tx/eth_mainnet/" + someSig:                      "signature of Solana",
		"/toolbox/tx/eth_mainnet/%ff%fe":                          "not UTF-8",
		"/toolbox/tx/eth_mainnet/" + someTx[:65] + "%E2%80%8B":    "64 hexadecimal digits",
		"/toolbox/tx/solana_mainnet/" + someTx:                    "EVM chain",
		"/toolbox/tx/solana_mainnet/" + strings.ToLower(someSig):  "base58",
		"/toolbox/tx/solana_mainnet/" + someSig + "1":             "base58",
		"/toolbox/tx/solana_mainnet/" + strings.Repeat("1", 5000): "hash",
		"/toolbox/prices?symbols=doge":                            "eth, btc, link",
		"/toolbox/prices?symbols=eth%20btc":                       "eth, btc, link",
		"/toolbox/prices?symbols=%D0%B5th":                        "eth, btc, link",
		"/toolbox/prices?symbols=" + strings.Repeat("eth,", 30):   "eth, btc, link",
		"/toolbox/prices?symbols=" + strings.Repeat("eth,", 60):   "eth, btc, link",
		"/toolbox/prices?symbols=eth&symbols=btc":                 "symbols",
		"/toolbox/prices?symbol=eth":                              "symbols",
	} {
		t.Run(path, func(t *testing.T) {
			a := g.Get(path, key)
			a.Refused(http.StatusUnprocessableEntity, -32602)
			if message := a.Envelope().Error.Message; !strings.Contains(message, says) || len(message) > 1_000 {
				t.Errorf("%.60s: %s", path, message)
			}
		})
	}
	if n := g.Ups[0].Total(); n != 0 {
		t.Errorf("wrong requests reached an upstream %d times", n)
	}
	for outcome, f := range g.Usage(key) {
		if outcome != "field_refused" || f.Units != 0 {
			t.Errorf("%s: %+v", outcome, f)
		}
	}
}

// A path with an unknown chain, or one without an upstream here, is a 404, as on the relay. A chain
// that does not support the operation is refused with a reason.
func TestToolbox_UnknownChainInAPathIsNotFound(t *testing.T) {
	t.Parallel()
	g := dataGateway(t, func(o *apitest.Options) { o.Chains = []chain.ID{chain.EthMainnet} })
	key := g.Unlimited()
	g.Get("/toolbox/gas/dogecoin", key).Golden("toolbox unknown chain")
	for _, name := range []string{
		"bitcoin", "ETH_MAINNET", "%00", "eth_mainnet%20", strings.Repeat("x", 5000), "polygon_pos",
	} {
		for _, path := range []string{
			"/toolbox/gas/" + name, "/toolbox/tx/" + name + "/" + someTx, "/toolbox/abi/" + name + "/" + dataOwner,
			"/data/" + name + "/balances/" + dataOwner, "/data/" + name + "/history/" + dataOwner + "?limit=0",
		} {
			// a known chain and an invalid field
			if a := g.Get(path, key); name != "polygon_pos" || !strings.Contains(path, "limit=0") {
				data := a.Refused(http.StatusNotFound, -32600)
				in := expect.In(t, "%.60s", path)
				expect.Contains(in, a.Body, "polygon_pos")
				expect.Equal(in, name == "polygon_pos", data["contact"] != nil)
				expect.AtMost(in, len(a.Body), 1000, a.Body)
			}
		}
		g.Ask(http.MethodPost, "/toolbox/decode/"+name+"/"+dataOwner, key, `{"data":"0x"}`).Refused(http.StatusNotFound,
			-32600)
	}
	for _, path := range []string{
		"/toolbox/gas/solana_mainnet", "/data/solana_mainnet/history/" + solanaOwner,
		"/toolbox/abi/solana_mainnet/" + dataOwner,
	} {
		if a := g.Get(path, key); !strings.Contains(a.Body, "Solana") {
			t.Errorf("%s does not say why: %s", path, a.Body)
		} else {
			a.Refused(http.StatusUnprocessableEntity, -32602)
		}
	}
	for outcome, f := range g.Usage(key) {
		if outcome != "field_refused" && outcome != "unknown_chain" || f.Units != 0 {
			t.Errorf("%s: %+v", outcome, f)
		}
	}
	if n := g.Ups[0].Total(); n != 0 {
		t.Errorf("wrong requests reached an upstream %d times", n)
	}
}

// Prices and names need Ethereum: without it nothing is called and nothing charged, and any usage
// is recorded under Ethereum.
func TestToolbox_EthereumOnlyToolsNeedEthereum(t *testing.T) {
	t.Parallel()
	g := dataGateway(t, func(o *apitest.Options) { o.Chains = []chain.ID{chain.BaseMainnet} })
	key := g.Unlimited()
	for _, path := range []string{
		"/toolbox/prices", "/toolbox/prices?symbols=eth", "/toolbox/ens/resolve/vitalik.eth",
		"/toolbox/ens/reverse/" + dataOwner,
	} {
		if a := g.Get(path, key); a.Refused(http.StatusServiceUnavailable, -32020) == nil ||
			!strings.Contains(a.Body, "eth_mainnet") {
			t.Errorf("%s: %s", path, a.Body)
		}
	}
	used := g.Usage(key)
	expect.Equal(t, used["ok"].Requests, 0)
	expect.Equal(t, used["refund"].Requests, 0)
	expect.Equal(t, used["no_upstream"].Requests, 4)
	for _, line := range g.Lines(key) {
		if line.Chain != string(chain.EthMainnet) {
			t.Errorf("a use is noted of the chain %q", line.Chain)
		}
	}
}

func TestToolbox_IsFreeWhenTheChainCannotBeRead(t *testing.T) {
	t.Parallel()
	g, key := openToolbox(t)
	u := g.Ups[0]
	u.Default(testkit.HTML(http.StatusBadGateway))
	for _, method := range []string{
		"eth_feeHistory", "eth_call", "eth_blockNumber", "eth_getTransactionByHash", "eth_getTransactionReceipt",
	} {
		u.On(method, testkit.HTML(http.StatusBadGateway))
	}
	for _, path := range []string{
		"/toolbox/gas/eth_mainnet", "/toolbox/tx/eth_mainnet/" + someTx, "/toolbox/tx/solana_mainnet/" + someSig,
		"/toolbox/prices",
	} {
		if a := g.Get(path, key); a.Status != http.StatusBadGateway && a.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: HTTP %d %s", path, a.Status, a.Body)
		}
	}
	u.On("eth_feeHistory", testkit.Result(fees("0x1")))
	u.On("eth_call", testkit.Error(3, "execution reverted"))
	for _, path := range []string{"/toolbox/gas/optimism_mainnet", "/toolbox/prices?symbols=eth"} {
		if a := g.Get(path, key); a.Status != http.StatusBadGateway || strings.Contains(a.Body, "reverted") {
			t.Errorf("%s: HTTP %d %s", path, a.Status, a.Body)
		}
	}
	if got := g.Usage(key); got["ok"] != (apitest.Figures{Requests: 6, Units: 8 * plan.Unit}) ||
		got["refund"] != (apitest.Figures{Requests: -6, Units: -8 * plan.Unit}) {
		t.Errorf("used %v", got)
	}
}
