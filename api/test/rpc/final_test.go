package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

func withoutID(t *testing.T, a apitest.Answer) string {
	t.Helper()
	_, rest, ok := strings.Cut(a.Body, `"result":`)
	if !ok || a.Status != http.StatusOK {
		t.Fatalf("got HTTP %d %.300s", a.Status, a.Body)
	}
	return rest
}

func TestFinalCache_ServesFinalAnswersByteForByte(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.All(apitest.Node(apitest.Deepest))
	key := g.Unlimited()
	requests := []struct{ method, params, spelling string }{
		{
			"eth_getBlockByHash", fmt.Sprintf(`[%q,false]`, apitest.BlockHash),
			fmt.Sprintf(" [ \"0x%s\" ,\tfalse ]", strings.ToUpper(apitest.BlockHash[2:])),
		},
		{
			"eth_getTransactionByHash", fmt.Sprintf(`[%q]`, apitest.Hash(1)),
			fmt.Sprintf(`["\u0030x%s"]`, apitest.Hash(1)[2:]),
		},
		{"eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, apitest.Hash(1)), fmt.Sprintf("[\n%q]", apitest.Hash(1))},
		{
			"eth_getTransactionByBlockHashAndIndex", fmt.Sprintf(`[%q,"0x0"]`, apitest.BlockHash),
			fmt.Sprintf(`[ %q, "\u0030x0"]`, apitest.BlockHash),
		},
		{
			"eth_getUncleByBlockHashAndIndex", fmt.Sprintf(`[%q,"0x0"]`, apitest.BlockHash),
			fmt.Sprintf(`[%q ,"0x0"]`, apitest.BlockHash),
		},
		// By now the cache knows that their block is final.
		{
			"eth_getBlockTransactionCountByHash", fmt.Sprintf(`[%q]`, apitest.BlockHash),
			fmt.Sprintf(`[%q ]`, apitest.BlockHash),
		},
		{
			"eth_getUncleCountByBlockHash", fmt.Sprintf(`[%q]`, apitest.BlockHash),
			fmt.Sprintf(`[ %q]`, apitest.BlockHash),
		},
	}
	for _, r := range requests {
		t.Run(r.method, func(t *testing.T) {
			first := g.RPC(key, chain.EthMainnet, apitest.Call(r.method, r.params))
			if first.Hit() {
				t.Error("the first is a hit")
			}
			for _, id := range []string{`7`, `"a\u0062c"`, `123456789012345678901234567890`, `null`, `{"a": [1]}`} {
				again := g.RPC(key, chain.EthMainnet, fmt.Sprintf(`{"params":%s,"method":%q,"id":%s,"jsonrpc":"2.0"}`,
					r.spelling, r.method, id))
				if withoutID(t, again) != withoutID(t, first) ||
					!strings.HasPrefix(again.Body, `{"jsonrpc":"2.0","id":`+id+`,`) {
					t.Errorf("%s\nfirst  %s\nagain  %s", r.method, first.Body, again.Body)
				}
				if !again.Hit() || !strings.HasPrefix(again.Header.Get("Server-Timing"), "cache;desc=hit") {
					t.Errorf("%s with id %s: hit is %v, timing %q", r.method, id, again.Hit(),
						again.Header.Get("Server-Timing"))
				}
			}
			if n := g.Sent(r.method); n != 1 {
				t.Errorf("%d calls reached the upstreams", n)
			}
		})
	}
	if u := g.Usage(key); u["hit"] != (apitest.Figures{Requests: 35, Units: 0}) ||
		u["ok"] != (apitest.Figures{Requests: 7, Units: 7 * plan.Unit}) {
		t.Errorf("usage is %v", u)
	}
	s := g.Relay.CacheStats()
	expect.Equal(t, s.MemoryHits, 35)
	expect.Equal(t, s.Misses, 7)
	expect.Equal(t, s.Stores, 7)
}

func TestFinalCache_AsksAgainForWhatMayChange(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	another := testkit.ResultOf(func(testkit.Request) any {
		return map[string]any{
			"hash": apitest.Hash(99), "transactionHash": apitest.Hash(99), "blockHash": apitest.Hash(99),
			"number": "0x1", "blockNumber": "0x1",
		}
	})
	large := func(x *testkit.Exchange) {
		testkit.ResultOf(func(testkit.Request) any {
			return map[string]any{
				"hash": apitest.Hash(1), "transactionHash": apitest.Hash(1), "number": "0x1", "blockNumber": "0x1",
				"z": strings.Repeat("z", 300<<10),
			}
		})(x)
	}
	for what, reply := range map[string]testkit.Reply{
		"a block that is not deep": apitest.Node(apitest.Deepest + 1),
		"nothing":                  testkit.Result(nil),
		"an error":                 testkit.Error(-32000, "something"),
		"a pending transaction": testkit.Result(map[string]any{
			"hash": apitest.Hash(1), "blockNumber": nil, "blockHash": nil,
		}),
		"another hash": another,
		"no block": testkit.Result(map[string]any{
			"hash":            apitest.Hash(1),
			"transactionHash": apitest.Hash(1),
		}),
		"a streamed answer": large,
		"something else":    testkit.Result("0x1"),
	} {
		t.Run(what, func(t *testing.T) {
			g.All(reply)
			for _, method := range []string{
				"eth_getBlockByHash", "eth_getTransactionByHash", "eth_getTransactionReceipt",
				"eth_getTransactionByBlockHashAndIndex",
			} {
				for range 2 {
					if a := g.RPC(key, chain.EthMainnet,
						apitest.Call(method, fmt.Sprintf(`[%q]`, apitest.Hash(1)))); a.Hit() ||
						a.Status != http.StatusOK {
						t.Errorf("%s, %s: HTTP %d, hit is %v", method, what, a.Status, a.Hit())
					}
				}
			}
		})
	}
	g.All(apitest.Node(apitest.Deepest))
	// of a block that nobody has read
	for _, method := range []string{"eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockHash"} {
		for range 2 {
			if g.RPC(key, chain.EthMainnet, apitest.Call(method, fmt.Sprintf(`[%q]`, apitest.Hash(5)))).Hit() {
				t.Errorf("%s hit", method)
			}
		}
	}
	if s := g.Relay.CacheStats(); s.Stores != 0 {
		t.Errorf("counted %+v", s)
	}
}

func TestFinalCache_ChecksDepthAgainstProbesWhenStoring(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.All(apitest.Node(apitest.Deepest + 5))
	key := g.Unlimited()
	receipt := func() apitest.Answer {
		return g.RPC(key, chain.EthMainnet, apitest.Call("eth_getTransactionReceipt",
			fmt.Sprintf(`[%q]`, apitest.Hash(1))))
	}
	for range 2 {
		if receipt().Hit() {
			t.Fatal("it hit though its block is not deep")
		}
	}
	on, _ := g.Pool.Chain(chain.EthMainnet)
	// plausible, but reported by one upstream only
	g.Ups[0].On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", apitest.Head+5)))
	g.Eth(key, "eth_blockNumber").Result()
	if head, _ := on.Head(); head != apitest.Head+5 {
		t.Fatalf("the head is %d", head)
	}
	for range 2 {
		if receipt().Hit() {
			t.Fatal("one upstream's head made a block deep")
		}
	}
	applyHealthyAt(g, apitest.Head+5, 0)
	if receipt().Hit() || !receipt().Hit() {
		t.Error("it was not stored once its block was deep")
	}
	applyHealthyAt(g, apitest.Head, 0)
	if !receipt().Hit() {
		t.Error("depth is checked when asking")
	}
}

// applyHealthyAt applies a snapshot of Ethereum with another head and generation and only healthy
// upstreams.
func applyHealthyAt(g *apitest.Gateway, head, generation uint64) {
	on, _ := g.Pool.Chain(chain.EthMainnet)
	s := upstream.Snapshot{
		Chain: chain.EthMainnet, MeasuredAt: time.Now(), Head: head, HeadKnown: true, Generation: generation,
	}
	for i := range g.Ups {
		name := fmt.Sprintf("up-%d", i)
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Name: name, Fingerprint: on.Fingerprint(name), Usable: true, ChainIDOK: true, Head: head,
			LatencyMicros: int64(1000 << (6 * i)),
		})
	}
	on.Apply(s)
}

