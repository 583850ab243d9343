package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/accountdb"
)

var author = accountdb.Author{Actor: "test", Origin: "test"}

// fence configures the key or its account.
func (g *gateway) fence(key string, s account.Settings, ofAccount bool) {
	g.t.Helper()
	id := g.identity(key)
	var err error
	if ofAccount {
		_, err = g.limits.ConfigureAccount(g.t.Context(), id.Account, s, author)
	} else {
		_, err = g.limits.ConfigureKey(g.t.Context(), id.Key, s, author)
	}
	g.must(err)
}

func rpcCap(units string) account.Settings {
	return account.Settings{Caps: &map[string]json.Number{"rpc": json.Number(units)}}
}

func enabled(services ...string) account.Settings { return account.Settings{Enabled: &services} }

func TestFences_SwitchedOffServiceNamesTheSwitchAndItsOwner(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	id := g.identity(key)
	g.eth(key, "eth_call").result()
	for _, row := range []struct {
		ofAccount bool
		by        string
		enable    string
	}{{false, "key", "/keys/" + id.Key.String()}, {true, "account", "/settings"}} {
		g.fence(key, enabled("gas", "ens"), row.ofAccount)
		// Calls that the gateway answers itself are hits, and are refused like relayed calls.
		for _, method := range []string{"eth_call", "eth_chainId"} {
			data := g.eth(key, method).refused(http.StatusForbidden, -32012)
			if data["blocked_by"] != row.by || data["enable"] != row.enable || data["service"] != "rpc" {
				t.Errorf("%s: data is %v, want it blocked by %s", method, data, row.by)
			}
		}
		g.eth(key, "no_such_method").refused(http.StatusNotFound, -32601) // an unknown method outranks the switch
	}
	if u := g.usage(key); u["service_off"].requests != 4 || u["service_off"].units != 0 || u["ok"].requests != 1 {
		t.Errorf("usage is %v", u)
	}
}

func TestFences_CapRefusalNamesItsScopeAndTheOthers(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.accountKey(plan.Pro)
	g.fence(key, rpcCap("3"), true)
	g.fence(key, rpcCap("2"), false)
	g.eth(key, "eth_call").result()
	g.eth(key, "eth_call").result()
	a := g.eth(key, "eth_call")
	data := a.refused(http.StatusTooManyRequests, -32014)
	if data["scope"] != "key" || data["service"] != "rpc" || data["also"] != nil ||
		a.header.Get("RateLimit-Limit") != "2" {
		t.Errorf("data is %v, headers %v", data, a.header)
	}
	g.eth(key, "eth_call", "X-Route-Tier", "fast").refused(http.StatusTooManyRequests, -32014)
	g.eth(key, "eth_chainId").result() // a hit is served when everything is used up
	limit := json.Number("1")
	g.fence(key, account.Settings{MonthlyCap: &limit}, false)
	data = g.eth(key, "eth_call", "X-Route-Tier", "fast").refused(http.StatusTooManyRequests, -32006)
	want := []any{
		map[string]any{"code": -32014.0, "reason": "service_cap", "scope": "key"},
		map[string]any{"code": -32014.0, "reason": "service_cap", "scope": "account"},
	}
	if !reflect.DeepEqual(data["also"], want) || data["scope"] != "key" {
		t.Errorf("data is %v, want also %v", data, want)
	}
	limit = "0" // removes the cap
	g.fence(key, account.Settings{MonthlyCap: &limit, Caps: &map[string]json.Number{}}, false)
	g.eth(key, "eth_call").result()
	g.eth(key, "eth_call").refused(http.StatusTooManyRequests, -32014)
}

// A call that draws any unit from a pack has premium supply, whatever the plan.
func TestFences_CallPaidByAPackHasPremiumSupply(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.supply, o.upstreams = plan.Premium, 1 })
	key := g.accountKey(plan.Free)
	id := g.identity(key)
	g.eth(key, "eth_call").refused(http.StatusServiceUnavailable, -32020) // public supply has no upstream here
	_, _, err := g.limits.GrantPack(t.Context(), accountdb.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: 2 * plan.Unit, Expires: time.Now().AddDate(1, 0, 0)},
		Account: id.Account, Kind: "pack_s", Origin: "test", GrantedAt: time.Now(),
	}, author)
	g.must(err)
	names, err := g.meter.Client().Keys(t.Context(), "*ap:"+id.Account.String()+":*").Result()
	g.must(err)
	g.must(g.meter.Client().HSet(t.Context(), names[0], "u", int64(1_000_000*plan.Unit-500)).Err())
	g.eth(key, "eth_call").result() // half from the plan, half from the pack
	if n := g.sent("eth_call"); n != 1 {
		t.Errorf("%d calls reached the premium upstream, want 1", n)
	}
	g.all(testkit.Status(http.StatusInternalServerError))
	g.eth(key, "eth_call").refused(http.StatusBadGateway, -32022)
	g.all(testkit.Result("0x1"))
	g.eth(key, "eth_call").result() // the units of the failed call were refunded
	data := g.eth(key, "eth_call").refused(http.StatusTooManyRequests, -32007)
	if data["retry_after"] == nil {
		t.Errorf("data is %v", data)
	}
	sources := map[string]plan.Units{}
	for _, line := range g.lines(key) {
		if line.Outcome == "ok" || line.Outcome == "refund" {
			sources[line.Source[:4]] += line.Units
		}
	}
	if want := map[string]plan.Units{"plan": 500, "pack": 1500}; !reflect.DeepEqual(sources, want) {
		t.Errorf("drawn %v, want %v", sources, want)
	}
}

func TestFences_ExhaustedQuotaSaysWhenItResets(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.accountKey(plan.WalletBound)
	g.eth(key, "eth_call").result()
	id := g.identity(key)
	names, err := g.meter.Client().Keys(t.Context(), "*ap:"+id.Account.String()+":*").Result()
	g.must(err)
	g.must(g.meter.Client().HSet(t.Context(), names[0], "u", int64(1_000_000*plan.Unit)).Err())
	a := g.rpc(key, chain.EthMainnet, call("eth_call", `[{},"latest"]`))
	a.refused(http.StatusTooManyRequests, -32007)
	_, end := plan.CalendarMonth(time.Now())
	var wait int
	if _, err := fmt.Sscan(a.header.Get("Retry-After"), &wait); err != nil ||
		(time.Until(end)-time.Duration(wait)*time.Second).Abs() > time.Minute {
		t.Errorf("Retry-After is %q, want the end of the month at %s", a.header.Get("Retry-After"), end)
	}
}

// A plan's supply applies at once after a change, although keys are cached for a minute.
func TestPlan_ChangeReachesUpstreamSelectionAtOnce(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.supply = plan.Premium })
	key := g.accountKey(plan.Free)
	id := g.identity(key)
	g.eth(key, "eth_call").refused(http.StatusServiceUnavailable, -32020)
	_, err := g.limits.SetPlan(t.Context(), id.Account, plan.Must(plan.Pro), author)
	g.must(err)
	g.eth(key, "eth_call").result()
	_, err = g.limits.SetPlan(t.Context(), id.Account, plan.Must(plan.Builder), author)
	g.must(err)
	g.eth(key, "eth_call").refused(http.StatusServiceUnavailable, -32020)
}
