package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
)

func TestCORS_PreflightsAreAnsweredWithoutAKeyAndNotMetered(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	for _, path := range []string{"/rpc/eth_mainnet", "/rpc/solana_mainnet", "/rpc/unknown"} {
		a := g.ask(http.MethodOptions, path, "", "", "Origin", "https://dapp.example", "Access-Control-Request-Method",
			"POST", "Access-Control-Request-Headers", "authorization,content-type,solana-client,x-route-tier")
		h := a.header
		if a.status != http.StatusNoContent || a.body != "" || h.Get("Access-Control-Allow-Origin") != "*" ||
			h.Get("Access-Control-Allow-Methods") != "POST" || h.Get("Access-Control-Max-Age") == "" ||
			h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: HTTP %d %v %s", path, a.status, h, a.body)
		}
		allowed := "," + strings.ToLower(strings.ReplaceAll(h.Get("Access-Control-Allow-Headers"), " ", "")) + ","
		for _, name := range []string{
			"authorization", "content-type", "content-encoding", "x-route-tier", "x-payment", "solana-client", "*",
		} {
			if !strings.Contains(allowed, ","+name+",") {
				t.Errorf("%s: %s is not allowed by %s", path, name, allowed)
			}
		}
	}
	if u := g.usage(key); len(u) != 0 {
		t.Errorf("usage is %v", u)
	}
}

func TestCORS_OtherOriginsMayReadTheMenuWithoutCredentials(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.terms = sold(t) })
	const origin = "https://dapp.example"
	for _, path := range []string{"/x402", "/.well-known/x402"} {
		for what, a := range map[string]answer{
			"read":    g.ask(http.MethodGet, path, "", "", "Origin", origin),
			"refused": g.ask(http.MethodPost, path, "", "{}", "Origin", origin),
		} {
			if a.header.Get("Access-Control-Allow-Origin") != "*" ||
				a.header.Get("Access-Control-Allow-Credentials") != "" ||
				!strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "X-Request-Id") {
				t.Errorf("%s, %s: HTTP %d %v", path, what, a.status, a.header)
			}
		}
		a := g.ask(http.MethodOptions, path, "", "", "Origin", origin, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "accept-payment")
		if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "*" ||
			a.header.Get("Access-Control-Allow-Methods") != "GET" ||
			a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s, preflight: HTTP %d %v", path, a.status, a.header)
		}
	}
	// payers are not for other pages to read
	for _, path := range []string{"/x402/redeem", "/x402/receipts/0x" + strings.Repeat("0", 64)} {
		if a := g.ask(http.MethodGet, path, "", "", "Origin",
			origin); a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is shared: %v", path, a.header)
		}
	}
}

func TestCORS_OtherOriginsMayReadEveryAnswerOfTheRelay(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.maxBody = 4096 })
	key := g.unlimited()
	const origin = "https://dapp.example"
	for name, a := range map[string]answer{
		"result":        g.eth(key, "eth_call", "Origin", origin),
		"hit":           g.eth(key, "eth_chainId", "Origin", origin),
		"batch":         g.rpc(key, chain.EthMainnet, batchOf(2, "eth_call"), "Origin", origin),
		"no key":        g.eth("", "eth_call", "Origin", origin),
		"not served":    g.eth(key, "eth_nothing", "Origin", origin),
		"no JSON":       g.rpc(key, chain.EthMainnet, "{", "Origin", origin),
		"too large":     g.rpc(key, chain.EthMainnet, strings.Repeat(" ", 5000), "Origin", origin),
		"no chain":      g.rpc(key, "bitcoin", call("eth_call", "[]"), "Origin", origin),
		"GET":           g.ask(http.MethodGet, "/rpc/eth_mainnet", key, "", "Origin", origin),
		"large headers": g.eth(key, "eth_call", "Origin", origin, "X-Filler", strings.Repeat("x", 40<<10)),
	} {
		exposed := a.header.Get("Access-Control-Expose-Headers")
		if a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Vary"),
			"Accept-Encoding") {
			t.Errorf("%s: HTTP %d %v", name, a.status, a.header)
		}
		for _, header := range []string{
			"X-Request-Id", "X-Service-Cache", "Server-Timing", "Retry-After", "RateLimit-Limit", "RateLimit-Remaining",
			"RateLimit-Reset",
		} {
			if !strings.Contains(exposed, header) {
				t.Errorf("%s: %s is not exposed by %q", name, header, exposed)
			}
		}
	}
	if a := g.eth(key, "eth_call"); a.header.Get("Access-Control-Allow-Origin") != "*" ||
		a.header.Get("Access-Control-Expose-Headers") != "" {
		t.Errorf("without an origin: %v", a.header)
	}
	for _, path := range []string{"/keys", "/healthz"} {
		if a := g.ask(http.MethodOptions, path, "", "", "Origin", origin); a.status != http.StatusMethodNotAllowed ||
			a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is shared: HTTP %d %v", path, a.status, a.header)
		}
	}
	if a := g.newKey("Origin", origin); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("a page may read the keys that it makes in the name of its visitors")
	}
}
