package rpc_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

// TestStrayAnswers_ReachNoOtherCustomerAndNoCache has every upstream send an extra answer, that of
// another customer, before every fifth answer. Customers call in parallel. Afterwards, every
// cacheable call is repeated.
func TestStrayAnswers_ReachNoOtherCustomerAndNoCache(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	var asked, strays atomic.Int64
	var last atomic.Pointer[testkit.Request]
	right := apitest.Node(apitest.Deepest)
	g.All(func(x *testkit.Exchange) {
		other := last.Swap(&x.Request)
		if other == nil || asked.Add(1)%5 != 0 {
			right(x)
			return
		}
		strays.Add(1)
		testkit.Preceded(func(x *testkit.Exchange) {
			x.Request = *other
			right(x)
		}, right)(x)
	})
	const customers, calls = 6, 60
	ask := func(key string, n int) {
		method, member := "eth_getTransactionReceipt", "transactionHash"
		if n%2 == 0 {
			method, member = "eth_getTransactionByHash", "hash"
		}
		a := g.RPC(key, chain.EthMainnet, apitest.Call(method, fmt.Sprintf(`[%q]`, apitest.Hash(n))))
		if want := fmt.Sprintf(`%q:%q`, member, apitest.Hash(n)); strings.Contains(a.Body, `"result"`) &&
			!strings.Contains(a.Body, want) {
			t.Errorf("call %d got %s", n, a.Body)
		}
	}
	keys := make([]string, customers)
	for i := range keys {
		keys[i] = g.Unlimited()
	}
	for range 2 { // from the upstreams, then from the cache
		var all sync.WaitGroup
		for customer, key := range keys {
			all.Go(func() {
				for n := range calls {
					ask(key, customer*calls+n)
				}
			})
		}
		all.Wait()
	}
	if hits := g.Relay.CacheStats().MemoryHits; hits < customers*calls/2 {
		t.Errorf("%d answers came from the cache", hits)
	}
	if n := strays.Load(); n < customers*calls/10 {
		t.Errorf("%d stray answers were sent", n)
	}
}
