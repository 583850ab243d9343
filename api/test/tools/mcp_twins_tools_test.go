package tools_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api"
	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
)

// get is a tool and its twin over GET.
func get(name, path, tool, args string) pair {
	return pair{name: name, path: path, tool: tool, args: args}
}

func post(name, path, body, tool, args string) pair {
	return pair{
		name: name, path: path, body: body, headers: []string{"Content-Type", "application/json"}, tool: tool,
		args: args,
	}
}

func (p pair) renames(names ...string) pair { p.renamed = names; return p }

// toolboxPairs are for a gateway of openToolbox.
func toolboxPairs() []pair {
	gas := get("gas", "/toolbox/gas/eth_mainnet", "get_prices", `{"kind":"gas","chain":"eth_mainnet"}`)
	tokens := get("prices", "/toolbox/prices?symbols=eth,btc", "get_prices", `{"kind":"token","symbols":"eth,btc"}`)
	tx := get("a transaction", "/toolbox/tx/eth_mainnet/"+apitest.Hash(1), "get_tx_status",
		`{"chain":"eth_mainnet","hash":"`+apitest.Hash(1)+`"}`)
	return []pair{
		gas, gas.fromCache(),
		get("gas of a rollup", "/toolbox/gas/base_mainnet", "get_prices", `{"kind":"gas","chain":"base_mainnet"}`),
		get("gas of Solana", "/toolbox/gas/solana_mainnet", "get_prices",
			`{"kind":"gas","chain":"solana_mainnet"}`).refused(-32602),
		get("gas of no chain", "/toolbox/gas/bitcoin", "get_prices", `{"kind":"gas","chain":"bitcoin"}`).refused(
			-32600),
		gas.by(anonymous).refused(-32001), gas.after(limited(apitest.Enabled("rpc"), false)).refused(-32012),
		gas.by((*apitest.Gateway).DoorKey).after(exhaust("day")).fromCache(),
		get("gas of a chain when the day is used up", "/toolbox/gas/arbitrum_one", "get_prices",
			`{"kind":"gas","chain":"arbitrum_one"}`).
			by((*apitest.Gateway).DoorKey).after(exhaust("day")).refused(-32016),
		gas.by(planned(plan.Free)).after(fillWindow).refused(-32005),
		get("gas past a cap", "/toolbox/gas/polygon_pos", "get_prices", `{"kind":"gas","chain":"polygon_pos"}`).after(
			func(g *apitest.Gateway, key string) {
				g.Configure(key, account.Settings{Caps: &map[string]json.Number{"gas": "1"}}, false)
				g.Get("/toolbox/gas/optimism_mainnet", key)
			}).refused(-32014),
		tokens, tokens.fromCache(),
		get("all prices", "/toolbox/prices", "get_prices", `{"kind":"token"}`),
		get("a price that there is not", "/toolbox/prices?symbols=doge", "get_prices",
			`{"kind":"token","symbols":"doge"}`).refused(-32602),
		get("a field that there is not", "/toolbox/prices?chain=eth_mainnet", "get_prices",
			`{"kind":"token","chain":"eth_mainnet"}`).refused(-32602),
		tx, tx.fromCache(),
		get("a transaction on Solana", "/toolbox/tx/solana_mainnet/"+someSig, "get_tx_status",
			`{"chain":"solana_mainnet","hash":"`+someSig+`"}`),
		get("what is no hash", "/toolbox/tx/eth_mainnet/0x12", "get_tx_status",
			`{"chain":"eth_mainnet","hash":"0x12"}`).refused(-32602),
		tx.by(anonymous).refused(-32001),
	}
}

func ensPairs() []pair {
	resolve := func(name, query string) pair {
		return get(name, "/toolbox/ens/resolve/"+query, "resolve_ens", `{"query":"`+query+`"}`).renames("name", "query")
	}
	reverse := func(name, query string) pair {
		return get(name, "/toolbox/ens/reverse/"+query, "resolve_ens", `{"query":"`+query+`"}`).renames("address",
			"query")
	}
	ones := "0x" + strings.Repeat("11", 19)
	return []pair{
		resolve("a name", "vitalik.eth"), resolve("a name in capitals", "VITALIK.eTh").fromCache(),
		resolve("nobody's", "nobody.eth"), resolve("a resolver that refuses", "refuses.eth"),
		resolve("no name", "a..eth").refused(-32602), resolve("a name with an underscore", "a_b.eth").refused(-32602),
		resolve("without a key", "vitalik.eth").by(anonymous).refused(-32001),
		resolve("switched off", "vitalik.eth").after(limited(apitest.Enabled("rpc"), true)).refused(-32012),
		reverse("an address", someone), reverse("an address in small letters", strings.ToLower(someone)).fromCache(),
		reverse("unconfirmed", ones+"02"), reverse("nameless", ones+"03"),
		reverse("capitals that are wrong", strings.Replace(someone, "dA", "Da", 1)).refused(-32602),
		reverse("without a key", someone).by(anonymous).refused(-32001),
	}
}

