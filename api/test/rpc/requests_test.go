package rpc_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestRequests_IDsAreEchoedByteForByte(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, id := range []string{
		`1`, `-0`, `12345678901234567890123456789`, `1.50`, `1e400`, `"a"`, `""`, `"\u0041\/\"\n"`, `"é"`, `null`,
		`true`, `false`, `{ "a" : [1, 2.0] }`, `[ ]`, `"` + strings.Repeat("x", 4000) + `"`,
	} {
		for _, method := range []string{"eth_call", "eth_nothing"} {
			a := g.RPC(key, chain.EthMainnet, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`)
			if !strings.HasPrefix(a.Body, `{"jsonrpc":"2.0","id":`+id+`,`) {
				t.Errorf("%s came back as %.60s", id, a.Body)
			}
		}
	}
	if a := g.RPC(key, chain.EthMainnet, `{"jsonrpc":"2.0","method":"eth_call"}`); !strings.HasPrefix(a.Body,
		`{"jsonrpc":"2.0","id":null,"result"`) {
		t.Errorf("a missing id came back as %.60s", a.Body)
	}
	long := g.RPC(key, chain.EthMainnet, `{"jsonrpc":"2.0","id":"`+strings.Repeat("x", 5000)+`","method":"eth_call"}`)
	if long.Refused(http.StatusBadRequest, -32600); string(long.Envelope().ID) != "null" {
		t.Error("an id that is refused must not be echoed")
	}
}

func TestRequests_InvalidAreRefused(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	const ok = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]}`
	for body, code := range map[string]int{
		"": -32700, " ": -32700, "{": -32700, "not json": -32700, `{"jsonrpc":"2.0",}`: -32700, ok + "x": -32700,
		ok + ok: -32700, "\xef\xbb\xbf" + ok: -32700, `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["` +
			"\xff" + `"]}`: -32700,
		`{"jsonrpc":"2.0","id":01,"method":"eth_call"}`: -32700, `{'jsonrpc':'2.0'}`: -32700, "\x00": -32700,
		`1`: -32600, `"x"`: -32600, `null`: -32600, `true`: -32600, `{}`: -32600,
		`{"jsonrpc":"1.0","id":1,"method":"eth_call"}`: -32600, `{"jsonrpc":2.0,"id":1,"method":"eth_call"}`: -32600,
		`{"id":1,"method":"eth_call"}`: -32600, `{"jsonrpc":"2.0","id":1}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":1}`: -32600, `{"jsonrpc":"2.0","id":1,"method":null}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":["eth_call"]}`:                      -32600,
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":{}}`:            -32600,
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":"x"}`:           -32600,
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":1}`:             -32600,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"eth_call"}`:                 -32600,
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","method":"eth_chainId"}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 129) +
			`"}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) +
			`}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":` + strings.Repeat("[", 9999) + strings.Repeat("]",
			9999) + `}`: -32600,
		strings.Repeat("[", 100_000): -32600, strings.Repeat(`{"a":`, 100_000): -32600,
	} {
		g.RPC(key, chain.EthMainnet, body).Refused(http.StatusBadRequest, code)
	}
	if g.Sent("eth_call") != 0 {
		t.Error("something was relayed")
	}
	u := g.Usage(key)
	expect.Equal(t, u["ok"].Requests, 0)
	expect.NotEqual(t, u["not_json"].Requests, 0)
	expect.NotEqual(t, u["not_a_request"].Requests, 0)
	g.RPC(key, chain.EthMainnet, `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":null}`).Result()
	g.RPC(key, chain.EthMainnet, "\r\n\t "+ok+" \n", "Content-Type", "text/plain").Result()
}

func TestRequests_BodiesOverTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	frame := len(apitest.Call("eth_call", `[""]`))
	exact := apitest.Call("eth_call", `["`+strings.Repeat("0", 1<<20-frame)+`"]`)
	if len(exact) != 1<<20 {
		t.Fatalf("the body has %d bytes", len(exact))
	}
	g.RPC(key, chain.EthMainnet, exact).Result()
	over := exact[:len(exact)-3] + `0"]}`
	g.RPC(key, chain.EthMainnet, over).Refused(http.StatusRequestEntityTooLarge, -32600)
	// Without Content-Length, the size is known only while reading.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/rpc/eth_mainnet", struct {
		io.Reader
	}{strings.NewReader(over)})
	g.Must(err)
	req.Header.Set("Authorization", "Bearer "+key)
	g.Send(req).Refused(http.StatusRequestEntityTooLarge, -32600)
}

