package api_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// gate holds requests to upstreams back until it is opened.
type gate struct {
	open chan struct{}
	once sync.Once
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{open: make(chan struct{})}
	t.Cleanup(g.lift)
	return g
}

func (g *gate) lift() { g.once.Do(func() { close(g.open) }) }

// then answers once the gate is open, unless the caller has left.
func (g *gate) then(reply testkit.Reply) testkit.Reply {
	return func(x *testkit.Exchange) {
		select {
		case <-g.open:
			reply(x)
		case <-x.Context.Done():
		}
	}
}

// together sends a call n times in parallel, with the ids 0 to n-1. wait returns the answers in
// that order.
func (g *gateway) together(key string, n int, method, params string, headers ...string) (wait func() []answer) {
	g.t.Helper()
	answers := make([]answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params)
			answers[i] = g.rpc(key, chain.EthMainnet, body, headers...)
		})
	}
	return func() []answer {
		wg.Wait()
		return answers
	}
}

// followers waits until n calls wait for one that another call started.
func (g *gateway) followers(n uint64) {
	g.t.Helper()
	testkit.Eventually(g.t, testTimeout, func() bool {
		return g.relay.CacheStats().Followers == n
	}, "%d calls follow another", n)
}

var receiptOf1 = fmt.Sprintf(`[%q]`, hash(1))

func TestShare_IdenticalReadsUnderWayShareOneCall(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		method, params string
		reply          testkit.Reply
	}{
		// not final, so it is not stored: sharing is all they have in common
		{"eth_getTransactionReceipt", receiptOf1, node(testHead)},
		{"eth_getTransactionByHash", receiptOf1, node(deepest)},
		{"eth_gasPrice", `[]`, testkit.Result("0x3b9aca00")},
		{"eth_getTransactionReceipt", receiptOf1, testkit.Error(-32000, "insufficient funds, says the node")},
		{"eth_getTransactionReceipt", receiptOf1, testkit.Result(nil)},
	} {
		t.Run(row.method, func(t *testing.T) {
			t.Parallel()
			g := setup(t)
			key := g.unlimited()
			closed := newGate(t)
			g.all(closed.then(row.reply))
			const n = 12
			wait := g.together(key, n, row.method, row.params)
			g.followers(n - 1)
			closed.lift()
			answers := wait()
			members := func(a answer) string {
				_, rest, _ := strings.Cut(a.body, ",")
				_, rest, _ = strings.Cut(rest, ",")
				return rest
			}
			for i, a := range answers {
				if string(a.envelope().ID) != strconv.Itoa(i) || a.status != http.StatusOK || a.hit() ||
					members(a) != members(answers[0]) {
					t.Errorf("caller %d got HTTP %d %s, hit is %v; the first got %s", i, a.status, a.body, a.hit(),
						answers[0].body)
				}
			}
			if sent := g.sent(row.method); sent != 1 {
				t.Errorf("%d calls reached the upstreams", sent)
			}
			if u := g.usage(key); u["ok"] != (figures{n, n * plan.Unit}) || len(u) != 1 {
				t.Errorf("usage is %v", u)
			}
			led, followed := 0, 0
			for _, a := range answers {
				for _, c := range g.calls(a) {
					if c.Upstream == "" || c.Units != plan.Unit {
						t.Errorf("recorded as %+v", c)
					}
					led, followed = led+c.Attempts, followed+1-c.Attempts
				}
			}
			if led != 1 || followed != n-1 {
				t.Errorf("%d led and %d followed in the records", led, followed)
			}
		})
	}
}

func TestShare_OnlyCacheableReadsAreShared(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	closed := newGate(t)
	g.all(closed.then(testkit.Result("0x1")))
	rows := map[string]string{
		"eth_sendRawTransaction":    `["0x02f86b010780"]`,
		"eth_call":                  `[{},"latest"]`,
		"eth_getBalance":            `["0x0000000000000000000000000000000000000001","latest"]`,
		"eth_getTransactionReceipt": `["not a hash"]`,
	}
	var waits []func() []answer
	for method, params := range rows {
		waits = append(waits, g.together(key, 2, method, params))
	}
	for method := range rows {
		testkit.Eventually(t, testTimeout, func() bool { return g.sent(method) == 2 }, "both %s are sent", method)
	}
	closed.lift()
	for _, wait := range waits {
		for _, a := range wait() {
			a.result()
		}
	}
	if n := g.relay.CacheStats().Followers; n != 0 {
		t.Errorf("%d calls followed another", n)
	}
}

