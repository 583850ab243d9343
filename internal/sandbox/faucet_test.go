package sandbox

import (
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/relay/chain"
)

func askFaucet(t *testing.T, h http.Handler, method, body string,
	change ...func(*http.Request),
) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8080"+FaucetPath,
		strings.NewReader(body))
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFaucet_GivesUSDCAndCoinsForGas(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Chains: []chain.ID{chain.BaseMainnet}, BlockTime: 200 * time.Millisecond})
	token, to := s.usdc(t, chain.BaseMainnet), common.HexToAddress("0x00000000000000000000000000000000c0ffee77")
	f := s.Faucet(time.Now)
	w := askFaucet(t, f, http.MethodPost, `{"address":"`+to.Hex()+`"}`)
	var given Given
	if err := json.Unmarshal(w.Body.Bytes(), &given); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got, _ := token.ask(t, "balanceOf", to)[0].(*big.Int); got.Int64() != faucetUSDC || given.USDC != got.String() {
		t.Errorf("%s arrived, told were %s", got, given.USDC)
	}
	var wei string
	must(t, call(t, given.RPC, "eth_getBalance", &wei, to, "latest"))
	if wei != "0x2386f26fc10000" || given.Wei != "10000000000000000" {
		t.Errorf("it holds %s for gas, told were %s", wei, given.Wei)
	}
	if again := askFaucet(t, f, http.MethodPost, `{"address":"`+to.Hex()+`"}`); again.Code != http.StatusOK {
		t.Errorf("again: %d %s", again.Code, again.Body)
	}
}

func TestFaucet_IsForProgramsOfThisMachineAndBounded(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, time.November, 20, 14, 0, 0, 0, time.UTC)
	f := &faucet{now: func() time.Time { return clock }, rpc: "http://127.0.0.1:1", key: nil}
	f.key = must1(serviceKeys()).faucet
	const good = `{"address":"0x00000000000000000000000000000000c0ffee77"}`
	for what, tc := range map[string]struct {
		method, body string
		change       func(*http.Request)
		status       int
	}{
		"a name as host": {
			http.MethodPost, good, func(r *http.Request) { r.Host = "rebound.example" }, http.StatusForbidden,
		},
		"a page": {http.MethodPost, good, func(r *http.Request) {
			r.Header.Set("Origin", "http://127.0.0.1:8080")
		}, http.StatusForbidden},
		"GET":     {http.MethodGet, "", func(*http.Request) {}, http.StatusMethodNotAllowed},
		"no JSON": {http.MethodPost, "address", func(*http.Request) {}, http.StatusUnprocessableEntity},
		"no address": {
			http.MethodPost, `{"address":"0x12"}`, func(*http.Request) {}, http.StatusUnprocessableEntity,
		},
		"too much": {
			http.MethodPost, `{"x":"` + strings.Repeat("x", 2000) + `"}`, func(*http.Request) {},
			http.StatusUnprocessableEntity,
		},
	} {
		t.Run(what, func(t *testing.T) {
			if w := askFaucet(t, f, tc.method, tc.body, tc.change); w.Code != tc.status {
				t.Errorf("%d %s, want %d", w.Code, w.Body, tc.status)
			}
		})
	}
	for range faucetAMinute {
		// nothing listens at that address
		if w := askFaucet(t, f, http.MethodPost, good); w.Code != http.StatusServiceUnavailable {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if w := askFaucet(t, f, http.MethodPost, good); w.Code != http.StatusTooManyRequests ||
		w.Header().Get("Retry-After") == "" {
		t.Errorf("one more: %d %s", w.Code, w.Body)
	}
	clock = clock.Add(time.Minute)
	if w := askFaucet(t, f, http.MethodPost, good); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a minute later: %d %s", w.Code, w.Body)
	}
}

func must1(k keys, err error) keys {
	if err != nil {
		panic(err)
	}
	return k
}