func dataPairs() []pair {
	balances := get("balances", balancesOf, "get_balances", `{"chain":"eth_mainnet","address":"`+dataOwner+`"}`)
	history := get("history", historyOf, "get_history", `{"chain":"eth_mainnet","address":"`+dataOwner+`"}`)
	return []pair{
		balances, balances, history,
		get("balances on Solana", "/data/solana_mainnet/balances/"+solanaOwner, "get_balances",
			`{"chain":"solana_mainnet","address":"`+solanaOwner+`"}`),
		get("a page", historyOf+"?limit=2", "get_history", `{"chain":"eth_mainnet","address":"`+dataOwner+
			`","limit":2}`),
		get("no page", historyOf+"?limit=0", "get_history", `{"chain":"eth_mainnet","address":"`+dataOwner+
			`","limit":0}`).refused(-32602),
		get("no cursor", historyOf+"?cursor=nonsense", "get_history", `{"chain":"eth_mainnet","address":"`+dataOwner+
			`","cursor":"nonsense"}`).refused(-32602),
		get("history on Solana", "/data/solana_mainnet/history/"+solanaOwner, "get_history",
			`{"chain":"solana_mainnet","address":"`+solanaOwner+`"}`).refused(-32602),
		balances.by(planned(plan.Free)).refused(-32010), balances.by((*apitest.Gateway).DoorKey).refused(-32010),
		history.by((*apitest.Gateway).WalletKey).refused(-32010), balances.by(anonymous).refused(-32001),
		balances.by(planned(plan.Pro)).after(limited(apitest.Enabled("rpc"), false)).refused(-32012),
		history.by(func(g *apitest.Gateway) string { indexed(g, true, false); return g.Unlimited() }).refused(-32020),
	}
}

func contractPairs() []pair {
	abiOf := func(name, address string) pair {
		return get(name, "/toolbox/abi/eth_mainnet/"+address, "get_abi",
			`{"chain":"eth_mainnet","address":"`+address+`"}`)
	}
	decode := func(name, address, data string) pair {
		return post(name, "/toolbox/decode/eth_mainnet/"+address, `{"data":"`+data+`"}`, "decode_calldata",
			`{"chain":"eth_mainnet","address":"`+address+`","calldata":"`+data+`"}`).renames("data", "calldata")
	}
	const other = "0x000000000000000000000000000000000000dEaD"
	transfer := transferOf("d8da6bf26964af9d7eed9e03e53415d37aa96045", "f4240")
	return []pair{
		abiOf("an ABI", aToken), abiOf("an ABI again", strings.ToLower(aToken)).fromCache(),
		abiOf("of a proxy", aProxy), abiOf("not verified", other), abiOf("of no address", aToken[:41]).refused(-32602),
		abiOf("without a key", aToken).by(anonymous).refused(-32001),
		get("of a program", "/toolbox/abi/solana_mainnet/"+aToken, "get_abi",
			`{"chain":"solana_mainnet","address":"`+aToken+`"}`).refused(-32602),
		decode("a transfer", aToken, transfer), decode("a transfer again", aToken, transfer).fromCache(),
		decode("a guess", other, "0x095ea7b3"+strings.TrimPrefix(transferOf("1", "2"), "0xa9059cbb")),
		decode("nothing", aToken, "0x"), decode("half a digit", aToken, "0xa9059cb").refused(-32602),
		decode("no data", aToken, "a9059cbb").refused(-32602),
		decode("without a key", aToken, transfer).by(anonymous).refused(-32001),
	}
}