func TestShare_NobodyWaitsForACallOfAnotherTier(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	closed := newGate(t)
	g.all(closed.then(node(testHead)))
	cheap := g.together(key, 1, "eth_getTransactionReceipt", receiptOf1, "X-Route-Tier", "cheap")
	balanced := g.together(key, 2, "eth_getTransactionReceipt", receiptOf1)
	testkit.Eventually(t, testTimeout, func() bool {
		return g.sent("eth_getTransactionReceipt") == 2
	}, "each tier asks on its own")
	g.followers(1)
	closed.lift()
	for _, a := range append(cheap(), balanced()...) {
		a.result()
	}
}

func TestShare_FailureIsSharedAndRefundedToEach(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	closed := newGate(t)
	g.all(closed.then(testkit.HTML(http.StatusBadGateway)))
	wait := g.together(key, 4, "eth_getTransactionReceipt", receiptOf1)
	g.followers(3)
	closed.lift()
	for _, a := range wait() {
		a.refused(http.StatusBadGateway, -32022)
	}
	if n := g.sent("eth_getTransactionReceipt"); n != len(g.ups) {
		t.Errorf("%d calls reached the upstreams, want one to each", n)
	}
	if day, period := g.counted(key); day != 0 || period != 0 {
		t.Errorf("the counters hold %d and %d", day, period)
	}
	if u := g.usage(key); u["ok"] != (figures{4, 4 * plan.Unit}) || u["refund"] != (figures{-4, -4 * plan.Unit}) ||
		u["upstream_failed"] != (figures{4, 0}) {
		t.Errorf("usage is %v", u)
	}
}

func TestShare_FollowersAreAnsweredWhenTheirLeaderLeft(t *testing.T) {
	t.Parallel()
	g := setup(t)
	leader, follower := g.unlimited(), g.unlimited()
	closed := newGate(t)
	g.all(closed.then(node(testHead)))
	leave := g.abandon(leader, chain.EthMainnet, call("eth_getTransactionReceipt", receiptOf1))
	testkit.Eventually(t, testTimeout, func() bool {
		return g.sent("eth_getTransactionReceipt") == 1
	}, "the leader's call is under way")
	wait := g.together(follower, 3, "eth_getTransactionReceipt", receiptOf1)
	g.followers(3)
	leave()
	closed.lift()
	for _, a := range wait() {
		if !strings.Contains(a.result(), hash(1)) {
			t.Errorf("got %s", a.body)
		}
	}
	if n := g.sent("eth_getTransactionReceipt"); n != 1 {
		t.Errorf("%d calls reached the upstreams", n)
	}
	if u := g.usage(leader); u["ok"] != (figures{1, plan.Unit}) || len(u) != 1 {
		t.Errorf("the leader's usage is %v", u)
	}
}

func TestShare_CallThatAllHaveLeftIsCancelled(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.timeout, o.upstreams = 5*testTimeout, 1 }) // so that no deadline ends it
	key := g.unlimited()
	cancelled := make(chan struct{}, 1)
	g.all(func(x *testkit.Exchange) {
		<-x.Context.Done()
		cancelled <- struct{}{}
	})
	leader := g.abandon(key, chain.EthMainnet, call("eth_getTransactionReceipt", receiptOf1))
	testkit.Eventually(t, testTimeout, func() bool {
		return g.sent("eth_getTransactionReceipt") == 1
	}, "the call is under way")
	follower := g.abandon(key, chain.EthMainnet, call("eth_getTransactionReceipt", receiptOf1))
	g.followers(1)
	leader()
	follower()
	select {
	case <-cancelled:
	case <-time.After(testTimeout):
		t.Fatal("the call goes on for nobody")
	}
	g.all(node(testHead))
	g.rpc(key, chain.EthMainnet, call("eth_getTransactionReceipt", receiptOf1)).result() // and nobody joins it
	if u := g.usage(key); u["ok"] != (figures{3, 3 * plan.Unit}) || len(u) != 1 {
		t.Errorf("usage is %v", u)
	}
}

