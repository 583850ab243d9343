package keys_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestNewKeys_AnonymousKeyComesWithItsLimitsAndDoorways(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	a := g.NewKey()
	w := a.Welcome()
	_, ok := account.ParseKey(w.Key)
	require.True(t, ok)
	expect.Equal(t, w.KeyPrefix, w.Key[:12])
	expect.Equal(t, w.Door, "public")
	expect.Equal[any](t, w.Fences["units_per_day"], 10_000.0)
	expect.Equal[any](t, w.Fences["requests_per_second"], 5.0)
	expect.Equal[any](t, w.Fences["keys_per_address_and_day"], 3.0)
	for _, way := range []string{"bind", "adopt", "pay_per_call", "buy_pack", "ticket", "wait", "another_key"} {
		if w.Doorways[way]["do"] == "" || w.Doorways[way]["past"] == "" {
			t.Errorf("the doorway %s is %v", way, w.Doorways[way])
		}
	}
	code, _ := w.Doorways["adopt"]["claim_code"].(string)
	_, ok = account.ParseClaimCode(code)
	require.True(t, ok)
	expect.Equal[any](t, w.Doorways["adopt"]["open"], true)
	expect.Equal[any](t, w.Doorways["pay_per_call"]["open"], false)
	expect.Equal(t, w.Terms["version"], "2026-11-22")
	expect.Equal(t, w.Terms["url"], "https://gateway.example/terms")
	expect.Equal(t, w.Skill, "https://gateway.example/skill.md")
	if a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control is %q", a.Header.Get("Cache-Control"))
	}
	if strings.Count(a.Body, w.Key) != 1 {
		t.Error("the key stands there more than once")
	}
	g.Eth(w.Key, "eth_call").Result()
	if strings.Contains(g.Logs.String(), w.Key) || strings.Contains(g.Logs.String(), code) {
		t.Error("the log holds the key, or its claim code")
	}
	g.NewKey()
	if w := g.NewKey().Welcome(); w.Doorways["another_key"] != nil {
		t.Errorf("the third key promises a fourth: %v", w.Doorways)
	}
}

func TestNewKeys_ThreeADayForOneAddress(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	for range 3 {
		g.NewKey().Welcome()
	}
	for range 2 {
		a := g.NewKey("X-Forwarded-For", "192.0.2.7") // not trusted without a trusted proxy
		data := a.Refused(http.StatusTooManyRequests, -32024)
		if ways, _ := data["doorways"].(map[string]any); ways["wait"] == nil {
			t.Errorf("the doorways are %v", data["doorways"])
		}
		if a.Header.Get("RateLimit-Limit") != "3" || a.Header.Get("RateLimit-Remaining") != "0" {
			t.Errorf("the headers are %v", a.Header)
		}
	}
}

func TestNewKeys_AddressIsTheOneThatTrustedProxiesLeave(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		proxies int
		three   []string // three requests of one network
		same    string   // a fourth one of the same
		other   string   // one of another
	}{
		{
			1,
			[]string{"192.0.2.1", "203.0.113.9, 192.0.2.1", "spoofed, 192.0.2.1:8080"},
			"192.0.2.2, 192.0.2.1",
			"192.0.2.1, 192.0.2.2",
		},
		{
			2,
			[]string{"192.0.2.1, 10.0.0.1", "x, 192.0.2.1, 10.0.0.2", "192.0.2.1 ,10.0.0.1"},
			"192.0.2.9, 192.0.2.1, 10.0.0.3", "192.0.2.1, 192.0.2.2, 10.0.0.1",
		},
		{
			1,
			[]string{"2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "[2001:db8:0:1::3]:443"},
			"2001:db8:0:1::4",
			"2001:db8:0:2::1",
		},
		{1, []string{"::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"}, "::ffff:192.0.2.1", "::ffff:192.0.2.2"},
		// too few entries: the peer
		{2, []string{"192.0.2.1", "192.0.2.2", "nonsense, 10.0.0.1"}, "192.0.2.3", "192.0.2.3, 10.0.0.1"},
	} {
		t.Run(row.same, func(t *testing.T) {
			g := apitest.Setup(t, func(o *apitest.Options) { o.Proxies = row.proxies })
			for _, forwarded := range row.three {
				g.NewKey("X-Forwarded-For", forwarded).Welcome()
			}
			g.NewKey("X-Forwarded-For", row.same).Refused(http.StatusTooManyRequests, -32024)
			g.NewKey("X-Forwarded-For", row.other).Welcome()
		})
	}
}

