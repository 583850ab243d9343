package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestCache_LocalAnswersAreFreeHits(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	for method, want := range map[string]string{"eth_chainId": `"0x1"`, "net_version": `"1"`} {
		a := g.eth(key, method)
		if a.result() != want || !a.hit() {
			t.Errorf("%s gives %s, hit %v", method, a.result(), a.hit())
		}
	}
	if g.ups[0].Total()+g.ups[1].Total() != 0 {
		t.Error("an upstream was asked")
	}
	if u := g.usage(key); u["hit"] != (figures{2, 0}) || len(u) != 1 {
		t.Errorf("usage is %v", u)
	}
	if day, _ := g.counted(key); day != 0 {
		t.Errorf("the day holds %d", day)
	}
	refused := false
	for range 120 { // hits count in the rate window
		refused = refused || g.eth(key, "eth_chainId").status == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("hits do not count in the rate window")
	}
}

func TestCache_ServesShortLivedAnswersUntilTheyExpire(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	g := setup(t, func(o *options) { o.now, o.timeout = clock.Now, standing })
	key := g.unlimited()
	on := func(id chain.ID, method, params string) func() answer {
		return func() answer { return g.rpc(key, id, call(method, params)) }
	}
	g.all(testkit.ResultOf(func(r testkit.Request) any {
		switch r.Method {
		case "getSlot":
			return testHead + 1
		case "eth_blockNumber":
			return fmt.Sprintf("0x%x", testHead+1)
		}
		return "0x3b9aca00"
	}))
	for _, row := range []struct {
		ask    func() answer
		method string
		ttl    time.Duration
	}{
		{on(chain.EthMainnet, "eth_blockNumber", "[]"), "eth_blockNumber", 2 * time.Second},
		{on(chain.EthMainnet, "eth_gasPrice", " [ ] "), "eth_gasPrice", 2 * time.Second},
		{on(chain.SolanaMainnet, "getSlot", "[]"), "getSlot", time.Second},
		{on(chain.SolanaMainnet, "getSlot", `[{"commitment":"confirmed"}]`), "getSlot", time.Second},
		{on(chain.SolanaMainnet, "getSlot", `[ { "commitment": "processed" } ]`), "getSlot", time.Second},
	} {
		for _, u := range g.ups {
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
				first = a.result()
			}
			if a.hit() != step.hit || a.result() != first {
				t.Errorf("%s, step %d: hit is %v, result %s", row.method, i, a.hit(), a.result())
			}
		}
		if n := g.sent(row.method); n != 2 {
			t.Errorf("%s: %d calls reached the upstreams, want 2", row.method, n)
		}
	}
	if u := g.usage(key); u["hit"].units != 0 || u["hit"].requests != 15 || u["ok"].units != 10_000 {
		t.Errorf("usage is %v", u)
	}
}

func TestCache_NeverServesWhatMayChange(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	for _, method := range []string{
		"eth_call", "eth_getLogs", "eth_getBalance", "eth_getTransactionCount",
		"eth_getBlockByNumber", "eth_feeHistory",
	} {
		for range 3 {
			if g.eth(key, method).hit() {
				t.Errorf("%s hit", method)
			}
		}
		if n := g.sent(method); n != 3 {
			t.Errorf("%s: %d calls reached the upstreams", method, n)
		}
	}
	for range 2 { // parameters that are not known to be canonical
		if g.rpc(key, chain.EthMainnet, call("eth_blockNumber", `["x"]`)).hit() ||
			g.rpc(key, chain.SolanaMainnet, call("getSlot", `[{"minContextSlot":5}]`)).hit() {
			t.Error("an answer to other parameters hit")
		}
	}
}

func TestCache_ChecksHeadsWhateverTheParameters(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	for _, u := range g.ups {
		u.On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", testHead-3)))
		u.On("getSlot", testkit.Result(testHead-3))
	}
	newest := fmt.Sprintf(`"0x%x"`, testHead)
	odd := func() answer { return g.rpc(key, chain.EthMainnet, call("eth_blockNumber", `["x"]`)) }
	slot := func(params string) answer { return g.rpc(key, chain.SolanaMainnet, call("getSlot", params)) }
	if got := odd().result(); got != newest {
		t.Errorf("the head went back to %s", got)
	}
	for params, want := range map[string]int{
		`[{"minContextSlot":5}]`:                               testHead,
		`[{"minContextSlot":5,"commitment":null}]`:             testHead,
		`[{"minContextSlot":5,"commitment":"finalized"}]`:      testHead,
		`[{"minContextSlot":5,"c\u006fmmitment":"processed"}]`: testHead - 3, // the first of its kind
		`[{"minContextSlot":5,"commitment":"unheard of"}]`:     testHead - 3,
	} {
		if got := slot(params).result(); got != fmt.Sprint(want) {
			t.Errorf("the slot for %s is %s, want %d", params, got, want)
		}
	}
	for _, u := range g.ups {
		u.On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", testHead+1_000_000)))
		u.On("getSlot", testkit.Result(testHead+1_000_000))
	}
	odd().refused(http.StatusBadGateway, -32022)
	slot(`[{"minContextSlot":5}]`).refused(http.StatusBadGateway, -32022)
}

func TestCache_ServesNeitherErrorsNorNull(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	for _, reply := range []testkit.Reply{testkit.Error(-32000, "something"), testkit.Result(nil)} {
		g.all(reply)
		for range 2 {
			if g.eth(key, "eth_gasPrice").hit() {
				t.Error("it hit")
			}
		}
	}
}

func TestHeads_AreMonotonicAcrossCacheAndUpstreams(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	g := setup(t, func(o *options) { o.now, o.timeout = clock.Now, standing })
	key := g.unlimited()
	head := func() string { return g.eth(key, "eth_blockNumber").result() }
	hex := func(n int) string { return fmt.Sprintf(`"0x%x"`, testHead+n) }
	g.ups[0].Default(testkit.Result(fmt.Sprintf("0x%x", testHead+5)))
	if got := head(); got != hex(5) {
		t.Fatalf("the head is %s", got)
	}
	clock.Advance(3 * time.Second)
	g.ups[0].Default(testkit.Result(fmt.Sprintf("0x%x", testHead-3)))
	if got := head(); got != hex(5) {
		t.Errorf("an upstream behind took the head back to %s", got)
	}
	applyAt(g, testHead+9, clock.Now())
	if a := g.eth(key, "eth_blockNumber"); a.result() != hex(9) || !a.hit() {
		t.Errorf("a stored head stayed at %s (hit %v) though a newer one is known", a.result(), a.hit())
	}
	clock.Advance(3 * time.Second)
	g.ups[0].Default(testkit.Result("0xffffffff"))
	g.ups[1].Default(testkit.Result(fmt.Sprintf("0x%x", testHead+10)))
	if got := head(); got != hex(10) {
		t.Errorf("a head far ahead gives %s, want the other upstream's", got)
	}
	g.all(testkit.Result("0xffffffff"))
	clock.Advance(3 * time.Second)
	g.eth(key, "eth_blockNumber").refused(http.StatusBadGateway, -32022)
}
