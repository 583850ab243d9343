package keys_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/accountdb"
)

func TestLimits_SwitchedOffServiceNamesTheSwitchAndItsOwner(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	id := g.Identity(key)
	g.Eth(key, "eth_call").Result()
	for _, row := range []struct {
		ofAccount bool
		by        string
		enable    string
	}{{false, "key", "/keys/" + id.Key.String()}, {true, "account", "/settings"}} {
		g.Configure(key, apitest.Enabled("gas", "ens"), row.ofAccount)
		// Calls that the gateway answers itself are hits, and are refused like relayed calls.
		for _, method := range []string{"eth_call", "eth_chainId"} {
			data := g.Eth(key, method).Refused(http.StatusForbidden, -32012)
			in := expect.In(t, "%s", method)
			expect.Equal[any](in, data["blocked_by"], row.by)
			expect.Equal[any](in, data["enable"], row.enable)
			expect.Equal[any](in, data["service"], "rpc")
		}
		g.Eth(key, "no_such_method").Refused(http.StatusNotFound, -32601) // an unknown method outranks the switch
	}
	u := g.Usage(key)
	expect.Equal(t, u["service_off"].Requests, 4)
	expect.Equal(t, u["service_off"].Units, 0)
	expect.Equal(t, u["ok"].Requests, 1)
}

func TestLimits_CapRefusalNamesItsScopeAndTheOthers(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.AccountKey(plan.Pro)
	g.Configure(key, apitest.RPCCap("3"), true)
	g.Configure(key, apitest.RPCCap("2"), false)
	g.Eth(key, "eth_call").Result()
	g.Eth(key, "eth_call").Result()
	a := g.Eth(key, "eth_call")
	data := a.Refused(http.StatusTooManyRequests, -32014)
	expect.Equal[any](t, data["scope"], "key")
	expect.Equal[any](t, data["service"], "rpc")
	expect.Equal(t, data["also"], nil)
	expect.Equal(t, a.Header.Get("RateLimit-Limit"), "2")
	g.Eth(key, "eth_call", "X-Route-Tier", "fast").Refused(http.StatusTooManyRequests, -32014)
	g.Eth(key, "eth_chainId").Result() // a hit is served when everything is used up
	limit := json.Number("1")
	g.Configure(key, account.Settings{MonthlyCap: &limit}, false)
	data = g.Eth(key, "eth_call", "X-Route-Tier", "fast").Refused(http.StatusTooManyRequests, -32006)
	want := []any{
		map[string]any{"code": -32014.0, "reason": "service_cap", "scope": "key"},
		map[string]any{"code": -32014.0, "reason": "service_cap", "scope": "account"},
	}
	if !reflect.DeepEqual(data["also"], want) || data["scope"] != "key" {
		t.Errorf("data is %v, want also %v", data, want)
	}
	limit = "0" // removes the cap
	g.Configure(key, account.Settings{MonthlyCap: &limit, Caps: &map[string]json.Number{}}, false)
	g.Eth(key, "eth_call").Result()
	g.Eth(key, "eth_call").Refused(http.StatusTooManyRequests, -32014)
}

// A call that draws any unit from a pack has premium supply, whatever the plan.
func TestLimits_CallPaidByAPackHasPremiumSupply(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Supply, o.Upstreams = plan.Premium, 1 })
	key := g.AccountKey(plan.Free)
	id := g.Identity(key)
	g.Eth(key, "eth_call").Refused(http.StatusServiceUnavailable, -32020) // public supply has no upstream here
	_, _, err := g.Limits.GrantPack(t.Context(), accountdb.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: 2 * plan.Unit, Expires: time.Now().AddDate(1, 0, 0)},
		Account: id.Account, Kind: "pack_s", Origin: "test", GrantedAt: time.Now(),
	}, apitest.Author)
	g.Must(err)
	names, err := g.Meter.Client().Keys(t.Context(), "*ap:"+id.Account.String()+":*").Result()
	g.Must(err)
	g.Must(g.Meter.Client().HSet(t.Context(), names[0], "u", int64(1_000_000*plan.Unit-500)).Err())
	g.Eth(key, "eth_call").Result() // half from the plan, half from the pack
	if n := g.Sent("eth_call"); n != 1 {
		t.Errorf("%d calls reached the premium upstream, want 1", n)
	}
	g.All(testkit.Status(http.StatusInternalServerError))
	g.Eth(key, "eth_call").Refused(http.StatusBadGateway, -32022)
	g.All(testkit.Result("0x1"))
	g.Eth(key, "eth_call").Result() // the units of the failed call were refunded
	data := g.Eth(key, "eth_call").Refused(http.StatusTooManyRequests, -32007)
	if data["retry_after"] == nil {
		t.Errorf("data is %v", data)
	}
	sources := map[string]plan.Units{}
	for _, line := range g.Lines(key) {
		if line.Outcome == "ok" || line.Outcome == "refund" {
			sources[line.Source[:4]] += line.Units
		}
	}
	if want := map[string]plan.Units{"plan": 500, "pack": 1500}; !reflect.DeepEqual(sources, want) {
		t.Errorf("drawn %v, want %v", sources, want)
	}
}

func TestLimits_ExhaustedQuotaSaysWhenItResets(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.AccountKey(plan.WalletBound)
	g.Eth(key, "eth_call").Result()
	id := g.Identity(key)
	names, err := g.Meter.Client().Keys(t.Context(), "*ap:"+id.Account.String()+":*").Result()
	g.Must(err)
	g.Must(g.Meter.Client().HSet(t.Context(), names[0], "u", int64(1_000_000*plan.Unit)).Err())
	a := g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", `[{},"latest"]`))
	a.Refused(http.StatusTooManyRequests, -32007)
	_, end := plan.CalendarMonth(time.Now())
	var wait int
	if _, err := fmt.Sscan(a.Header.Get("Retry-After"), &wait); err != nil ||
		(time.Until(end)-time.Duration(wait)*time.Second).Abs() > time.Minute {
		t.Errorf("Retry-After is %q, want the end of the month at %s", a.Header.Get("Retry-After"), end)
	}
}

// A plan's supply applies at once after a change, although keys are cached for a minute.
func TestPlan_ChangeReachesUpstreamSelectionAtOnce(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Supply = plan.Premium })
	key := g.AccountKey(plan.Free)
	id := g.Identity(key)
	g.Eth(key, "eth_call").Refused(http.StatusServiceUnavailable, -32020)
	_, err := g.Limits.SetPlan(t.Context(), id.Account, plan.Must(plan.Pro), apitest.Author)
	g.Must(err)
	g.Eth(key, "eth_call").Result()
	_, err = g.Limits.SetPlan(t.Context(), id.Account, plan.Must(plan.Builder), apitest.Author)
	g.Must(err)
	g.Eth(key, "eth_call").Refused(http.StatusServiceUnavailable, -32020)
}