func TestFinalCache_DeepReorgInvalidatesWhatWasStored(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	g := apitest.Setup(t, func(o *apitest.Options) { o.CacheURL = kept.URL })
	key := g.Unlimited()
	ask := func() apitest.Answer {
		return g.RPC(key, chain.EthMainnet, apitest.Call("eth_getTransactionReceipt",
			fmt.Sprintf(`[%q]`, apitest.Hash(1))))
	}
	g.All(apitest.Node(apitest.Deepest))
	before := ask().Result()
	if !ask().Hit() {
		t.Fatal("it is not stored")
	}
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.Relay.CacheStats().RedisWrites == 1
	}, "it is in Redis too")
	applyHealthyAt(g, apitest.Head, 1)
	g.All(apitest.Node(apitest.Deepest - 7))
	a := ask()
	if a.Hit() || a.Result() == before {
		t.Errorf("what was stored before the reorganisation is served: %s", a.Body)
	}
	if b := ask(); !b.Hit() || b.Result() != a.Result() {
		t.Errorf("what is true since is not stored: %s", b.Body)
	}
}

func TestFinalCache_ServesHitsWhenEverythingIsUsedUp(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		plan, counter string
		used          plan.Units
		code          int
	}{
		"the day of a door key": {"", "*day:*", 10_000 * plan.Unit, -32016},
		"the quota of a plan":   {plan.Pro, "*ap:*", 15_000_000 * plan.Unit, -32007},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Setup(t)
			g.All(apitest.Node(apitest.Deepest))
			var key string
			if row.plan == "" {
				key = g.DoorKey()
			} else {
				key = g.AccountKey(row.plan)
			}
			stored := apitest.Call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, apitest.Hash(1)))
			want := g.RPC(key, chain.EthMainnet, stored).Result()
			names, err := g.Meter.Client().Keys(t.Context(), row.counter).Result()
			g.Must(err)
			if len(names) != 1 {
				t.Fatalf("the counters are %v", names)
			}
			if row.plan == "" {
				g.Must(g.Meter.Client().Set(t.Context(), names[0], int64(row.used), redis.KeepTTL).Err())
			} else {
				g.Must(g.Meter.Client().HSet(t.Context(), names[0], "u", int64(row.used)).Err())
			}
			g.RPC(key, chain.EthMainnet, apitest.Call("eth_getTransactionReceipt",
				fmt.Sprintf(`[%q]`, apitest.Hash(2)))).Refused(
				http.StatusTooManyRequests, row.code)
			if a := g.RPC(key, chain.EthMainnet, stored); !a.Hit() || a.Result() != want {
				t.Errorf("got %s", a.Body)
			}
			if day, period := g.Counted(key); max(day, period) != row.used {
				t.Errorf("the counter went to %d or %d", day, period)
			}
		})
	}
}