func offlinePairs(t *testing.T) []pair {
	t.Helper()
	convert := func(name, path, args string) pair { return get(name, utils+path, "convert_evm", args) }
	me, other := newSigner(t, "me"), newSigner(t, "other")
	message := signInMessage(me, "")
	signed := func(name, path, mode string, members ...string) pair {
		return post(name, utils+path, object(t, members...), "verify_signature",
			object(t, append(members, "mode", mode)...))
	}
	lower := strings.ToLower(someone)
	query := func(path string, members ...string) string { return strings.TrimPrefix(query(path, members...), utils) }
	return []pair{
		convert("checksum", "checksum/"+lower, `{"op":"checksum","input":"`+lower+`"}`),
		convert("checksum of no address", "checksum/someone.eth", `{"op":"checksum","input":"someone.eth"}`).renames(
			"address", "input"),
		convert("units", query("convert", "value", "1.5", "from", "eth", "to", "wei"),
			`{"op":"convert","input":"1.5","from":"eth","to":"wei"}`),
		convert("unknown units", query("convert", "value", "1.5", "from", "euro", "to", "wei"),
			`{"op":"convert","input":"1.5","from":"euro","to":"wei"}`).refused(-32602),
		convert("no amount", query("convert", "value", "x", "from", "eth", "to", "wei"),
			`{"op":"convert","input":"x","from":"eth","to":"wei"}`).renames("value", "input").refused(-32602),
		convert("no units", "convert?value=1", `{"op":"convert","input":"1"}`).refused(-32602),
		convert("selector", query("selector", "signature", "transfer(address,uint256)"),
			`{"op":"selector","input":"transfer(address,uint256)"}`),
		convert("no signature", query("selector", "signature", "transfer("),
			`{"op":"selector","input":"transfer("}`).renames("signature", "input").refused(-32602),
		convert("keccak", query("keccak", "text", "hello"), `{"op":"keccak","input":"hello"}`),
		convert("keccak of bytes", query("keccak", "text", "0x68", "encoding", "hex"),
			`{"op":"keccak","input":"0x68","encoding":"hex"}`),
		convert("keccak of no bytes", query("keccak", "text", "0x6", "encoding", "hex"),
			`{"op":"keccak","input":"0x6","encoding":"hex"}`).renames("text", "input").refused(-32602),
		convert("keccak of nothing", "keccak", `{"op":"keccak"}`).renames("text", "input").refused(-32602),
		convert("without a key", query("keccak", "text", "hello"), `{"op":"keccak","input":"hello"}`).by(
			anonymous).refused(-32001),
		convert("switched off", query("keccak", "text", "hello"), `{"op":"keccak","input":"hello"}`).by(
			(*apitest.Gateway).DoorKey).after(limited(apitest.Enabled("rpc"), false)).refused(-32012),
		signed("a signature", "verify-signature", "personal", "message", "hello", "signature", me.sign("hello"),
			"address", me.address),
		signed("of another", "verify-signature", "personal", "message", "hello", "signature", me.sign("hello"),
			"address", other.address),
		signed("no signature", "verify-signature", "personal", "message", "hello").refused(-32602),
		signed("a sign-in", "verify-siwe", "siwe", "message", message, "signature", me.sign(message)),
		signed("no sign-in", "verify-siwe", "siwe", "message", "hello", "signature", me.sign("hello")).refused(-32602),
		signed("an address too many", "verify-siwe", "siwe", "message", message, "signature", me.sign(message),
			"address", me.address).refused(-32602),
		signed("without a key", "verify-siwe", "siwe", "message", message, "signature",
			me.sign(message)).by(anonymous).refused(-32001),
	}
}

func keyPairs() []pair {
	made := pair{name: "a key", method: http.MethodPost, path: "/keys", key: anonymous, tool: "get_key", args: `{}`}
	return []pair{
		made, pair{
			name: "a field too many", method: http.MethodPost, path: "/keys", body: `{"name":"x"}`,
			key: anonymous, tool: "get_key", args: `{"name":"x"}`,
		}.refused(-32602), made, made, made.refused(-32024),
	}
}