func TestShare_StreamedAnswersAreNotShared(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	closed := newGate(t)
	g.all(closed.then(testkit.Large(600 << 10)))
	wait := g.together(key, 4, "eth_getBlockByHash", fmt.Sprintf(`[%q,true]`, blockHash))
	g.followers(3)
	closed.lift()
	answers := wait()
	for i, a := range answers {
		if a.result() != answers[0].result() || len(a.body) < 600<<10 {
			t.Errorf("caller %d got %d bytes, the first %d", i, len(a.body), len(answers[0].body))
		}
	}
	if n := g.sent("eth_getBlockByHash"); n != 4 {
		t.Errorf("%d calls reached the upstreams, want one for each caller", n)
	}
}

func TestShare_FollowerHasItsOwnDeadline(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	const timeout = 6 * time.Second
	g := setup(t, func(o *options) { o.timeout, o.upstreams = timeout, 1 })
	key := g.unlimited()
	g.ups[0].On("eth_getTransactionReceipt", node(testHead))
	g.ups[0].NextOf("eth_getTransactionReceipt", testkit.Hang(nil))
	leader := g.together(key, 1, "eth_getTransactionReceipt", receiptOf1)
	testkit.Eventually(t, testTimeout, func() bool {
		return g.sent("eth_getTransactionReceipt") == 1
	}, "the leader's call is under way")
	begun := time.Now()
	testkit.Eventually(t, testTimeout, func() bool {
		return time.Since(begun) > timeout/2
	}, "half of the leader's time is over")
	follower := g.together(key, 2, "eth_getTransactionReceipt", receiptOf1)
	g.followers(2)
	leader()[0].refused(http.StatusGatewayTimeout, -32023)
	for _, a := range follower() {
		if !strings.Contains(a.result(), hash(1)) {
			t.Errorf("got %s", a.body)
		}
	}
	if n := g.sent("eth_getTransactionReceipt"); n < 2 || n > 3 {
		t.Errorf("%d calls reached the upstream, want one more for those whose time was not over", n)
	}
}

func TestShare_BatchSharesWithItself(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	closed := newGate(t)
	g.all(closed.then(node(testHead)))
	items := make([]string, 60)
	for i := range items {
		items[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_getTransactionReceipt","params":[%q]}`, i,
			hash(1))
	}
	answers := make(chan answer, 1)
	go func() { answers <- g.rpc(key, chain.EthMainnet, "["+strings.Join(items, ",")+"]") }()
	g.followers(15) // as many as run at once, minus the one they follow
	testkit.Eventually(t, testTimeout, func() bool {
		return g.sent("eth_getTransactionReceipt") > 0
	}, "the call that they follow is under way")
	if n := g.sent("eth_getTransactionReceipt"); n != 1 {
		t.Errorf("%d calls reached the upstreams", n)
	}
	closed.lift()
	for i, item := range (<-answers).batch(len(items)) {
		if string(item.ID) != strconv.Itoa(i) || !strings.Contains(string(item.Result), hash(1)) {
			t.Errorf("item %d is %+v", i, item)
		}
	}
	if u := g.usage(key); u["ok"] != (figures{60, 60 * plan.Unit}) {
		t.Errorf("usage is %v", u)
	}
}

func TestHeads_NeverGoBackAcrossSharedCallsAndTheCache(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	g := setup(t, func(o *options) { o.now, o.timeout = clock.Now, standing })
	key := g.unlimited()
	var mu sync.Mutex // guards asked
	asked := 0
	g.all(testkit.ResultOf(func(testkit.Request) any { // every other answer comes from a node that lags
		mu.Lock()
		defer mu.Unlock()
		asked++
		return fmt.Sprintf("0x%x", testHead+asked/8-5*(asked%2))
	}))
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			last := uint64(0)
			for range 25 {
				text := g.eth(key, "eth_blockNumber").result()
				n, err := strconv.ParseUint(strings.Trim(text, `"`)[2:], 16, 64)
				if err != nil || n < last {
					t.Errorf("%s came after %d (%v)", text, last, err)
				}
				last = n
				clock.Advance(700 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	if s := g.relay.CacheStats(); s.ShortHits == 0 || asked < 10 {
		t.Errorf("%d upstream calls, counted %+v", asked, s)
	}
}