func TestFinalCache_RefusesHitsToCallersWhoAreNotServed(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.All(apitest.Node(apitest.Deepest))
	stored := apitest.Call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, apitest.Hash(1)))
	g.RPC(g.Unlimited(), chain.EthMainnet, stored).Result()
	revoked, suspended, fast := g.Unlimited(), g.Unlimited(), g.DoorKey()
	for _, key := range []string{revoked, suspended, fast} {
		if !g.RPC(key, chain.EthMainnet, stored).Hit() {
			t.Fatal("it is not stored")
		}
	}
	g.Revoke(revoked)
	g.Suspend(suspended)
	g.RPC(revoked, chain.EthMainnet, stored).Refused(http.StatusUnauthorized, -32001)
	g.RPC(suspended, chain.EthMainnet, stored).Refused(http.StatusForbidden, -32009)
	testkit.Eventually(t, apitest.Timeout, func() bool {
		a := g.RPC(fast, chain.EthMainnet, stored)
		if a.Status == http.StatusTooManyRequests {
			a.Refused(http.StatusTooManyRequests, -32005)
		}
		return a.Status == http.StatusTooManyRequests
	}, "hits count in the rate window")
}

func TestFinalCache_BatchIsAHitOnlyWhenEveryItemWas(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.All(apitest.Node(apitest.Deepest))
	key := g.Unlimited()
	item := func(id, n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_getTransactionByHash","params":[%q]}`, id,
			apitest.Hash(n))
	}
	local := `{"jsonrpc":"2.0","id":9,"method":"eth_chainId"}`
	first := g.RPC(key, chain.EthMainnet, "["+item(1, 1)+","+item(2, 2)+","+local+"]")
	second := g.RPC(key, chain.EthMainnet, "["+item(1, 1)+","+item(2, 2)+","+local+"]")
	third := g.RPC(key, chain.EthMainnet, "["+item(1, 1)+","+item(3, 3)+"]")
	expect.False(t, first.Hit(), first)
	expect.True(t, second.Hit(), second)
	expect.False(t, third.Hit(), third)
	if first.Body != second.Body {
		t.Errorf("first  %s\nsecond %s", first.Body, second.Body)
	}
	third.Batch(2)
	if u := g.Usage(key); u["hit"] != (apitest.Figures{Requests: 5, Units: 0}) ||
		u["ok"] != (apitest.Figures{Requests: 3, Units: 3 * plan.Unit}) {
		t.Errorf("usage is %v", u)
	}
}

func TestFinalCache_HoldsNothingOfSolana(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.All(testkit.Result(map[string]any{"slot": 1, "blockNumber": "0x1", "hash": apitest.Hash(1)}))
	key := g.Unlimited()
	for method, params := range map[string]string{
		"getTransaction": `["5wHu1qwD7q5ifaN5nwdcDqNFo53GJqa7nLp2BeeEpcHCusb4GzARz4GjgzsEHMkBMgCJMGa6GSQ1VG96Exv8kt2W` +
			`"]`,
		"getBlock":       `[1]`,
		"getBlockTime":   `[1]`,
		"getGenesisHash": `[]`,
	} {
		t.Run(method, func(t *testing.T) {
			for range 2 {
				if g.RPC(key, chain.SolanaMainnet, apitest.Call(method, params)).Hit() {
					t.Errorf("%s hit", method)
				}
			}
		})
	}
}

