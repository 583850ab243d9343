package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

const (
	dataOwner   = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
	dataOther   = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
	solanaOwner = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
	balancesOf  = "/data/eth_mainnet/balances/" + dataOwner
	historyOf   = "/data/eth_mainnet/history/" + dataOwner
)

// dataGateway returns a gateway whose upstreams have an index, like those of an indexing provider.
func dataGateway(t *testing.T, change ...func(*apitest.Options)) *apitest.Gateway {
	t.Helper()
	g := apitest.Setup(t, change...)
	usdc := "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
	transfer := func(block, id, from, to string, more map[string]any) map[string]any {
		hash := "0x" + strings.Repeat(id, 64)
		tr := map[string]any{
			"blockNum": block, "uniqueId": hash + ":external", "hash": hash, "from": from, "to": to, "value": 1.5,
			"asset": "ETH", "category": "external", "erc721TokenId": nil, "erc1155Metadata": nil, "tokenId": nil,
			"rawContract": map[string]any{"value": "0x14d1120d7b160000", "address": nil, "decimal": "0x12"},
			"metadata":    map[string]any{"blockTimestamp": "2026-11-02T11:00:00.000Z"},
		}
		maps.Copy(tr, more)
		return tr
	}
	owner, other := strings.ToLower(dataOwner), strings.ToLower(dataOther)
	list := []map[string]any{
		transfer("0xf423f", "a", owner, other, nil),
		transfer("0xf423e", "b", other, owner, map[string]any{
			"category": "erc20", "asset": "USDC", "uniqueId": "0x" + strings.Repeat("b", 64) + ":log:7",
			"rawContract": map[string]any{"value": "0x1e8480", "address": usdc, "decimal": "0x6"},
		}),
		transfer("0xf423d", "c", owner, owner, map[string]any{
			"category": "erc721", "asset": "BAYC", "uniqueId": "0x" + strings.Repeat("c", 64) + ":log:3",
			"tokenId": "0x2a", "erc721TokenId": "0x2a", "rawContract": map[string]any{
				"value": nil, "address": "0xbc4ca0eda7647a8ab7c2061c2e118a18a936f13d", "decimal": nil,
			},
		}),
	}
	sides := func(r testkit.Request) any {
		field, mine := "to", []any{}
		var asked []struct{ FromAddress, ToBlock string }
		if g.Must(json.Unmarshal(r.Params, &asked)); asked[0].FromAddress != "" {
			field = "from"
		}
		for _, tr := range list {
			if tr[field] == owner && fmt.Sprint(tr["blockNum"]) <= asked[0].ToBlock {
				mine = append(mine, tr)
			}
		}
		return map[string]any{"transfers": mine}
	}
	for _, u := range g.Ups {
		u.On("eth_getBalance", testkit.Result("0x8ac7230489e80001"))
		u.On("eth_blockNumber", testkit.Result("0xf4240"))
		u.On("alchemy_getTokenBalances", testkit.Result(map[string]any{"address": owner, "tokenBalances": []any{
			map[string]any{
				"contractAddress": usdc,
				"tokenBalance":    "0x00000000000000000000000000000000000000000000000000000000001e8480",
			},
			map[string]any{"contractAddress": "0x6b175474e89094c44da98b954eedeac495271d0f", "tokenBalance": "0x0"},
		}}))
		// TokenFacts: 6 decimals, USDC, USD Coin
		u.On("eth_call", testkit.Result("0x010206"+"0455534443"+"0855534420436f696e"))
		u.On("alchemy_getAssetTransfers", testkit.ResultOf(sides))
		u.On("getBalance", testkit.Result(map[string]any{"context": map[string]any{"slot": 1}, "value": 1_500_000_000}))
		u.On("getTokenAccountsByOwner", testkit.ResultOf(func(r testkit.Request) any {
			value := []any{}
			if strings.Contains(string(r.Params), "TokenkegQ") {
				parsed := map[string]any{"info": map[string]any{
					"mint": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "owner": solanaOwner,
					"tokenAmount": map[string]any{"amount": "2500000", "decimals": 6},
				}}
				value = append(value, map[string]any{
					"pubkey":  solanaOwner,
					"account": map[string]any{"data": map[string]any{"parsed": parsed}},
				})
			}
			return map[string]any{"context": map[string]any{"slot": 1}, "value": value}
		}))
	}
	return g
}

