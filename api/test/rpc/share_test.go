package rpc_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
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
func together(g *apitest.Gateway, key string, n int, method, params string,
	headers ...string,
) (wait func() []apitest.Answer) {
	g.T.Helper()
	answers := make([]apitest.Answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params)
			answers[i] = g.RPC(key, chain.EthMainnet, body, headers...)
		})
	}
	return func() []apitest.Answer {
		wg.Wait()
		return answers
	}
}

// followers waits until n calls wait for one that another call started.
func followers(g *apitest.Gateway, n uint64) {
	g.T.Helper()
	testkit.Eventually(g.T, apitest.Timeout, func() bool {
		return g.Relay.CacheStats().Followers == n
	}, "%d calls follow another", n)
}

var receiptOf1 = fmt.Sprintf(`[%q]`, apitest.Hash(1))

func TestShare_IdenticalReadsUnderWayShareOneCall(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		method, params string
		reply          testkit.Reply
		sent           int
	}{
		// not final, so it is not stored: sharing is all they have in common
		{"eth_getTransactionReceipt", receiptOf1, apitest.Node(apitest.Head), 1},
		{"eth_getTransactionByHash", receiptOf1, apitest.Node(apitest.Deepest), 1},
		{"eth_gasPrice", `[]`, testkit.Result("0x3b9aca00"), 1},
		{"eth_getTransactionReceipt", receiptOf1, testkit.Error(-32000, "insufficient funds, says the node"), 1},
		// a null counts once a second upstream says so
		{"eth_getTransactionReceipt", receiptOf1, testkit.Result(nil), 2},
	} {
		t.Run(row.method, func(t *testing.T) {
			t.Parallel()
			g := apitest.Setup(t)
			key := g.Unlimited()
			closed := newGate(t)
			g.All(closed.then(row.reply))
			const n = 12
			wait := together(g, key, n, row.method, row.params)
			followers(g, n-1)
			closed.lift()
			answers := wait()
			members := func(a apitest.Answer) string {
				_, rest, _ := strings.Cut(a.Body, ",")
				_, rest, _ = strings.Cut(rest, ",")
				return rest
			}
			for i, a := range answers {
				in := expect.In(t, "caller %d", i)
				expect.Equal(in, string(a.Envelope().ID), strconv.Itoa(i))
				expect.Equal(in, a.Status, http.StatusOK)
				expect.False(in, a.Hit(), a)
				expect.Equal(in, members(a), members(answers[0]))
			}
			if sent := g.Sent(row.method); sent != row.sent {
				t.Errorf("%d calls reached the upstreams", sent)
			}
			if u := g.Usage(key); u["ok"] != (apitest.Figures{Requests: n, Units: n * plan.Unit}) || len(u) != 1 {
				t.Errorf("usage is %v", u)
			}
			led, followed := 0, 0
			for _, a := range answers {
				for _, c := range g.Calls(a) {
					if c.Upstream == "" || c.Units != plan.Unit {
						t.Errorf("recorded as %+v", c)
					}
					led, followed = led+c.Attempts, followed+1-c.Attempts
				}
			}
			if led != row.sent || followed != n-row.sent {
				t.Errorf("%d led and %d followed in the records", led, followed)
			}
		})
	}
}

func TestShare_OnlyCacheableReadsAreShared(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	closed := newGate(t)
	g.All(closed.then(testkit.Result("0x1")))
	rows := map[string]string{
		"eth_sendRawTransaction":    `["0x02f86b010780"]`,
		"eth_call":                  `[{},"latest"]`,
		"eth_getBalance":            `["0x0000000000000000000000000000000000000001","latest"]`,
		"eth_getTransactionReceipt": `["not a hash"]`,
	}
	var waits []func() []apitest.Answer
	for method, params := range rows {
		waits = append(waits, together(g, key, 2, method, params))
	}
	for method := range rows {
		t.Run(method, func(t *testing.T) {
			testkit.Eventually(t, apitest.Timeout, func() bool { return g.Sent(method) == 2 }, "both %s are sent",
				method)
		})
	}
	closed.lift()
	for _, wait := range waits {
		for _, a := range wait() {
			a.Result()
		}
	}
	if n := g.Relay.CacheStats().Followers; n != 0 {
		t.Errorf("%d calls followed another", n)
	}
}

