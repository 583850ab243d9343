package keys_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// spend sets a counter in Redis to units.
func spend(g *apitest.Gateway, pattern, field string, units plan.Units) {
	g.T.Helper()
	names, err := g.Meter.Client().Keys(g.T.Context(), pattern).Result()
	g.Must(err)
	if len(names) != 1 {
		g.T.Fatalf("the meter has %d counters like %s, want 1", len(names), pattern)
	}
	g.Must(g.Meter.Client().HSet(g.T.Context(), names[0], field, int64(units)).Err())
}

// Every refusal names a next step that works today: adopt the key, wait until a given time, use
// another key, or correct the call.
func TestDoorKey_EveryRefusalSaysWhatToDoAndWhere(t *testing.T) {
	t.Parallel()
	one := json.Number("1")
	for name, row := range map[string]struct {
		close  func(g *apitest.Gateway, key string)
		body   string
		status int
		code   int
		door   string
		do     []string // words that it contains
		where  string
	}{
		"the month is used up": {
			close:  func(g *apitest.Gateway, _ string) { spend(g, "*:ap:*", "u", 1_000_000*plan.Unit) },
			status: http.StatusTooManyRequests, code: -32007, door: "adopt", do: []string{
				"claim code", "owner", " s, until the month ends",
			}, where: "POST /agents/adopt",
		},
		"the key's cap is used up": {
			close: func(g *apitest.Gateway, key string) {
				g.Configure(key, account.Settings{MonthlyCap: &one}, false)
			},
			status: http.StatusTooManyRequests, code: -32006, door: "new_key", do: []string{
				"another key", " s, until the month ends", " 1 units",
			}, where: "POST /keys",
		},
		"the key's cap of the service is used up": {
			close:  func(g *apitest.Gateway, key string) { g.Configure(key, apitest.RPCCap("1"), false) },
			status: http.StatusTooManyRequests, code: -32014, door: "new_key", do: []string{
				"another key", " s, until the month ends", "cap on rpc", " 1 units",
			}, where: "POST /keys",
		},
		"the account's cap of the service is used up": {
			close:  func(g *apitest.Gateway, key string) { g.Configure(key, apitest.RPCCap("1"), true) },
			status: http.StatusTooManyRequests, code: -32014, door: "new_key", do: []string{
				"another key", " s, until the month ends", "cap on rpc", " 1 units",
			}, where: "POST /keys",
		},
		"the service is off": {
			close:  func(g *apitest.Gateway, key string) { g.Configure(key, apitest.Enabled("gas"), false) },
			status: http.StatusForbidden, code: -32012, door: "new_key", do: []string{
				"another key", "rpc switched on", "data.enable",
			}, where: "POST /keys",
		},
		"the key is revoked": {
			close:  func(g *apitest.Gateway, key string) { g.Revoke(key) },
			status: http.StatusUnauthorized, code: -32001, door: "new_key", do: []string{"new key"},
			where: "POST /keys",
		},
		"the account is suspended": {
			close:  func(g *apitest.Gateway, key string) { g.Suspend(key) },
			status: http.StatusForbidden, code: -32009, door: "same_key", do: []string{"ticket"},
			where: "/support/new?request_id=",
		},
		"the body is no JSON": {
			body: "not json", status: http.StatusBadRequest, code: -32700, door: "same_key", do: []string{"JSON"},
			where: "POST /rpc/{chain}",
		},
		"the method is not served": {
			body: apitest.Call("eth_nothing", "[]"), status: http.StatusNotFound, code: -32601, door: "same_key",
			do: []string{"spelling"}, where: apitest.Links.Docs,
		},
		"the range is too large": {
			body:   apitest.Call("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x3e8"}]`),
			status: http.StatusBadRequest, code: -32602, door: "same_key", do: []string{"Split"},
			where: "POST /rpc/{chain}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Setup(t)
			key := g.WalletKey()
			g.Eth(key, "eth_call").Result()
			if row.close != nil {
				row.close(g, key)
			}
			if row.body == "" {
				row.body = apitest.Call("eth_call", "[]")
			}
			data := g.RPC(key, chain.EthMainnet, row.body).Refused(row.status, row.code)
			next, _ := data["next_door"].(map[string]any)
			do, where := fmt.Sprint(next["do"]), fmt.Sprint(next["where"])
			if next["door"] != row.door || !strings.HasPrefix(where, row.where) {
				t.Errorf("next_door is %v, want %s at %s", next, row.door, row.where)
			}
			for _, words := range row.do {
				if !strings.Contains(do, words) {
					t.Errorf("it says %q, want %q in it", do, words)
				}
			}
			if until := fmt.Sprintf("wait %v s, until",
				data["retry_after"]); row.status == http.StatusTooManyRequests && !strings.Contains(do, until) {
				t.Errorf("it says %q, want as long as retry_after has it: %q", do, until)
			}
			if path, ok := strings.CutPrefix(row.where, "/support"); ok && path != "" &&
				data["support"] != next["where"] {
				t.Errorf("it sends to %s, want data.support, %v", where, data["support"])
			}
			if strings.Contains(do, "pack") {
				t.Errorf("it says %q, which is not there yet", do)
			}
		})
	}
}
