package rpc_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestCache_LocalAnswersAreFreeHits(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	for method, want := range map[string]string{"eth_chainId": `"0x1"`, "net_version": `"1"`} {
		a := g.Eth(key, method)
		if a.Result() != want || !a.Hit() {
			t.Errorf("%s gives %s, hit %v", method, a.Result(), a.Hit())
		}
	}
	if g.Ups[0].Total()+g.Ups[1].Total() != 0 {
		t.Error("an upstream was asked")
	}
	if u := g.Usage(key); u["hit"] != (apitest.Figures{Requests: 2, Units: 0}) || len(u) != 1 {
		t.Errorf("usage is %v", u)
	}
	if day, _ := g.Counted(key); day != 0 {
		t.Errorf("the day holds %d", day)
	}
	refused := false
	for range 120 { // hits count in the rate window
		refused = refused || g.Eth(key, "eth_chainId").Status == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("hits do not count in the rate window")
	}
}

func TestCache_ServesShortLivedAnswersUntilTheyExpire(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	g := apitest.Setup(t, func(o *apitest.Options) { o.Now, o.Timeout = clock.Now, apitest.StoppedClockTimeout })
	key := g.Unlimited()
	on := func(id chain.ID, method, params string) func() apitest.Answer {
		return func() apitest.Answer { return g.RPC(key, id, apitest.Call(method, params)) }
	}
	g.All(testkit.ResultOf(func(r testkit.Request) any {
		switch r.Method {
		case "getSlot":
			return apitest.Head + 1
		case "eth_blockNumber":
			return fmt.Sprintf("0x%x", apitest.Head+1)
		}
		return "0x3b9aca00"
	}))
	for _, row := range []struct {
		ask    func() apitest.Answer
		method string
		ttl    time.Duration
	}{
		{on(chain.EthMainnet, "eth_blockNumber", "[]"), "eth_blockNumber", 2 * time.Second},
		{on(chain.EthMainnet, "eth_gasPrice", " [ ] "), "eth_gasPrice", 2 * time.Second},
		{on(chain.SolanaMainnet, "getSlot", "[]"), "getSlot", time.Second},
		{on(chain.SolanaMainnet, "getSlot", `[{"commitment":"confirmed"}]`), "getSlot", time.Second},
		{on(chain.SolanaMainnet, "getSlot", `[ { "commitment": "processed" } ]`), "getSlot", time.Second},
	} {
		t.Run(row.method, func(t *testing.T) {
			for _, u := range g.Ups {
				u.Forget()
			}
			steps := []struct {
				after time.Duration
				hit   bool
			}{{0, false}, {0, true}, {row.ttl - time.Millisecond, true}, {time.Millisecond, false}, {0, true}}
			first := ""
			for i, step := range steps {
				clock.Advance(step.after)
				a := row.ask()
				if i == 0 {
					first = a.Result()
				}
				if a.Hit() != step.hit || a.Result() != first {
					t.Errorf("%s, step %d: hit is %v, result %s", row.method, i, a.Hit(), a.Result())
				}
			}
			if n := g.Sent(row.method); n != 2 {
				t.Errorf("%d calls reached the upstreams, want 2", n)
			}
		})
	}
	u := g.Usage(key)
	expect.Equal(t, u["hit"].Units, 0)
	expect.Equal(t, u["hit"].Requests, 15)
	expect.Equal(t, u["ok"].Units, 10_000)
}

func TestCache_NeverServesWhatMayChange(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.AllOn("eth_getLogs", testkit.Result([]string{}))
	key := g.Unlimited()
	for _, method := range []string{
		"eth_call", "eth_getLogs", "eth_getBalance", "eth_getTransactionCount",
		"eth_getBlockByNumber", "eth_feeHistory",
	} {
		for range 3 {
			if g.Eth(key, method).Hit() {
				t.Errorf("%s hit", method)
			}
		}
		if n := g.Sent(method); n != 3 {
			t.Errorf("%s: %d calls reached the upstreams", method, n)
		}
	}
	for range 2 { // parameters that are not known to be canonical
		if g.RPC(key, chain.EthMainnet, apitest.Call("eth_blockNumber", `["x"]`)).Hit() ||
			g.RPC(key, chain.SolanaMainnet, apitest.Call("getSlot", `[{"minContextSlot":5}]`)).Hit() {
			t.Error("an answer to other parameters hit")
		}
	}
}

