package api_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/chain"
)

// welcome holds the fields of a new key that a client reads.
type welcome struct {
	Key       string                    `json:"key"`
	KeyPrefix string                    `json:"key_prefix"`
	Door      string                    `json:"door"`
	Fences    map[string]any            `json:"fences"`
	Doorways  map[string]map[string]any `json:"doorways"`
	Terms     map[string]string         `json:"terms"`
	Skill     string                    `json:"skill"`
}

// newKey creates a key; headers as in ask.
func (g *gateway) newKey(headers ...string) answer {
	g.t.Helper()
	return g.ask(http.MethodPost, "/keys", "", "", headers...)
}

func (a answer) welcome() welcome {
	a.t.Helper()
	var w welcome
	if err := json.Unmarshal([]byte(a.body), &w); err != nil || a.status != http.StatusCreated {
		a.t.Fatalf("got HTTP %d %s", a.status, a.body)
	}
	return w
}

func TestNewKeys_AnonymousKeyComesWithItsFencesAndDoorways(t *testing.T) {
	t.Parallel()
	g := setup(t)
	a := g.newKey()
	w := a.welcome()
	if _, ok := account.ParseKey(w.Key); !ok || w.KeyPrefix != w.Key[:12] || w.Door != "public" {
		t.Errorf("the welcome is %+v", w)
	}
	if w.Fences["units_per_day"] != 10_000.0 || w.Fences["requests_per_second"] != 5.0 ||
		w.Fences["keys_per_address_and_day"] != 3.0 {
		t.Errorf("the fences are %v", w.Fences)
	}
	for _, way := range []string{"bind", "adopt", "pay_per_call", "buy_pack", "ticket", "wait", "another_key"} {
		if w.Doorways[way]["do"] == "" || w.Doorways[way]["past"] == "" {
			t.Errorf("the doorway %s is %v", way, w.Doorways[way])
		}
	}
	code, _ := w.Doorways["adopt"]["claim_code"].(string)
	if _, ok := account.ParseClaimCode(code); !ok || w.Doorways["adopt"]["open"] != true ||
		w.Doorways["pay_per_call"]["open"] != false {
		t.Errorf("the doorways are %v", w.Doorways)
	}
	if w.Terms["version"] != "2026-11-22" || w.Terms["url"] != "https://gateway.example/terms" ||
		w.Skill != "https://gateway.example/skill.md" {
		t.Errorf("terms %v, skill %s", w.Terms, w.Skill)
	}
	if a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control is %q", a.header.Get("Cache-Control"))
	}
	if strings.Count(a.body, w.Key) != 1 {
		t.Error("the key stands there more than once")
	}
	g.eth(w.Key, "eth_call").result()
	if strings.Contains(g.logs.String(), w.Key) || strings.Contains(g.logs.String(), code) {
		t.Error("the log holds the key, or its claim code")
	}
	g.newKey()
	if w := g.newKey().welcome(); w.Doorways["another_key"] != nil {
		t.Errorf("the third key promises a fourth: %v", w.Doorways)
	}
}

func TestNewKeys_ThreeADayForOneAddress(t *testing.T) {
	t.Parallel()
	g := setup(t)
	for range 3 {
		g.newKey().welcome()
	}
	for range 2 {
		a := g.newKey("X-Forwarded-For", "192.0.2.7") // not trusted without a trusted proxy
		data := a.refused(http.StatusTooManyRequests, -32024)
		if ways, _ := data["doorways"].(map[string]any); ways["wait"] == nil {
			t.Errorf("the doorways are %v", data["doorways"])
		}
		if a.header.Get("RateLimit-Limit") != "3" || a.header.Get("RateLimit-Remaining") != "0" {
			t.Errorf("the headers are %v", a.header)
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
		g := setup(t, func(o *options) { o.proxies = row.proxies })
		for _, forwarded := range row.three {
			g.newKey("X-Forwarded-For", forwarded).welcome()
		}
		g.newKey("X-Forwarded-For", row.same).refused(http.StatusTooManyRequests, -32024)
		g.newKey("X-Forwarded-For", row.other).welcome()
	}
}

func TestNewKeys_ProxiesMaySendSeveralHeaders(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.proxies = 1 })
	for range 3 {
		g.newKey("X-Forwarded-For", "198.51.100.1", "X-Forwarded-For", "192.0.2.1").welcome()
	}
	g.newKey("X-Forwarded-For", "192.0.2.1").refused(http.StatusTooManyRequests, -32024)
	g.newKey("X-Forwarded-For", "198.51.100.1").welcome()
}

