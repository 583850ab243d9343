package rpc_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/oascheck"
)

// FuzzRelayedBody checks POST /rpc/{chain}, over real servers, for what is true of every body: a
// JSON answer with a request id, one response per request, and no internal fault.
func FuzzRelayedBody(f *testing.F) {
	for _, seed := range []string{
		apitest.Call("eth_call", `[{"to":"0x0"},"latest"]`), apitest.Call("eth_chainId", "[]"),
		apitest.Call("eth_blockNumber", "[ ]"),
		apitest.Call("eth_nothing", "[]"), apitest.Call("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"latest"}]`),
		apitest.Call("eth_getLogs", `[{"fromBlock":{},"toBlock":[1]}]`),
		apitest.Call("eth_getBalance", `["0x0",{"blockNumber":"0x1","blockHash":null}]`),
		apitest.Call("eth_feeHistory", `[1e3,"latest",[]]`), apitest.Call("eth_sendRawTransaction", `["0x02f86b01"]`),
		apitest.Call("eth_sendRawTransaction", `[{}]`), apitest.Call("debug_traceCall", `[[[[[]]]]]`),
		apitest.BatchOf(3, "eth_call"), "[]",
		"[1,[],{},null]", "", "{", "null", `{"jsonrpc":"2.0","id":{"a":[1e400]},"method":"\u0065th_call"}`,
		`{"jsonrpc":"2.0","method":"eth_call","params":{"a":1}}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"eth_call"}`,
		"\xff\xfe", "\x00",
	} {
		f.Add(seed)
	}
	g := apitest.Setup(f)
	g.All(testkit.ResultOf(func(r testkit.Request) any { return r.Params }))
	for _, u := range g.Ups {
		u.On("eth_blockNumber", testkit.Result("0xf4241"))
	}
	keys := make([]string, 64) // enough that no rate window refuses
	for i := range keys {
		keys[i] = g.Unlimited()
	}
	var next atomic.Int64
	document := g.InterfaceDocument()
	f.Fuzz(func(t *testing.T, body string) {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/rpc/eth_mainnet", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+keys[int(next.Add(1))%len(keys)])
		w := httptest.NewRecorder()
		g.Handler.ServeHTTP(w, req)
		if err := document.Check(&oascheck.Answer{
			Method: req.Method, URL: req.URL, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(),
		}); err != nil {
			t.Error(err)
		}
		if id, err := uuid.Parse(w.Header().Get("X-Request-Id")); err != nil || id.Version() != 7 {
			t.Errorf("X-Request-Id is %q", w.Header().Get("X-Request-Id"))
		}
		if !json.Valid(w.Body.Bytes()) || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("HTTP %d is no JSON: %.200s", w.Code, w.Body)
		}
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusConflict,
			http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("HTTP %d %.300s", w.Code, w.Body)
		}
		var items []json.RawMessage
		if json.Unmarshal([]byte(body), &items) == nil && w.Code == http.StatusOK {
			var answers []json.RawMessage
			if err := json.Unmarshal(w.Body.Bytes(), &answers); err != nil || len(answers) != len(items) {
				t.Errorf("%d requests got %d answers", len(items), len(answers))
			}
		}
	})
}