func TestNewKeys_ProxiesMaySendSeveralHeaders(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Proxies = 1 })
	for range 3 {
		g.NewKey("X-Forwarded-For", "198.51.100.1", "X-Forwarded-For", "192.0.2.1").Welcome()
	}
	g.NewKey("X-Forwarded-For", "192.0.2.1").Refused(http.StatusTooManyRequests, -32024)
	g.NewKey("X-Forwarded-For", "198.51.100.1").Welcome()
}

func TestNewKeys_ConcurrentRequestsGetThree(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	made := 0
	for range 30 {
		wg.Go(func() {
			if a := g.NewKey(); a.Status == http.StatusCreated {
				mu.Lock()
				defer mu.Unlock()
				made++
			}
		})
	}
	wg.Wait()
	if made != 3 {
		t.Errorf("%d keys were made", made)
	}
}

func TestNewKeys_FailedOneDoesNotCount(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.NewKey().Welcome()
	g.DropDatabase()
	for range 5 {
		a := g.NewKey()
		if a.Refused(http.StatusServiceUnavailable, -32030); a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	names, err := g.Meter.Client().Keys(t.Context(), "*new_keys*").Result()
	g.Must(err)
	if len(names) != 3 { // of the address, of its area, and in total
		t.Fatalf("the counts are %v", names)
	}
	for _, name := range names {
		if n, err := g.Meter.Client().Get(t.Context(), name).Int(); err != nil || n != 1 {
			t.Errorf("the count %s is %d (%v), want the one key that was made", name, n, err)
		}
	}
}

func basic(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

func TestKeyForms_AreReadOnEveryRoute(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for name, authorization := range map[string]string{
		"no scheme": key, "no scheme, blanks": key + "  ", "a password": basic("x:" + key),
		"a password, lower case": "basic" + basic("anything:" + key)[5:], "a user name": basic(key + ":"),
		"a user name alone": basic(key),
	} {
		t.Run(name, func(t *testing.T) {
			a := g.Ask(http.MethodPost, "/rpc/eth_mainnet", "", apitest.Call("eth_chainId", "[]"), "Authorization",
				authorization)
			if a.Result() != `"0x1"` {
				t.Errorf("%s", a.Body)
			}
			a = g.Ask(http.MethodGet, "/toolbox/utils/keccak?text=a", "", "", "Authorization", authorization)
			if a.Status != http.StatusOK {
				t.Errorf("%s at the toolbox: HTTP %d %s", name, a.Status, a.Body)
			}
			tool := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rpc_call",` +
				`"arguments":{"chain":"eth_mainnet","method":"eth_chainId"}}}`
			if a := g.Ask(http.MethodPost, "/mcp", "", tool, "Authorization", authorization, "Content-Type",
				"application/json"); !strings.Contains(a.Body, "0x1") {
				t.Errorf("%s at /mcp: %s", name, a.Body)
			}
		})
	}
}

// A key that came, but where none is read, is no riddle for its holder; it is never echoed, which
// ask checks for every answer and for the log.
func TestKeyForms_OthersAreRefusedWithThoseThatCount(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	body := apitest.Call("eth_chainId", "[]")
	for name, a := range map[string]apitest.Answer{
		"another scheme":  g.Ask(http.MethodPost, "/rpc/eth_mainnet", "", body, "Authorization", "Token "+key),
		"not base64":      g.Ask(http.MethodPost, "/rpc/eth_mainnet", "", body, "Authorization", "Basic "+key),
		"another header":  g.Ask(http.MethodPost, "/rpc/eth_mainnet", "", body, "X-Api-Key", key),
		"the query":       g.Ask(http.MethodPost, "/rpc/eth_mainnet?apikey="+key, "", body),
		"the path":        g.Ask(http.MethodPost, "/rpc/eth_mainnet/"+key, "", body),
		"path and slash":  g.Ask(http.MethodPost, "/rpc/eth_mainnet/"+key+"/", "", body),
		"somebody else's": g.Ask(http.MethodPost, "/rpc/eth_mainnet", "", body, "Authorization", basic("ann:secret")),
	} {
		t.Run(name, func(t *testing.T) {
			data := a.Refused(http.StatusUnauthorized, -32001)
			forms, _ := data["key_forms"].([]any)
			if len(forms) != 3 || !strings.Contains(a.Envelope().Error.Message, "not in a form that is read") {
				t.Errorf("the refusal does not say which forms are read: %s", a.Body)
			}
			expect.Equal(t, string(a.Envelope().ID), "7")
			if strings.Contains(a.Body, key[4:12]) {
				t.Error("the refusal shows a part of the key")
			}
		})
	}
	for name, a := range map[string]apitest.Answer{
		"the toolbox": g.Ask(http.MethodGet, "/toolbox/utils/keccak?text=a", "", "", "X-Api-Key", key),
		"statements":  g.Ask(http.MethodGet, "/api/statements", "", "", "Authorization", "Token "+key),
	} {
		if data := a.Refused(http.StatusUnauthorized, -32001); data["key_forms"] == nil {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
	tool := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rpc_call",` +
		`"arguments":{"chain":"eth_mainnet","method":"eth_chainId"}}}`
	a := g.Ask(http.MethodPost, "/mcp", "", tool, "X-Api-Key", key, "Content-Type", "application/json")
	if !strings.Contains(a.Body, "not in a form that is read") {
		t.Errorf("/mcp: %s", a.Body)
	}
	if data := g.Ask(http.MethodPost, "/rpc/eth_mainnet", "", body).Refused(http.StatusUnauthorized,
		-32001); data["key_forms"] != nil {
		t.Error("no key came, and the refusal says one did")
	}
	if logs := g.Logs.String(); strings.Contains(logs, key[4:12]) || strings.Contains(logs, basic("x:" + key)[6:30]) {
		t.Error("the log shows a part of a key")
	}
}

// Clients match answers with their requests by id, and pages of other origins ask before they send.
func TestKeyInPath_IsRefusedLikeOtherRequestsOfTheRelay(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	path := "/rpc/eth_mainnet/" + g.Unlimited()
	a := g.Ask(http.MethodPost, path, "", apitest.BatchOf(3, "eth_call"), "Origin", "https://dapp.example")
	expect.Equal(t, a.Status, http.StatusUnauthorized)
	expect.Equal(t, a.Header.Get("Access-Control-Allow-Origin"), "*")
	expect.NotEqual(t, a.Header.Get("WWW-Authenticate"), "")
	expect.Equal(t, strings.Count(a.Body, `"code":-32001`), 3, "one error for each request of the batch")
	preflight := g.Ask(http.MethodOptions, path, "", "", "Origin", "https://dapp.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
	expect.Equal(t, preflight.Status, http.StatusNoContent)
	expect.Equal(t, preflight.Header.Get("Access-Control-Allow-Origin"), "*")
	expect.Equal(t, preflight.Header.Get("Access-Control-Allow-Methods"), "POST")
	g.Ask(http.MethodPost, "/rpc/eth_mainnet/elsewhere", "", "{}").Refused(http.StatusNotFound, -32600)
	other := g.Ask(http.MethodOptions, "/rpc/eth_mainnet/elsewhere", "", "")
	expect.Equal(t, other.Status, http.StatusNotFound)
}

func TestRelay_TakesATrailingSlash(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	if got := g.RPC(key, "eth_mainnet/", apitest.Call("eth_chainId", "[]")).Result(); got != `"0x1"` {
		t.Errorf("the result is %s", got)
	}
	g.RPC(key, "eth_mainnet/", apitest.BatchOf(3, "eth_call")).Batch(3)
	g.RPC(key, "nowhere/", apitest.Call("eth_chainId", "[]")).Refused(http.StatusNotFound, -32600)
	if a := g.Ask(http.MethodOptions, "/rpc/eth_mainnet/", "", ""); a.Status != http.StatusNoContent ||
		a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the preflight is HTTP %d %v", a.Status, a.Header)
	}
	if a := g.Ask(http.MethodGet, "/rpc/eth_mainnet/", "", ""); a.Status != http.StatusMethodNotAllowed ||
		a.Header.Get("Location") != "" {
		t.Errorf("GET is HTTP %d, to %q", a.Status, a.Header.Get("Location"))
	}
	if g.Calls(g.RPC(key, "eth_mainnet/", apitest.Call("eth_call", "[]")))[0].Chain != chain.EthMainnet {
		t.Error("the call is not of Ethereum")
	}
}