func TestShare_NobodyWaitsForACallOfAnotherTier(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	closed := newGate(t)
	g.All(closed.then(apitest.Node(apitest.Head)))
	cheap := together(g, key, 1, "eth_getTransactionReceipt", receiptOf1, "X-Route-Tier", "cheap")
	balanced := together(g, key, 2, "eth_getTransactionReceipt", receiptOf1)
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.Sent("eth_getTransactionReceipt") == 2
	}, "each tier asks on its own")
	followers(g, 1)
	closed.lift()
	for _, a := range append(cheap(), balanced()...) {
		a.Result()
	}
}

func TestShare_FailureIsSharedAndRefundedToEach(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	closed := newGate(t)
	g.All(closed.then(testkit.HTML(http.StatusBadGateway)))
	wait := together(g, key, 4, "eth_getTransactionReceipt", receiptOf1)
	followers(g, 3)
	closed.lift()
	for _, a := range wait() {
		a.Refused(http.StatusBadGateway, -32022)
	}
	if n := g.Sent("eth_getTransactionReceipt"); n != len(g.Ups) {
		t.Errorf("%d calls reached the upstreams, want one to each", n)
	}
	if day, period := g.Counted(key); day != 0 || period != 0 {
		t.Errorf("the counters hold %d and %d", day, period)
	}
	u := g.Usage(key)
	expect.Equal(t, u["ok"], apitest.Figures{Requests: 4, Units: 4 * plan.Unit})
	expect.Equal(t, u["refund"], apitest.Figures{Requests: -4, Units: -4 * plan.Unit})
	expect.Equal(t, u["upstream_failed"], apitest.Figures{Requests: 4, Units: 0})
}

func TestShare_FollowersAreAnsweredWhenTheirLeaderLeft(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	leader, follower := g.Unlimited(), g.Unlimited()
	closed := newGate(t)
	g.All(closed.then(apitest.Node(apitest.Head)))
	leave := g.Abandon(leader, chain.EthMainnet, apitest.Call("eth_getTransactionReceipt", receiptOf1))
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.Sent("eth_getTransactionReceipt") == 1
	}, "the leader's call is under way")
	wait := together(g, follower, 3, "eth_getTransactionReceipt", receiptOf1)
	followers(g, 3)
	leave()
	closed.lift()
	for _, a := range wait() {
		if !strings.Contains(a.Result(), apitest.Hash(1)) {
			t.Errorf("got %s", a.Body)
		}
	}
	if n := g.Sent("eth_getTransactionReceipt"); n != 1 {
		t.Errorf("%d calls reached the upstreams", n)
	}
	if u := g.Usage(leader); u["ok"] != (apitest.Figures{Requests: 1, Units: plan.Unit}) || len(u) != 1 {
		t.Errorf("the leader's usage is %v", u)
	}
}

func TestShare_CallThatAllHaveLeftIsCancelled(t *testing.T) {
	t.Parallel()
	// so that no deadline ends it
	g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout, o.Upstreams = 5*apitest.Timeout, 1 })
	key := g.Unlimited()
	cancelled := make(chan struct{}, 1)
	g.All(func(x *testkit.Exchange) {
		<-x.Context.Done()
		cancelled <- struct{}{}
	})
	leader := g.Abandon(key, chain.EthMainnet, apitest.Call("eth_getTransactionReceipt", receiptOf1))
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.Sent("eth_getTransactionReceipt") == 1
	}, "the call is under way")
	follower := g.Abandon(key, chain.EthMainnet, apitest.Call("eth_getTransactionReceipt", receiptOf1))
	followers(g, 1)
	leader()
	follower()
	select {
	case <-cancelled:
	case <-time.After(apitest.Timeout):
		t.Fatal("the call goes on for nobody")
	}
	g.All(apitest.Node(apitest.Head))
	g.RPC(key, chain.EthMainnet, apitest.Call("eth_getTransactionReceipt", receiptOf1)).Result() // and nobody joins it
	if u := g.Usage(key); u["ok"] != (apitest.Figures{Requests: 3, Units: 3 * plan.Unit}) || len(u) != 1 {
		t.Errorf("usage is %v", u)
	}
}