func TestRequests_UnknownChainsAndMethodsAreRefusedWithAnAlternative(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, name := range []string{"eth_mainnet2", "ETH_MAINNET", "bitcoin", "eth.mainnet", "1"} {
		a := g.RPC(key, chain.ID(name), apitest.Call("eth_call", "[]"))
		a.Refused(http.StatusNotFound, -32600)
		if string(a.Envelope().ID) != "7" || !strings.Contains(a.Body, "base_mainnet") {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
	a := g.RPC(key, chain.PolygonPoS, apitest.Call("eth_call", "[]")) // known, but this gateway has no upstream for it
	if data := a.Refused(http.StatusNotFound, -32600); data["contact"] != apitest.Links.Contact ||
		!strings.Contains(a.Body, "polygon_pos") {
		t.Errorf("a chain without upstreams: %s", a.Body)
	}
	for _, method := range []string{
		"eth_nothing", "ETH_CALL", "eth_call ", "eth_newFilter", "eth_subscribe", "eth_sign", "eth_sendTransaction",
		"eth_accounts", "personal_sign", "admin_peers", "miner_start", "engine_newPayloadV1", "txpool_remove",
		"debug_setHead", "eth_sendRawTransactionConditional", "eth_sendBundle", "debug_getBadBlocks", "getSlot",
		"bor_getAuthor", "",
	} {
		a := g.Eth(key, method)
		data := a.Refused(http.StatusNotFound, -32601)
		in := expect.In(t, "%s", method)
		expect.Equal[any](in, data["contact"], apitest.Links.Contact, a.Body)
		expect.Equal[any](in, data["docs"], apitest.Links.Docs, a.Body)
		expect.Equal(in, g.Ups[0].Total()+g.Ups[1].Total(), 0, a.Body)
	}
	for _, method := range []string{
		"getProgramAccounts", "requestAirdrop", "getIdentity", "slotSubscribe",
		"getConfirmedBlock", "getFees", "eth_call",
	} {
		g.RPC(key, chain.SolanaMainnet, apitest.Call(method, "[]")).Refused(http.StatusNotFound, -32601)
	}
	if u := g.Usage(key); u["method_not_served"].Units != 0 || u["ok"].Requests != 0 {
		t.Errorf("usage is %v", u)
	}
}

func TestRequests_ParameterCapsAreFreeAndSayHowToPaginate(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	for _, body := range []string{
		apitest.Call("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x3e8"}]`),
		apitest.Call("eth_getLogs", `[{"fromBlock":"earliest"}]`),
		apitest.Call("eth_feeHistory", `["0x401","latest",[]]`),
	} {
		a := g.RPC(key, chain.EthMainnet, body)
		data := a.Refused(http.StatusBadRequest, -32602)
		if data["contact"] != apitest.Links.Contact || data["docs"] != apitest.Links.Docs {
			t.Errorf("data is %v", data)
		}
		if m := strings.ToLower(a.Envelope().Error.Message); !strings.Contains(m, "paginat") &&
			!strings.Contains(m, "split") {
			t.Errorf("the message does not say how to go on: %s", m)
		}
	}
	if day, _ := g.Counted(key); day != 0 || g.Ups[0].Total() != 0 {
		t.Errorf("the day holds %d, %d were sent", day, g.Ups[0].Total())
	}
}

func TestRequests_WeighWhatTheInterfaceSays(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.AllOn("eth_getLogs", testkit.Result([]string{}))
	for _, row := range []struct {
		method, params, tier string
		want                 plan.Units
	}{
		{"eth_call", `[]`, "", 1000},
		{"eth_call", `[]`, "balanced", 1000},
		{"eth_call", `[]`, "cheap", 500},
		{"eth_call", `[]`, "fast", 2000},
		{"debug_traceCall", `[]`, "", 2000},
		{"debug_traceCall", `[]`, "cheap", 1000},
		{"debug_traceCall", `[]`, "fast", 4000},
		{"eth_getLogs", `[{"fromBlock":"0xf4100","toBlock":"0xf417f"}]`, "", 1000}, // 128 blocks
		{"eth_getLogs", `[{"fromBlock":"0xf4100","toBlock":"0xf4180"}]`, "", 2000}, // 129
		{"eth_getBalance", `["0x0","0xf41c0"]`, "", 1000},                          // head − 128
		{"eth_getBalance", `["0x0","0xf41bf"]`, "", 2000},                          // head − 129
		{"eth_getBalance", `["0x0","earliest"]`, "fast", 4000},
	} {
		t.Run(row.method, func(t *testing.T) {
			key := g.DoorKey()
			a := g.RPC(key, chain.EthMainnet, apitest.Call(row.method, row.params), "X-Route-Tier", row.tier)
			a.Result()
			if day, period := g.Counted(key); day != row.want || period != 0 {
				t.Errorf("%s %s %s costs %d and %d, want %d", row.method, row.params, row.tier, day, period, row.want)
			}
		})
	}
	key := g.DoorKey()
	for _, tier := range []string{"slow", "FAST", "fast "} {
		a := g.Eth(key, "eth_call", "X-Route-Tier", tier)
		if tier == "fast " {
			a.Result() // white space around a header's value does not count
			continue
		}
		a.Refused(http.StatusBadRequest, -32602)
		if string(a.Envelope().ID) != "7" || !strings.Contains(a.Body, "cheap, balanced or fast") {
			t.Errorf("%s: %s", tier, a.Body)
		}
	}
}

func TestRequests_InvalidKeysAreRefused(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	last := byte('0')
	if key[len(key)-1] == last {
		last = '1'
	}
	unknown := "cag_" + strings.Repeat("0", 43)
	minted, err := account.MintKey(strings.NewReader(strings.Repeat("k", 32)))
	g.Must(err)
	for name, authorization := range map[string]string{
		"missing": "", "another scheme": "Token " + key, "not base64": "Basic " + key, "empty": "Bearer ",
		"bad checksum": "Bearer " + key[:len(key)-1] + string(last), "short": "Bearer cag_",
		"no checksum": "Bearer " + unknown, "unknown": "Bearer " + minted.Reveal(), "two": "Bearer " + key + " " + key,
		"case": "Bearer " + strings.ToUpper(key), "credential": "Bearer cagx_" + key[4:],
		"long": "Bearer " + strings.Repeat(key, 50),
	} {
		t.Run(name, func(t *testing.T) {
			var headers []string
			if authorization != "" {
				headers = []string{"Authorization", authorization}
			}
			a := g.Ask(http.MethodPost, "/rpc/eth_mainnet", "", "not json", headers...)
			a.Refused(http.StatusUnauthorized, -32001)
			if challenge := a.Header.Values("WWW-Authenticate"); len(challenge) != 1 ||
				challenge[0] != `Bearer realm="gateway"` {
				t.Errorf("the answer does not say how to send a key: %q", challenge)
			}
			if string(a.Envelope().ID) != "null" || !strings.Contains(a.Body, "POST /keys") {
				t.Errorf("%s", a.Body)
			}
		})
	}
	for _, authorization := range []string{"bearer " + key, "BEARER  " + key + " "} {
		g.Ask(http.MethodPost, "/rpc/eth_mainnet", "", apitest.Call("eth_call", "[]"), "Authorization",
			authorization).Result()
	}
	g.Revoke(key)
	data := g.Eth(key, "eth_call").Refused(http.StatusUnauthorized, -32001)
	if next, _ := data["next_door"].(map[string]any); next["where"] != "POST /keys" {
		t.Errorf("next_door is %v", data["next_door"])
	}
}

func TestRequests_SuspendedAccountIsRefusedBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.Eth(key, "eth_call").Result()
	g.Suspend(key)
	for range 8 { // more than its window: suspension comes first
		for _, body := range []string{
			apitest.Call("eth_call", "[]"), "not json", apitest.Call("eth_nothing", "[]"),
			apitest.Call("eth_chainId", "[]"),
		} {
			if data := g.RPC(key, chain.EthMainnet, body).Refused(http.StatusForbidden,
				-32009); data["next_door"] == nil {
				t.Error("a door key is refused without a next door")
			}
		}
	}
	g.RPC(key, "nowhere", "not json").Refused(http.StatusForbidden, -32009)
}

func TestRateWindow_RefusesBeforeTheRequestIsParsed(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	refusals := 0
	for n := 0; refusals < 5 && n < 200; n++ { // a new window may begin between two requests
		a := g.RPC(key, chain.EthMainnet, "not json")
		if a.Status == http.StatusBadRequest {
			a.Refused(http.StatusBadRequest, -32700)
			continue
		}
		refusals++
		data := a.Refused(http.StatusTooManyRequests, -32005)
		expect.Equal(t, a.Header.Get("RateLimit-Limit"), "100")
		expect.Equal(t, a.Header.Get("RateLimit-Remaining"), "0")
		expect.Equal(t, a.Header.Get("Retry-After"), fmt.Sprint(data["retry_after"]))
		if next, _ := data["next_door"].(map[string]any); next["do"] == nil {
			t.Errorf("next_door is %v", data["next_door"])
		}
	}
	if refusals < 5 {
		t.Fatal("twenty seconds of five requests a second were not the limit")
	}
	if day, _ := g.Counted(key); day != 0 {
		t.Errorf("the day holds %d: what is no request counts in the window alone", day)
	}
}

func TestDoorKey_IsRefusedBeyondItsDay(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.Eth(key, "eth_call").Result()
	id := g.Identity(key)
	names, err := g.Meter.Client().Keys(t.Context(), "*day:"+id.Key.String()+":*").Result()
	g.Must(err)
	g.Must(g.Meter.Client().Set(t.Context(), names[0], int64(10_000*plan.Unit-500), time.Hour).Err())
	a := g.Eth(key, "eth_call")
	data := a.Refused(http.StatusTooManyRequests, -32016)
	next, _ := data["next_door"].(map[string]any)
	expect.Equal[any](t, next["door"], "bind")
	expect.Equal[any](t, next["where"], "POST /keys/bind/start")
	expect.Contains(t, fmt.Sprint(next["do"]), "1000000 units a month")
	if a.Header.Get("RateLimit-Limit") != "10000" || a.Header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("headers %v, data %v", a.Header, data)
	}
	g.Eth(key, "eth_call", "X-Route-Tier", "cheap").Result() // half a unit is left
	g.Eth(key, "eth_chainId").Result()                       // hits cost nothing
	if u := g.Usage(key); u["door_key_day"].Requests != 1 || u["ok"].Units != 1500 {
		t.Errorf("usage is %v", u)
	}
}

func TestLimitHeaders_AreSpelledAsInTheInterface(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	for range 200 {
		raw := raw(g, "POST /rpc/eth_mainnet HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+
			"\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
		if !strings.HasPrefix(raw, "HTTP/1.1 429") {
			continue
		}
		for _, name := range []string{
			"\r\nRateLimit-Limit: 100\r\n", "\r\nRateLimit-Remaining: 0\r\n", "\r\nRateLimit-Reset: ",
			"\r\nRetry-After: ", "\r\nX-Request-Id: ",
		} {
			if !strings.Contains(raw, name) {
				t.Errorf("%q is not in %s", name, raw)
			}
		}
		return
	}
	t.Error("the window never refused")
}

// raw sends bytes and returns the answer as bytes.
func raw(g *apitest.Gateway, request string) string {
	g.T.Helper()
	conn, err := (&net.Dialer{}).DialContext(g.T.Context(), "tcp", strings.TrimPrefix(g.URL, "http://"))
	g.Must(err)
	defer func() { _ = conn.Close() }()
	g.Must(conn.SetDeadline(time.Now().Add(apitest.Timeout)))
	_, err = io.WriteString(conn, request)
	g.Must(err)
	text, err := io.ReadAll(bufio.NewReader(conn))
	g.Must(err)
	return string(text)
}

func TestRequests_HeaderFloodsGetTheEnvelope(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	var many, longer []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("X-Flood-%d", i), "x")
	}
	for range 4 {
		longer = append(longer, "X-Long", strings.Repeat("x", 10<<10))
	}
	for name, headers := range map[string][]string{
		"many": many, "long": longer, "one": {"X-Long", strings.Repeat("x", 500<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.Eth(key, "eth_call", headers...)
			a.Refused(http.StatusRequestHeaderFieldsTooLarge, -32600)
			if g.Sent("eth_call") != 0 {
				t.Error("the call was relayed")
			}
		})
	}
	g.Ask(http.MethodGet, "/healthz?"+strings.Repeat("x", 40<<10), "",
		"").Refused(http.StatusRequestHeaderFieldsTooLarge, -32600)
}

func TestRequests_UnknownRoutesAndMethodsGetTheEnvelope(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	for _, method := range []string{
		http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodHead, "BREW",
	} {
		a := g.Ask(method, "/rpc/eth_mainnet", key, "")
		if a.Header.Get("Allow") != "POST, OPTIONS" || a.Status != http.StatusMethodNotAllowed {
			t.Errorf("%s: HTTP %d, Allow %q", method, a.Status, a.Header.Get("Allow"))
		}
		if method == http.MethodHead {
			if a.Body != "" {
				t.Error("HEAD has a body")
			}
			continue
		}
		a.Refused(http.StatusMethodNotAllowed, -32600)
	}
	g.Ask(http.MethodGet, "/keys", "", "").Refused(http.StatusMethodNotAllowed, -32600)
	for _, path := range []string{
		"/", "/rpc", "/rpc/", "/rpc/eth_mainnet//", "/rpc/eth_mainnet/x", "/keys/",
		"//rpc/eth_mainnet", "/nothing", "/.env", "/rpc/../keys",
	} {
		a := g.Ask(http.MethodPost, path, key, apitest.Call("eth_call", "[]"))
		if a.Refused(http.StatusNotFound, -32600); g.Sent("eth_call") != 0 {
			t.Errorf("%s was relayed", path)
		}
	}
}

func TestResponses_EachHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	const theirs = "018f0000-0000-7000-8000-000000000000"
	seen := map[string]bool{theirs: true}
	for _, a := range []apitest.Answer{
		g.Eth(key, "eth_call", "X-Request-Id", theirs), g.Eth(key, "eth_chainId", "X-Request-Id", theirs),
		g.Eth(key, "eth_nothing", "X-Request-Id", theirs), g.RPC(key, chain.EthMainnet, apitest.BatchOf(2, "eth_call"),
			"X-Request-Id", theirs), g.Eth("", "eth_call", "X-Request-Id", theirs),
		g.Ask(http.MethodGet, "/healthz", "", "", "X-Request-Id", theirs),
		g.Ask(http.MethodGet, "/readyz", "", "", "X-Request-Id", theirs),
		g.Ask(http.MethodGet, "/nothing", "", "", "X-Request-Id", theirs),
		g.Ask(http.MethodPost, "/keys", "", "", "X-Request-Id", theirs),
	} {
		t.Run(a.Body, func(t *testing.T) {
			id := a.Header.Get("X-Request-Id")
			if seen[id] || len(a.Header.Values("X-Request-Id")) != 1 {
				t.Errorf("the id %s is not the response's own", id)
			}
			seen[id] = true
		})
	}
}

func TestServerTiming_NamesTheParts(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for method, want := range map[string][]string{
		"eth_call": {"gate;dur=", "route;dur=", "upstream;dur="}, "eth_chainId": {"cache;desc=hit;dur="},
		"eth_nothing": {"gate;dur="},
	} {
		t.Run(method, func(t *testing.T) {
			got := g.Eth(key, method).Header.Get("Server-Timing")
			for _, part := range want {
				if !strings.Contains(got, part) {
					t.Errorf("Server-Timing is %q, want %s", got, part)
				}
			}
		})
	}
}

func TestServerTiming_SeparatesUpstreamAndOwnTime(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Upstreams = 1 })
	g.Ups[0].Default(testkit.Hang(testkit.Result("0x1")))
	const slow = 150 * time.Millisecond
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		testkit.Eventually(t, apitest.Timeout, func() bool {
			return g.Sent("eth_call") == 1
		}, "the call is at the upstream")
		<-time.After(slow)
		g.Ups[0].Release()
	}()
	began := time.Now()
	header := g.Eth(g.Unlimited(), "eth_call").Header.Get("Server-Timing")
	elapsed := time.Since(began)
	<-asked
	parts := regexp.MustCompile(
		`^gate;dur=([0-9]+\.[0-9]{3}), route;dur=([0-9]+\.[0-9]{3}), upstream;dur=([0-9]+\.[0-9]{3})$`).
		FindStringSubmatch(header)
	if parts == nil {
		t.Fatalf("Server-Timing is %q", header)
	}
	var sum time.Duration
	for i, part := range parts[1:] {
		d, err := time.ParseDuration(part + "ms")
		g.Must(err)
		sum += d
		if upstreams := i == 2; upstreams && d < slow {
			t.Errorf("an upstream that took %s took %s", slow, d)
		} else if !upstreams && d <= 0 {
			t.Errorf("part %d took nothing: %s", i, header)
		}
	}
	if sum > elapsed {
		t.Errorf("the parts of %q are more than the %s that the call took", header, elapsed)
	}
}

func TestHealth_AndReadinessSpeakForTheProcess(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Apply = false })
	if a := g.Ask(http.MethodGet, "/healthz", "", ""); a.Status != http.StatusOK {
		t.Errorf("healthz is %d", a.Status)
	}
	ready := func() (int, map[string]any) {
		a := g.Ask(http.MethodGet, "/readyz", "", "")
		var body map[string]any
		g.Must(json.Unmarshal([]byte(a.Body), &body))
		return a.Status, body
	}
	if status, body := ready(); status != http.StatusServiceUnavailable {
		t.Errorf("ready before any head is known: %v", body)
	}
	for _, id := range g.Pool.Chains() {
		apitest.ApplyHealthy(g.Pool, id, time.Now(), 2)
	}
	if status, body := ready(); status != http.StatusOK {
		t.Errorf("not ready: %v", body)
	}
	for _, id := range g.Pool.Chains() {
		apitest.ApplyHealthy(g.Pool, id, time.Now().Add(-time.Hour), 2)
	}
	status, body := ready()
	checks, _ := body["checks"].(map[string]any)
	for _, id := range g.Pool.Chains() {
		if said := fmt.Sprint(checks["chain "+string(id)]); !strings.HasPrefix(said, "head is 1h0m") {
			t.Errorf("of a head that is an hour old /readyz says %q", said)
		}
	}
	if status != http.StatusOK {
		t.Errorf("old heads take the API out of service: %v", body)
	}
	g.Redis.Kill(t)
	if status, body := ready(); status != http.StatusServiceUnavailable {
		t.Errorf("ready without the meter: %v", body)
	}
}