func TestCache_ChecksHeadsWhateverTheParameters(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, u := range g.Ups {
		u.On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", apitest.Head-3)))
		u.On("getSlot", testkit.Result(apitest.Head-3))
	}
	newest := fmt.Sprintf(`"0x%x"`, apitest.Head)
	odd := func() apitest.Answer { return g.RPC(key, chain.EthMainnet, apitest.Call("eth_blockNumber", `["x"]`)) }
	slot := func(params string) apitest.Answer {
		return g.RPC(key, chain.SolanaMainnet, apitest.Call("getSlot", params))
	}
	if got := odd().Result(); got != newest {
		t.Errorf("the head went back to %s", got)
	}
	for params, want := range map[string]int{
		`[{"minContextSlot":5}]`:                               apitest.Head,
		`[{"minContextSlot":5,"commitment":null}]`:             apitest.Head,
		`[{"minContextSlot":5,"commitment":"finalized"}]`:      apitest.Head,
		`[{"minContextSlot":5,"c\u006fmmitment":"processed"}]`: apitest.Head - 3, // the first of its kind
		`[{"minContextSlot":5,"commitment":"unheard of"}]`:     apitest.Head - 3,
	} {
		t.Run(params, func(t *testing.T) {
			if got := slot(params).Result(); got != fmt.Sprint(want) {
				t.Errorf("the slot for %s is %s, want %d", params, got, want)
			}
		})
	}
	for _, u := range g.Ups {
		u.On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", apitest.Head+1_000_000)))
		u.On("getSlot", testkit.Result(apitest.Head+1_000_000))
	}
	odd().Refused(http.StatusBadGateway, -32022)
	slot(`[{"minContextSlot":5}]`).Refused(http.StatusBadGateway, -32022)
}

func TestCache_ServesNeitherErrorsNorNull(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, reply := range []testkit.Reply{testkit.Error(-32000, "something"), testkit.Result(nil)} {
		g.All(reply)
		for range 2 {
			if g.Eth(key, "eth_gasPrice").Hit() {
				t.Error("it hit")
			}
		}
	}
}

func TestHeads_AreMonotonicAcrossCacheAndUpstreams(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	g := apitest.Setup(t, func(o *apitest.Options) { o.Now, o.Timeout = clock.Now, apitest.StoppedClockTimeout })
	key := g.Unlimited()
	head := func() string { return g.Eth(key, "eth_blockNumber").Result() }
	hex := func(n int) string { return fmt.Sprintf(`"0x%x"`, apitest.Head+n) }
	g.Ups[0].Default(testkit.Result(fmt.Sprintf("0x%x", apitest.Head+5)))
	if got := head(); got != hex(5) {
		t.Fatalf("the head is %s", got)
	}
	clock.Advance(3 * time.Second)
	g.Ups[0].Default(testkit.Result(fmt.Sprintf("0x%x", apitest.Head-3)))
	if got := head(); got != hex(5) {
		t.Errorf("an upstream behind took the head back to %s", got)
	}
	apitest.ApplyAt(g, apitest.Head+9, clock.Now())
	if a := g.Eth(key, "eth_blockNumber"); a.Result() != hex(9) || !a.Hit() {
		t.Errorf("a stored head stayed at %s (hit %v) though a newer one is known", a.Result(), a.Hit())
	}
	clock.Advance(3 * time.Second)
	g.Ups[0].Default(testkit.Result("0xffffffff"))
	g.Ups[1].Default(testkit.Result(fmt.Sprintf("0x%x", apitest.Head+10)))
	if got := head(); got != hex(10) {
		t.Errorf("a head far ahead gives %s, want the other upstream's", got)
	}
	g.All(testkit.Result("0xffffffff"))
	clock.Advance(3 * time.Second)
	g.Eth(key, "eth_blockNumber").Refused(http.StatusBadGateway, -32022)
}