func TestNewKeys_ConcurrentRequestsGetThree(t *testing.T) {
	t.Parallel()
	g := setup(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	made := 0
	for range 30 {
		wg.Go(func() {
			if a := g.newKey(); a.status == http.StatusCreated {
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
	g := setup(t)
	g.newKey().welcome()
	g.dropDatabase()
	for range 5 {
		a := g.newKey()
		if a.refused(http.StatusServiceUnavailable, -32030); a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	names, err := g.meter.Client().Keys(t.Context(), "*new_keys*").Result()
	g.must(err)
	if len(names) != 3 { // of the address, of its area, and in total
		t.Fatalf("the counts are %v", names)
	}
	for _, name := range names {
		if n, err := g.meter.Client().Get(t.Context(), name).Int(); err != nil || n != 1 {
			t.Errorf("the count %s is %d (%v), want the one key that was made", name, n, err)
		}
	}
}

func basic(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

func TestKeyForms_AreReadOnEveryRoute(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	for name, authorization := range map[string]string{
		"no scheme": key, "no scheme, blanks": key + "  ", "a password": basic("x:" + key),
		"a password, lower case": "basic" + basic("anything:" + key)[5:], "a user name": basic(key + ":"),
		"a user name alone": basic(key),
	} {
		a := g.ask(http.MethodPost, "/rpc/eth_mainnet", "", call("eth_chainId", "[]"), "Authorization", authorization)
		if a.result() != `"0x1"` {
			t.Errorf("%s: %s", name, a.body)
		}
		a = g.ask(http.MethodGet, "/toolbox/utils/keccak?text=a", "", "", "Authorization", authorization)
		if a.status != http.StatusOK {
			t.Errorf("%s at the toolbox: HTTP %d %s", name, a.status, a.body)
		}
		tool := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rpc_call",` +
			`"arguments":{"chain":"eth_mainnet","method":"eth_chainId"}}}`
		if a := g.ask(http.MethodPost, "/mcp", "", tool, "Authorization", authorization, "Content-Type",
			"application/json"); !strings.Contains(a.body, "0x1") {
			t.Errorf("%s at /mcp: %s", name, a.body)
		}
	}
}

// A key that came, but where none is read, is no riddle for its holder; it is never echoed, which
// ask checks for every answer and for the log.
func TestKeyForms_OthersAreRefusedWithThoseThatCount(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	body := call("eth_chainId", "[]")
	for name, a := range map[string]answer{
		"another scheme":  g.ask(http.MethodPost, "/rpc/eth_mainnet", "", body, "Authorization", "Token "+key),
		"not base64":      g.ask(http.MethodPost, "/rpc/eth_mainnet", "", body, "Authorization", "Basic "+key),
		"another header":  g.ask(http.MethodPost, "/rpc/eth_mainnet", "", body, "X-Api-Key", key),
		"the query":       g.ask(http.MethodPost, "/rpc/eth_mainnet?apikey="+key, "", body),
		"the path":        g.ask(http.MethodPost, "/rpc/eth_mainnet/"+key, "", body),
		"somebody else's": g.ask(http.MethodPost, "/rpc/eth_mainnet", "", body, "Authorization", basic("ann:secret")),
	} {
		data := a.refused(http.StatusUnauthorized, -32001)
		forms, _ := data["key_forms"].([]any)
		if len(forms) != 3 || !strings.Contains(a.envelope().Error.Message, "not in a form that is read") {
			t.Errorf("%s: the refusal does not say which forms are read: %s", name, a.body)
		}
		if string(a.envelope().ID) != "7" && name != "the path" { // which is no path of the relay
			t.Errorf("%s: the id is %s", name, a.envelope().ID)
		}
		if strings.Contains(a.body, key[4:12]) {
			t.Errorf("%s: the refusal shows a part of the key", name)
		}
	}
	for name, a := range map[string]answer{
		"the toolbox": g.ask(http.MethodGet, "/toolbox/utils/keccak?text=a", "", "", "X-Api-Key", key),
		"statements":  g.ask(http.MethodGet, "/api/statements", "", "", "Authorization", "Token "+key),
	} {
		if data := a.refused(http.StatusUnauthorized, -32001); data["key_forms"] == nil {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	tool := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rpc_call",` +
		`"arguments":{"chain":"eth_mainnet","method":"eth_chainId"}}}`
	a := g.ask(http.MethodPost, "/mcp", "", tool, "X-Api-Key", key, "Content-Type", "application/json")
	if !strings.Contains(a.body, "not in a form that is read") {
		t.Errorf("/mcp: %s", a.body)
	}
	if data := g.ask(http.MethodPost, "/rpc/eth_mainnet", "", body).refused(http.StatusUnauthorized,
		-32001); data["key_forms"] != nil {
		t.Error("no key came, and the refusal says one did")
	}
	if logs := g.logs.String(); strings.Contains(logs, key[4:12]) || strings.Contains(logs, basic("x:" + key)[6:30]) {
		t.Error("the log shows a part of a key")
	}
}

func TestRelay_TakesATrailingSlash(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	if got := g.rpc(key, "eth_mainnet/", call("eth_chainId", "[]")).result(); got != `"0x1"` {
		t.Errorf("the result is %s", got)
	}
	g.rpc(key, "eth_mainnet/", batchOf(3, "eth_call")).batch(3)
	g.rpc(key, "nowhere/", call("eth_chainId", "[]")).refused(http.StatusNotFound, -32600)
	if a := g.ask(http.MethodOptions, "/rpc/eth_mainnet/", "", ""); a.status != http.StatusNoContent ||
		a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the preflight is HTTP %d %v", a.status, a.header)
	}
	if a := g.ask(http.MethodGet, "/rpc/eth_mainnet/", "", ""); a.status != http.StatusMethodNotAllowed ||
		a.header.Get("Location") != "" {
		t.Errorf("GET is HTTP %d, to %q", a.status, a.header.Get("Location"))
	}
	if g.calls(g.rpc(key, "eth_mainnet/", call("eth_call", "[]")))[0].Chain != chain.EthMainnet {
		t.Error("the call is not of Ethereum")
	}
}