// rpcAt posts a call for Ethereum to another process.
func rpcAt(g *apitest.Gateway, url, key, body string) apitest.Answer {
	g.T.Helper()
	req, err := http.NewRequestWithContext(g.T.Context(), http.MethodPost, url+"/rpc/"+string(chain.EthMainnet),
		strings.NewReader(body))
	g.Must(err)
	req.Header.Set("Authorization", "Bearer "+key)
	return g.Send(req)
}

func TestFinalCache_IsSharedByTwoProcesses(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	share := func(o *apitest.Options) { o.CacheURL = kept.URL }
	g := apitest.Setup(t, share)
	g.All(apitest.Node(apitest.Deepest))
	key := g.Unlimited()
	stored := apitest.Call("eth_getBlockByHash", fmt.Sprintf(`[%q,true]`, apitest.BlockHash))
	want := withoutID(t, g.RPC(key, chain.EthMainnet, stored))
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Relay.CacheStats().RedisWrites == 1 },
		"it is in Redis")
	other := another(g, share)
	for range 2 { // from Redis, then from memory
		if a := rpcAt(g, other, key, stored); !a.Hit() || withoutID(t, a) != want {
			t.Errorf("the other process gives %s", a.Body)
		}
	}
	if n := g.Sent("eth_getBlockByHash"); n != 1 {
		t.Errorf("%d calls reached the upstreams", n)
	}
	if u := g.Usage(key); u["hit"] != (apitest.Figures{Requests: 2, Units: 0}) {
		t.Errorf("usage is %v", u)
	}
}

func TestFinalCache_CorruptEntryInRedisIsAskedForAgain(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	share := func(o *apitest.Options) { o.CacheURL = kept.URL }
	g := apitest.Setup(t, share)
	g.All(apitest.Node(apitest.Deepest))
	key := g.Unlimited()
	stored := apitest.Call("eth_getBlockByHash", fmt.Sprintf(`[%q,true]`, apitest.BlockHash))
	want := withoutID(t, g.RPC(key, chain.EthMainnet, stored))
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Relay.CacheStats().RedisWrites == 1 },
		"it is in Redis")
	rdb := redis.NewClient(&redis.Options{Addr: kept.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	names := rdb.Keys(t.Context(), "*").Val()
	if len(names) != 1 {
		t.Fatalf("Redis holds %q", names)
	}
	for _, spoil := range []func(string) string{
		func(s string) string { return strings.Replace(s, "transactions", "transactionz", 1) },
		func(s string) string { return s[:len(s)/2] },
		func(string) string { return "" },
		func(string) string { return `{"hash":"0x666"}` },
	} {
		sealed := rdb.Get(t.Context(), names[0]).Val()
		g.Must(rdb.Set(t.Context(), names[0], spoil(sealed), 0).Err())
		other := another(g, share)
		if a := rpcAt(g, other, key, stored); a.Hit() || withoutID(t, a) != want {
			t.Errorf("the other process gives %s", a.Body)
		}
		testkit.Eventually(t, apitest.Timeout, func() bool {
			return rdb.Get(t.Context(),
				names[0]).Val() != spoil(sealed)
		},
			"it is mended")
	}
}

func TestFinalCache_NoCallFailsWhenTheSecondTierDies(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	g := apitest.Setup(t, func(o *apitest.Options) { o.CacheURL = kept.URL })
	g.All(apitest.Node(apitest.Deepest))
	key := g.Unlimited()
	const callers, each = 6, 40
	var begun, failed atomic.Int64
	var wg sync.WaitGroup
	for w := range callers {
		wg.Go(func() {
			for i := range each {
				begun.Add(1)
				asked := apitest.Hash(w*each + i/2) // each once as a miss and once as a hit
				body := bytes.NewReader([]byte(apitest.Call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, asked))))
				req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost,
					g.URL+"/rpc/eth_mainnet", body)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+key)
				resp, err := g.Client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				var text bytes.Buffer
				_, _ = text.ReadFrom(resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK || !strings.Contains(text.String(), asked) {
					failed.Add(1)
					t.Errorf("HTTP %d %.200s", resp.StatusCode, text.String())
				}
			}
		})
	}
	testkit.Eventually(t, apitest.Timeout, func() bool { return begun.Load() > callers*each/4 }, "it is half way")
	kept.Kill(t)
	wg.Wait()
	s := g.Relay.CacheStats()
	expect.NotEqual(t, s.MemoryHits, 0)
	expect.NotEqual(t, s.RedisErrors, 0)
	expect.AtMost(t, failed.Load(), 0)
}
