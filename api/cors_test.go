package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestCORS_PreflightsAreAnsweredWithoutAKeyAndNotMetered(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	for _, path := range []string{"/rpc/eth_mainnet", "/rpc/solana_mainnet", "/rpc/unknown"} {
		a := g.Ask(http.MethodOptions, path, "", "", "Origin", "https://dapp.example", "Access-Control-Request-Method",
			"POST", "Access-Control-Request-Headers", "authorization,content-type,solana-client,x-route-tier")
		h := a.Header
		in := expect.In(t, "%s", path)
		expect.Equal(in, a.Status, http.StatusNoContent)
		expect.Equal(in, a.Body, "")
		expect.Equal(in, h.Get("Access-Control-Allow-Origin"), "*")
		expect.Equal(in, h.Get("Access-Control-Allow-Methods"), "POST")
		expect.NotEqual(in, h.Get("Access-Control-Max-Age"), "")
		expect.Equal(in, h.Get("Access-Control-Allow-Credentials"), "")
		allowed := "," + strings.ToLower(strings.ReplaceAll(h.Get("Access-Control-Allow-Headers"), " ", "")) + ","
		for _, name := range []string{
			"authorization", "content-type", "content-encoding", "x-route-tier", "x-payment", "solana-client", "*",
		} {
			if !strings.Contains(allowed, ","+name+",") {
				t.Errorf("%s: %s is not allowed by %s", path, name, allowed)
			}
		}
	}
	if u := g.Usage(key); len(u) != 0 {
		t.Errorf("usage is %v", u)
	}
}

func TestCORS_OtherOriginsMayReadTheMenuWithoutCredentials(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Terms = apitest.Terms(t) })
	const origin = "https://dapp.example"
	for _, path := range []string{"/x402", "/.well-known/x402"} {
		for what, a := range map[string]apitest.Answer{
			"read":    g.Ask(http.MethodGet, path, "", "", "Origin", origin),
			"refused": g.Ask(http.MethodPost, path, "", "{}", "Origin", origin),
		} {
			in := expect.In(t, "%s, %s: HTTP %d", path, what, a.Status)
			expect.Equal(in, a.Header.Get("Access-Control-Allow-Origin"), "*")
			expect.Equal(in, a.Header.Get("Access-Control-Allow-Credentials"), "")
			expect.Contains(in, a.Header.Get("Access-Control-Expose-Headers"), "X-Request-Id")
		}
		a := g.Ask(http.MethodOptions, path, "", "", "Origin", origin, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "accept-payment")
		in := expect.In(t, "%s, preflight", path)
		expect.Equal(in, a.Status, http.StatusNoContent)
		expect.Equal(in, a.Header.Get("Access-Control-Allow-Origin"), "*")
		expect.Equal(in, a.Header.Get("Access-Control-Allow-Methods"), "GET")
		expect.Equal(in, a.Header.Get("Access-Control-Allow-Credentials"), "")
	}
	// payers are not for other pages to read
	for _, path := range []string{"/x402/redeem", "/x402/receipts/0x" + strings.Repeat("0", 64)} {
		if a := g.Ask(http.MethodGet, path, "", "", "Origin",
			origin); a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is shared: %v", path, a.Header)
		}
	}
}

func TestCORS_OtherOriginsMayReadEveryAnswerOfTheRelay(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.MaxBody = 4096 })
	key := g.Unlimited()
	const origin = "https://dapp.example"
	for name, a := range map[string]apitest.Answer{
		"result":        g.Eth(key, "eth_call", "Origin", origin),
		"hit":           g.Eth(key, "eth_chainId", "Origin", origin),
		"batch":         g.RPC(key, chain.EthMainnet, apitest.BatchOf(2, "eth_call"), "Origin", origin),
		"no key":        g.Eth("", "eth_call", "Origin", origin),
		"not served":    g.Eth(key, "eth_nothing", "Origin", origin),
		"no JSON":       g.RPC(key, chain.EthMainnet, "{", "Origin", origin),
		"too large":     g.RPC(key, chain.EthMainnet, strings.Repeat(" ", 5000), "Origin", origin),
		"no chain":      g.RPC(key, "bitcoin", apitest.Call("eth_call", "[]"), "Origin", origin),
		"GET":           g.Ask(http.MethodGet, "/rpc/eth_mainnet", key, "", "Origin", origin),
		"large headers": g.Eth(key, "eth_call", "Origin", origin, "X-Filler", strings.Repeat("x", 40<<10)),
	} {
		t.Run(name, func(t *testing.T) {
			exposed := a.Header.Get("Access-Control-Expose-Headers")
			if a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.Header.Get("Vary"),
				"Accept-Encoding") {
				t.Errorf("HTTP %d %v", a.Status, a.Header)
			}
			for _, header := range []string{
				"X-Request-Id", "X-Service-Cache", "Server-Timing", "Retry-After", "RateLimit-Limit",
				"RateLimit-Remaining",
				"RateLimit-Reset",
			} {
				if !strings.Contains(exposed, header) {
					t.Errorf("%s is not exposed by %q", header, exposed)
				}
			}
		})
	}
	if a := g.Eth(key, "eth_call"); a.Header.Get("Access-Control-Allow-Origin") != "*" ||
		a.Header.Get("Access-Control-Expose-Headers") != "" {
		t.Errorf("without an origin: %v", a.Header)
	}
	for _, path := range []string{"/keys", "/healthz"} {
		if a := g.Ask(http.MethodOptions, path, "", "", "Origin", origin); a.Status != http.StatusMethodNotAllowed ||
			a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is shared: HTTP %d %v", path, a.Status, a.Header)
		}
	}
	if a := g.NewKey("Origin", origin); a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("a page may read the keys that it makes in the name of its visitors")
	}
}