// indexed sets the result of probes: whether every upstream of Ethereum has an index and whether it
// is usable.
func indexed(g *apitest.Gateway, able, usable bool) {
	g.T.Helper()
	on, _ := g.Pool.Chain(chain.EthMainnet)
	now := time.Now()
	s := upstream.Snapshot{Chain: on.ID, MeasuredAt: now, Head: apitest.Head, HeadKnown: true}
	for i := range g.Ups {
		name := "up-" + string(rune('0'+i))
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Name: name, Fingerprint: on.Fingerprint(name), Usable: usable, ChainIDOK: true, Head: apitest.Head,
			Capabilities: map[chain.Capability]upstream.Verdict{
				chain.Data: {Able: able, MeasuredAt: now, AskedAt: now},
			},
		})
	}
	on.Apply(s)
}

func TestData_AnswersStayAsTheyAre(t *testing.T) {
	t.Parallel()
	g := dataGateway(t)
	key := g.Unlimited()
	g.Get(balancesOf, key).Golden("balances")
	g.Get("/data/solana_mainnet/balances/"+solanaOwner, key).Golden("balances solana")
	g.Get(historyOf, key).Golden("history")
	first := g.Get(historyOf+"?limit=2", key)
	first.Golden("history first page")
	var page struct {
		Next string `json:"next_cursor"`
	}
	g.Must(json.Unmarshal([]byte(first.Body), &page))
	g.Get(historyOf+"?limit=2&cursor="+page.Next, key).Golden("history last page")
	g.Get("/data/solana_mainnet/history/"+solanaOwner, key).Golden("history solana")
	g.Get(historyOf+"?cursor=nonsense", key).Golden("history cursor refused")
	g.Get("/data/eth_mainnet/balances/"+strings.Replace(dataOwner, "F", "f", 1), key).Golden("balances address refused")
	g.Get(balancesOf, g.AccountKey(plan.Free)).Golden("data plan refused")
	g.Get(balancesOf, g.DoorKey()).Golden("data door key refused")
	indexed(g, false, true)
	g.Get(balancesOf, key).Golden("balances native only")
	indexed(g, true, false)
	g.Get(historyOf, key).Golden("data away")
}

func TestData_IsChargedEachTimeAndRefundedOnFailure(t *testing.T) {
	t.Parallel()
	g := dataGateway(t)
	key := g.Unlimited()
	for range 2 {
		for _, path := range []string{balancesOf, historyOf, "/data/solana_mainnet/balances/" + solanaOwner} {
			if a := g.Get(path, key); a.Status != http.StatusOK || a.Hit() {
				t.Errorf("%s: HTTP %d, hit %t: %s", path, a.Status, a.Hit(), a.Body)
			}
		}
	}
	if units := charged(g, key); units != 60*plan.Unit {
		t.Errorf("six calls cost %d, want 60 units", units/plan.Unit)
	}
	for name, spoil := range map[string]func(){
		"all are away":    func() { indexed(g, true, false) },
		"none answers":    func() { indexed(g, true, true); fail(g, testkit.Status(http.StatusBadGateway)) },
		"none has it now": func() { indexed(g, true, true); fail(g, testkit.Error(-32601, "method not found")) },
	} {
		t.Run(name, func(t *testing.T) {
			spoil()
			for _, path := range []string{balancesOf, historyOf} {
				a := g.Get(path, key)
				a.Refused(http.StatusServiceUnavailable, -32020)
				if a.Header.Get("Retry-After") == "" {
					t.Errorf("%s does not say when to come back", path)
				}
			}
		})
	}
	if units := charged(g, key); units != 60*plan.Unit {
		t.Errorf("after refusals %d units are charged, want 60", units/plan.Unit)
	}
	for _, line := range g.Lines(key) {
		in := expect.In(t, "a usage line")
		expect.Equal(in, line.Service, string(account.Data))
		expect.Equal(in, line.Class, "data")
		if line.Method != "get_balances" {
			expect.Equal(in, line.Method, "get_history")
		}
	}
}

// fail sets the answer of the index methods.
func fail(g *apitest.Gateway, reply testkit.Reply) {
	for _, u := range g.Ups {
		u.On("alchemy_getTokenBalances", reply)
		u.On("alchemy_getAssetTransfers", reply)
	}
}

