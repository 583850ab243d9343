package api_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/accountdb"
)

// walletKey creates a key that is bound to a wallet, with its own account.
func (g *gateway) walletKey() string {
	g.t.Helper()
	key, err := account.MintKey(rand.Reader)
	g.must(err)
	digest := key.Digest(g.hasher)
	_, _, err = g.store.CreateDoorKey(g.t.Context(), accountdb.NewAccount{
		ID: account.NewID(), Kind: accountdb.KindWallet, Plan: plan.WalletBound,
	},
		accountdb.NewKey{
			ID: account.NewKeyID(), Digest: digest[:], Prefix: key.Prefix(), Door: account.DoorWallet,
			Daily: account.Unlimited,
		})
	g.must(err)
	return g.remember(key)
}

// spend sets a counter in Redis to units.
func (g *gateway) spend(pattern, field string, units plan.Units) {
	g.t.Helper()
	names, err := g.meter.Client().Keys(g.t.Context(), pattern).Result()
	g.must(err)
	if len(names) != 1 {
		g.t.Fatalf("the meter has %d counters like %s, want 1", len(names), pattern)
	}
	g.must(g.meter.Client().HSet(g.t.Context(), names[0], field, int64(units)).Err())
}

// Every refusal names a next step that works today: adopt the key, wait until a given time, use
// another key, or correct the call.
func TestDoorKey_EveryRefusalSaysWhatToDoAndWhere(t *testing.T) {
	t.Parallel()
	one := json.Number("1")
	for name, row := range map[string]struct {
		close  func(g *gateway, key string)
		body   string
		status int
		code   int
		door   string
		do     []string // words that it contains
		where  string
	}{
		"the month is used up": {
			close:  func(g *gateway, _ string) { g.spend("*:ap:*", "u", 1_000_000*plan.Unit) },
			status: http.StatusTooManyRequests, code: -32007, door: "adopt", do: []string{
				"claim code", "owner", " s, until the month ends",
			}, where: "POST /agents/adopt",
		},
		"the key's cap is used up": {
			close:  func(g *gateway, key string) { g.fence(key, account.Settings{MonthlyCap: &one}, false) },
			status: http.StatusTooManyRequests, code: -32006, door: "new_key", do: []string{
				"another key", " s, until the month ends", " 1 units",
			}, where: "POST /keys",
		},
		"the key's cap of the service is used up": {
			close:  func(g *gateway, key string) { g.fence(key, rpcCap("1"), false) },
			status: http.StatusTooManyRequests, code: -32014, door: "new_key", do: []string{
				"another key", " s, until the month ends", "cap on rpc", " 1 units",
			}, where: "POST /keys",
		},
		"the account's cap of the service is used up": {
			close:  func(g *gateway, key string) { g.fence(key, rpcCap("1"), true) },
			status: http.StatusTooManyRequests, code: -32014, door: "new_key", do: []string{
				"another key", " s, until the month ends", "cap on rpc", " 1 units",
			}, where: "POST /keys",
		},
		"the service is off": {
			close:  func(g *gateway, key string) { g.fence(key, enabled("gas"), false) },
			status: http.StatusForbidden, code: -32012, door: "new_key", do: []string{
				"another key", "rpc switched on", "data.enable",
			}, where: "POST /keys",
		},
		"the key is revoked": {
			close:  func(g *gateway, key string) { g.revoke(key) },
			status: http.StatusUnauthorized, code: -32001, door: "new_key", do: []string{"new key"},
			where: "POST /keys",
		},
		"the account is suspended": {
			close:  func(g *gateway, key string) { g.suspend(key) },
			status: http.StatusForbidden, code: -32009, door: "same_key", do: []string{"ticket"},
			where: "/support/new?request_id=",
		},
		"the body is no JSON": {
			body: "not json", status: http.StatusBadRequest, code: -32700, door: "same_key", do: []string{"JSON"},
			where: "POST /rpc/{chain}",
		},
		"the method is not served": {
			body: call("eth_nothing", "[]"), status: http.StatusNotFound, code: -32601, door: "same_key",
			do: []string{"spelling"}, where: links.Docs,
		},
		"the range is too large": {
			body:   call("eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x3e8"}]`),
			status: http.StatusBadRequest, code: -32602, door: "same_key", do: []string{"Split"},
			where: "POST /rpc/{chain}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := setup(t)
			key := g.walletKey()
			g.eth(key, "eth_call").result()
			if row.close != nil {
				row.close(g, key)
			}
			if row.body == "" {
				row.body = call("eth_call", "[]")
			}
			data := g.rpc(key, chain.EthMainnet, row.body).refused(row.status, row.code)
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