func TestShare_StreamedAnswersAreNotShared(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	closed := newGate(t)
	g.All(closed.then(testkit.Large(600 << 10)))
	wait := together(g, key, 4, "eth_getBlockByHash", fmt.Sprintf(`[%q,true]`, apitest.BlockHash))
	followers(g, 3)
	closed.lift()
	answers := wait()
	for i, a := range answers {
		if a.Result() != answers[0].Result() || len(a.Body) < 600<<10 {
			t.Errorf("caller %d got %d bytes, the first %d", i, len(a.Body), len(answers[0].Body))
		}
	}
	if n := g.Sent("eth_getBlockByHash"); n != 4 {
		t.Errorf("%d calls reached the upstreams, want one for each caller", n)
	}
}

func TestShare_FollowerHasItsOwnDeadline(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	const timeout = 6 * time.Second
	g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout, o.Upstreams = timeout, 1 })
	key := g.Unlimited()
	g.Ups[0].On("eth_getTransactionReceipt", apitest.Node(apitest.Head))
	g.Ups[0].NextOf("eth_getTransactionReceipt", testkit.Hang(nil))
	leader := together(g, key, 1, "eth_getTransactionReceipt", receiptOf1)
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.Sent("eth_getTransactionReceipt") == 1
	}, "the leader's call is under way")
	begun := time.Now()
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return time.Since(begun) > timeout/2
	}, "half of the leader's time is over")
	follower := together(g, key, 2, "eth_getTransactionReceipt", receiptOf1)
	followers(g, 2)
	leader()[0].Refused(http.StatusGatewayTimeout, -32023)
	for _, a := range follower() {
		if !strings.Contains(a.Result(), apitest.Hash(1)) {
			t.Errorf("got %s", a.Body)
		}
	}
	if n := g.Sent("eth_getTransactionReceipt"); n < 2 || n > 3 {
		t.Errorf("%d calls reached the upstream, want one more for those whose time was not over", n)
	}
}

func TestShare_BatchSharesWithItself(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	closed := newGate(t)
	g.All(closed.then(apitest.Node(apitest.Head)))
	items := make([]string, 60)
	for i := range items {
		items[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_getTransactionReceipt","params":[%q]}`, i,
			apitest.Hash(1))
	}
	answers := make(chan apitest.Answer, 1)
	go func() { answers <- g.RPC(key, chain.EthMainnet, "["+strings.Join(items, ",")+"]") }()
	followers(g, 15) // as many as run at once, minus the one they follow
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.Sent("eth_getTransactionReceipt") > 0
	}, "the call that they follow is under way")
	if n := g.Sent("eth_getTransactionReceipt"); n != 1 {
		t.Errorf("%d calls reached the upstreams", n)
	}
	closed.lift()
	for i, item := range (<-answers).Batch(len(items)) {
		if string(item.ID) != strconv.Itoa(i) || !strings.Contains(string(item.Result), apitest.Hash(1)) {
			t.Errorf("item %d is %+v", i, item)
		}
	}
	if u := g.Usage(key); u["ok"] != (apitest.Figures{Requests: 60, Units: 60 * plan.Unit}) {
		t.Errorf("usage is %v", u)
	}
}

func TestHeads_NeverGoBackAcrossSharedCallsAndTheCache(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	g := apitest.Setup(t, func(o *apitest.Options) { o.Now, o.Timeout = clock.Now, apitest.StoppedClockTimeout })
	key := g.Unlimited()
	var mu sync.Mutex // guards asked
	asked := 0
	g.All(testkit.ResultOf(func(testkit.Request) any { // every other answer comes from a node that lags
		mu.Lock()
		defer mu.Unlock()
		asked++
		return fmt.Sprintf("0x%x", apitest.Head+asked/8-5*(asked%2))
	}))
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			last := uint64(0)
			for range 25 {
				text := g.Eth(key, "eth_blockNumber").Result()
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
	if s := g.Relay.CacheStats(); s.ShortHits == 0 || asked < 10 {
		t.Errorf("%d upstream calls, counted %+v", asked, s)
	}
}