func statementPairs() []pair {
	month := time.Now().UTC().Format("2006-01") + "-01"
	busy := func(g *apitest.Gateway, key string) {
		g.Eth(key, "eth_call").Result()
		g.Eth(key, "eth_chainId").Result()
		g.Record(g.Identity(key).Account)
	}
	list := get("the periods", "/api/statements", "get_statement", `{"period":"list"}`)
	open := get("a statement", "/api/statements/"+month, "get_statement", `{"period":"`+month+`"}`)
	return []pair{
		list.after(busy), open.after(busy), open.by((*apitest.Gateway).DoorKey).after(busy),
		list.by((*apitest.Gateway).WalletKey),
		get("no period", "/api/statements/1999-01-01", "get_statement", `{"period":"1999-01-01"}`).refused(-32026),
		get("no date", "/api/statements/2026-13-01", "get_statement", `{"period":"2026-13-01"}`).by(
			(*apitest.Gateway).DoorKey).refused(-32602),
		list.by(anonymous).refused(-32001),
		open.by((*apitest.Gateway).DoorKey).after((*apitest.Gateway).Revoke).refused(-32001),
	}
}

func TestMCP_ToolsAnswerAsTheirHTTPTwins(t *testing.T) {
	t.Parallel()
	for name, group := range map[string]struct {
		open func(*testing.T) *apitest.Gateway
		rows []pair
	}{
		"toolbox": {
			func(t *testing.T) *apitest.Gateway { t.Helper(); return fromToolbox(openToolbox(t)) },
			toolboxPairs(),
		},
		"names": {
			func(t *testing.T) *apitest.Gateway { t.Helper(); return fromToolbox(openNames(t)) },
			ensPairs(),
		},
		"data": {func(t *testing.T) *apitest.Gateway { t.Helper(); return dataGateway(t) }, dataPairs()},
		"contracts": {
			func(t *testing.T) *apitest.Gateway { t.Helper(); g, _ := withContracts(t); return g },
			contractPairs(),
		},
		"offline":    {func(t *testing.T) *apitest.Gateway { t.Helper(); return apitest.Setup(t) }, offlinePairs(t)},
		"keys":       {func(t *testing.T) *apitest.Gateway { t.Helper(); return apitest.Setup(t) }, keyPairs()},
		"statements": {func(t *testing.T) *apitest.Gateway { t.Helper(); return apitest.Setup(t) }, statementPairs()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			twinsOf(t, func() *apitest.Gateway { return group.open(t) }).run(group.rows)
		})
	}
}

func fromToolbox(g *apitest.Gateway, _ string) *apitest.Gateway {
	g.Ups[0].On("eth_getTransactionByHash", testkit.Result(nil))
	g.Ups[0].On("eth_getTransactionReceipt", testkit.Result(nil))
	g.Ups[0].On("getSignatureStatuses",
		testkit.Result(map[string]any{"context": map[string]any{"slot": 9}, "value": []any{nil}}))
	return g
}

// withoutTwin are routes without a tool, and those of binding keys, which are tested where
// workflows run (cmd/internal/wire).
var withoutTwin = []string{
	"/x402", "/.well-known/x402", "/x402/receipts/{tx_hash}.json", "/x402/redeem", "/api/statements/{period}.csv",
	"/keys/bind/start", "/keys/bind", "/status.json",
}

func TestMCP_EveryRouteWithAToolHasATwinTest(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	var rows []pair
	for _, group := range [][]pair{
		relayPairs(), toolboxPairs(), ensPairs(), dataPairs(), contractPairs(),
		offlinePairs(t), keyPairs(), statementPairs(),
	} {
		rows = append(rows, group...)
	}
	for _, op := range g.Operations.All() {
		m := op.Meta()
		if m.Route.Path == "" || strings.Contains(strings.Join(withoutTwin, " ")+" ", m.Route.Path+" ") {
			continue
		}
		pattern := regexp.MustCompile(
			"^" + regexp.MustCompile(`\\\{\w+\\\}`).ReplaceAllString(regexp.QuoteMeta(m.Route.Path), "[^/]+") + "$")
		found := false
		for i := range rows {
			at, err := url.Parse(rows[i].path)
			g.Must(err)
			found = found || (rows[i].verb() == m.Route.Method && pattern.MatchString(at.Path))
		}
		if !found {
			t.Errorf("%s %s (%s) is in no row", m.Route.Method, m.Route.Path, m.Name)
		}
	}
	for i := range rows {
		if !hasTool(g, rows[i].tool) {
			t.Errorf("%s: no tool is called %s", rows[i].name, rows[i].tool)
		}
	}
}

func hasTool(g *apitest.Gateway, name string) bool {
	return slices.ContainsFunc(g.Tools, func(tool api.AgentTool) bool { return tool.Name == name })
}