func TestData_NeedsAPaidPlanAndKeepsItsLimits(t *testing.T) {
	t.Parallel()
	g := dataGateway(t)
	for name, key := range map[string]string{
		"free": g.AccountKey(plan.Free), "wallet": g.WalletKey(), "anonymous": g.DoorKey(),
	} {
		t.Run(name, func(t *testing.T) {
			data := g.Get(historyOf, key).Refused(http.StatusForbidden, -32010)
			if next := data["next_door"]; (next != nil) != (name != "free") {
				t.Errorf("the next door is %v", next)
			}
		})
	}
	g.Get(balancesOf, "").Refused(http.StatusUnauthorized, -32001)
	for _, paid := range []string{plan.Builder, plan.Pro} {
		if a := g.Get(balancesOf, g.AccountKey(paid)); a.Status != http.StatusOK {
			t.Errorf("on %s: HTTP %d %s", paid, a.Status, a.Body)
		}
	}
	off := g.Unlimited()
	g.Configure(off, apitest.Enabled("rpc"), false)
	if data := g.Get(balancesOf, off).Refused(http.StatusForbidden, -32012); data["blocked_by"] != "key" ||
		data["service"] != "data" {
		t.Errorf("switched off: %v", data)
	}
	capped := g.Unlimited()
	g.Configure(capped, account.Settings{Caps: &map[string]json.Number{"data": "19"}}, false)
	g.Get(balancesOf, capped)
	if data := g.Get(historyOf, capped).Refused(http.StatusTooManyRequests, -32014); data["scope"] != "key" {
		t.Errorf("at its cap: %v", data)
	}
}

func TestData_RefusesBadInputBeforeItCosts(t *testing.T) {
	t.Parallel()
	g := dataGateway(t, func(o *apitest.Options) {
		o.Chains = []chain.ID{chain.EthMainnet, chain.BaseMainnet, chain.SolanaMainnet}
	})
	key := g.Unlimited()
	long := strings.Repeat("A", 129)
	for path, says := range map[string]string{
		"/data/eth_mainnet/balances/0x12": "address: eth_mainnet " +
			"takes 0x and 40 hexadecimal digits",
		"/data/eth_mainnet/balances/" + dataOwner[2:]:                                        "address",
		"/data/eth_mainnet/balances/" + dataOwner + "00":                                     "address",
		"/data/eth_mainnet/balances/" + strings.ToUpper(dataOwner):                           "address",
		"/data/eth_mainnet/balances/" + solanaOwner:                                          "address of Solana",
		"/data/eth_mainnet/balances/vitalik.eth":                                             "address",
		"/data/eth_mainnet/balances/%00%ff":                                                  "address",
		"/data/eth_mainnet/balances/" + strings.Repeat("0", 65):                              "address",
		"/data/solana_mainnet/balances/" + dataOwner:                                         "address of an EVM chain",
		"/data/solana_mainnet/balances/" + strings.ToLower(solanaOwner):                      "base58",
		"/data/solana_mainnet/history/" + solanaOwner:                                        "getSignaturesForAddress",
		historyOf + "?limit=0":                                                               "limit",
		historyOf + "?limit=101":                                                             "limit",
		historyOf + "?limit=-1":                                                              "limit",
		historyOf + "?limit=2.5":                                                             "limit",
		historyOf + "?limit=ten":                                                             "limit",
		historyOf + "?limit=5&limit=6":                                                       "limit",
		historyOf + "?cursor=" + long:                                                        "cursor",
		historyOf + "?cursor=3fa85f64-5717-4562-b3fc-2c963f66afa6":                           "cursor",
		historyOf + "?page=2":                                                                "page",
		balancesOf + "?cursor=AQ":                                                            "cursor",
		"/data/base_mainnet/history/" + dataOwner + "?cursor=" + cursorOf(g, key, historyOf): "cursor",
		"/data/eth_mainnet/history/" + dataOther + "?cursor=" + cursorOf(g, key, historyOf):  "cursor",
	} {
		t.Run(path, func(t *testing.T) {
			a := g.Get(path, key)
			a.Refused(http.StatusUnprocessableEntity, -32602)
			if message := a.Envelope().Error.Message; !strings.Contains(message, says) {
				t.Errorf("%.80s: %q does not name %q", path, message, says)
			}
		})
	}
	if units := charged(g, key); units != 20*plan.Unit { // the two pages that returned cursors
		t.Errorf("refused requests cost %d units", units/plan.Unit-20)
	}
}

// charged returns the units that the key's account is charged, from its usage lines.
func charged(g *apitest.Gateway, key string) (units plan.Units) {
	g.T.Helper()
	for _, line := range g.Lines(key) {
		units += line.Units
	}
	return units
}

func cursorOf(g *apitest.Gateway, key, path string) string {
	g.T.Helper()
	var page struct {
		Next string `json:"next_cursor"`
	}
	g.Must(json.Unmarshal([]byte(g.Get(path+"?limit=1", key).Body), &page))
	return page.Next
}
