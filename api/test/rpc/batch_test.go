package rpc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestBatch_IsAnsweredInTheOrderOfItsRequests(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	echo := testkit.ResultOf(func(r testkit.Request) any { return r.Params })
	g.All(func(x *testkit.Exchange) {
		var n []int
		_ = json.Unmarshal(x.Request.Params, &n)
		if len(n) == 1 && n[0]%10 == 0 { // some take longer
			timer := time.NewTimer(20 * time.Millisecond)
			<-timer.C
		}
		echo(x)
	})
	items := g.RPC(g.Unlimited(), chain.EthMainnet, apitest.BatchOf(100, "eth_call")).Batch(100)
	for i, item := range items {
		if string(item.ID) != fmt.Sprint(i) || string(item.Result) != fmt.Sprintf("[%d]", i) {
			t.Fatalf("item %d is %s: %s", i, item.ID, item.Result)
		}
	}
}

func TestBatch_RunsItemsConcurrentlyWithinABound(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	var mu sync.Mutex // guards under and most
	var under, limit int
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		under += n
		limit = max(limit, under)
	}
	// Every request waits for those that arrive with it, for as long as an unbounded batch would
	// take to arrive after its first item.
	gathered := make(chan struct{})
	gather := sync.OnceFunc(func() { time.AfterFunc(500*time.Millisecond, func() { close(gathered) }) })
	g.All(func(x *testkit.Exchange) {
		count(1)
		defer count(-1)
		gather()
		<-gathered
		testkit.Result("0x1")(x)
	})
	g.RPC(g.Unlimited(), chain.EthMainnet, apitest.BatchOf(60, "eth_call")).Batch(60)
	if limit < 2 || limit > 16 {
		t.Errorf("%d items ran at once, want some but at most 16", limit)
	}
}

func TestBatch_RefusesEachItemOnItsOwn(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.Ups[0].On("eth_getBalance", testkit.Error(-32000, "insufficient funds for transfer"))
	key := g.Unlimited()
	a := g.RPC(key, chain.EthMainnet, `[
		{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]},
		{"jsonrpc":"2.0","id":"two","method":"eth_nothing"},
		{"jsonrpc":"1.0","id":3,"method":"eth_call"},
		42, "text", null, [],
		{"jsonrpc":"2.0","method":"eth_chainId"},
		{"jsonrpc":"2.0","id":null,"method":"eth_getLogs","params":[{"fromBlock":"0x0","toBlock":"0x3e8"}]},
		{"jsonrpc":"2.0","id":10,"method":"eth_getBalance","params":[]}
	]`)
	items := a.Batch(10)
	for i, want := range []struct {
		id   string
		code int
	}{
		{"1", 0},
		{`"two"`, -32601},
		{"3", -32600},
		{"null", -32600},
		{"null", -32600},
		{"null", -32600},
		{"null", -32600},
		{"null", 0},
		{"null", -32602},
		{"10", -32000},
	} {
		t.Run(want.id, func(t *testing.T) {
			item := items[i]
			code := 0
			if item.Error != nil {
				code = item.Error.Code
			}
			if string(item.ID) != want.id || code != want.code {
				t.Errorf("item %d is %s with %d, want %s with %d", i, item.ID, code, want.id, want.code)
			}
			if code != 0 && code != -32000 &&
				(item.Error.Data["index"] != float64(i) || item.Error.Data["request_id"] != a.RequestID().String()) {
				t.Errorf("item %d carries %v", i, item.Error.Data)
			}
		})
	}
	if a.Hit() || a.Header.Get("Server-Timing") == "" {
		t.Error("the batch was no hit, and takes its time")
	}
	calls := g.Calls(a)
	if len(calls) != 10 {
		t.Fatalf("%d calls were recorded", len(calls))
	}
	for i, c := range calls {
		if c.Index != i {
			t.Errorf("record %d is of item %d", i, c.Index)
		}
	}
}

func TestBatch_OutsideTheBoundsIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.RPC(key, chain.EthMainnet, "[]").Refused(http.StatusBadRequest, -32600)
	g.RPC(key, chain.EthMainnet, " [ \n ] ").Refused(http.StatusBadRequest, -32600)
	refusedBatch(g.RPC(key, chain.EthMainnet, apitest.BatchOf(relay.MaxBatch+1, "eth_call")), relay.MaxBatch+1,
		http.StatusRequestEntityTooLarge, -32600)
	g.RPC(key, chain.EthMainnet, `[{"jsonrpc":"2.0","id":1,"method":"eth_call"}`).Refused(http.StatusBadRequest, -32700)
	g.RPC(key, chain.EthMainnet, apitest.BatchOf(100, "eth_call")).Batch(100)
	if g.Sent("eth_call") != 100 {
		t.Errorf("%d calls were relayed", g.Sent("eth_call"))
	}
}

func TestBatch_ItemsBeyondTheRateAreRefusedInBand(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	items := g.RPC(key, chain.EthMainnet, apitest.BatchOf(150, "eth_call")).Batch(150)
	admitted := 0
	for i, item := range items {
		if item.Error == nil {
			admitted++
			continue
		}
		in := expect.In(t, "item %d is refused", i)
		require.Equal(in, item.Error.Code, -32005)
		require.Equal[any](in, item.Error.Data["index"], float64(i))
		require.NotEqual(in, item.Error.Data["retry_after"], nil)
		require.NotEqual(in, item.Error.Data["next_door"], nil)
	}
	// a new window may begin while the batch runs
	expect.Between(t, admitted, 1, 110)
	expect.Equal(t, g.Sent("eth_call"), admitted)
	if day, _ := g.Counted(key); int64(day) != int64(1000*admitted) {
		t.Errorf("the day holds %d for %d calls", day, admitted)
	}
}

func TestBatch_IsACacheHitOnlyWhenEveryItemIs(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	hits := g.RPC(key, chain.EthMainnet, "["+apitest.Call("eth_chainId", "[]")+","+apitest.Call("net_version", "[]")+
		"]")
	hits.Batch(2)
	if !hits.Hit() || !strings.HasPrefix(hits.Header.Get("Server-Timing"), "cache;desc=hit") {
		t.Error("all items hit, the batch did not")
	}
	mixed := g.RPC(key, chain.EthMainnet, "["+apitest.Call("eth_chainId", "[]")+","+apitest.Call("eth_call", "[]")+"]")
	mixed.Batch(2)
	if mixed.Hit() {
		t.Error("one item missed, the batch hit")
	}
}

func TestBatch_PanicInAnItemStaysInIt(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool
	var once sync.Once
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Now = func() time.Time {
			if armed.Load() {
				once.Do(func() { panic("a defect that only the log keeps") })
			}
			return time.Now()
		}
	})
	key := g.Unlimited()
	g.Eth(key, "eth_call").Result()
	g.All(func(x *testkit.Exchange) {
		armed.Store(true) // from here on, inside the items
		testkit.Result("0x1")(x)
	})
	items := g.RPC(key, chain.EthMainnet, apitest.BatchOf(3, "eth_call")).Batch(3)
	broken := 0
	for _, item := range items {
		if item.Error != nil {
			broken++
			if item.Error.Code != -32603 || strings.Contains(item.Error.Message, "defect") {
				t.Errorf("the item says %+v", item.Error)
			}
		}
	}
	if broken != 1 || !strings.Contains(g.Logs.String(), "a defect") {
		t.Errorf("%d items broke", broken)
	}
	if u := g.Usage(key); u["ok"].Units+u["refund"].Units != 3000 { // the first call, and two of the batch
		t.Errorf("usage is %v", u)
	}
}

func TestBatch_ClientThatLeavesPaysForWhatItAsked(t *testing.T) {
	t.Parallel()
	// so much data takes a loaded machine a while
	g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout = apitest.StoppedClockTimeout })
	key := g.DoorKey()
	begun := make(chan struct{})
	under := sync.OnceFunc(func() { close(begun) }) // a slow answer may be hedged at the other upstream
	g.All(func(x *testkit.Exchange) {
		// More than the socket buffers hold: once it is sent, the gateway is reading it.
		_, _ = fmt.Fprintf(x.W, `{"jsonrpc":"2.0","id":%s,"result":"%s`, x.Request.ID, strings.Repeat("0", 24<<20))
		_ = http.NewResponseController(x.W).Flush()
		under()
		<-x.Context.Done()
	})
	leave := g.Abandon(key, chain.EthMainnet, "["+apitest.Call("eth_call", "[]")+"]")
	<-begun
	leave()
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	if u := g.Usage(key); u["ok"] != (apitest.Figures{Requests: 1, Units: 1000}) || len(u) != 1 {
		t.Errorf("usage is %v", u)
	}
}

func TestBatch_LongAnswerThatIsNotJSONSpoilsOnlyItsItem(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.All(testkit.Result("0x1"))
	broken := `{"jsonrpc":"2.0","id":$id,"result":{"a":"` + strings.Repeat("0", 300_000) + `",,, not json}}`
	for _, u := range g.Ups {
		u.On("eth_getCode", testkit.Raw(http.StatusOK, "application/json", broken))
	}
	items := g.Ask(http.MethodPost, "/rpc/eth_mainnet", key, "["+apitest.Call("eth_getCode", "[]")+","+
		apitest.Call("eth_call", "[]")+
		"]").Batch(2)
	require.NotNil(t, items[0].Error)
	expect.Equal(t, items[0].Error.Code, -32022)
	expect.Equal(t, string(items[1].Result), `"0x1"`)
	u := g.Usage(key)
	expect.Equal(t, u["ok"], apitest.Figures{Requests: 2, Units: 2000})
	expect.Equal(t, u["refund"], apitest.Figures{Requests: -1, Units: -1000})
	expect.Equal(t, u["upstream_failed"].Requests, 1)
}

func TestBatch_UnreadAnswersDoNotFillMemory(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Batches, o.Timeout = 32<<20, 10*time.Second })
	key := g.DoorKey()
	g.All(testkit.Result("0xsmall"))
	for _, u := range g.Ups {
		u.On("debug_traceCall", testkit.Large(15<<20))
		u.On("debug_traceTransaction", testkit.Large(8<<20))
	}
	trace := apitest.Call("debug_traceCall", "[]")
	held, body := g.Begin(key, "["+trace+","+trace+"]") // more than the socket buffers hold
	if held.Status != http.StatusOK {
		t.Fatalf("HTTP %d", held.Status)
	}
	ask := func() []apitest.Envelope {
		return g.RPC(key, chain.EthMainnet, "["+apitest.Call("eth_call", "[]")+","+
			apitest.Call("debug_traceTransaction", "[]")+
			"]").Batch(2)
	}
	before, _ := g.Counted(key)
	items := ask()
	e := items[1].Error
	in := expect.In(t, "while the memory is full the large answer")
	require.NotNil(in, e)
	require.Equal(in, e.Code, -32022)
	require.Equal[any](in, e.Data["retry_after"], 1.0)
	require.Equal[any](in, e.Data["index"], 1.0)
	if string(items[0].Result) != `"0xsmall"` {
		t.Errorf("the small one got %+v", items[0].Error)
	}
	if after, _ := g.Counted(key); after-before != 1000 {
		t.Errorf("%d thousandths were charged, want those of the small one", after-before)
	}
	if a := g.Eth(key, "debug_traceTransaction"); a.Status != http.StatusOK || len(a.Body) < 8<<20 {
		t.Errorf("alone it is HTTP %d, %d bytes", a.Status, len(a.Body))
	}
	var whole []apitest.Envelope
	err := json.NewDecoder(body).Decode(&whole)
	in = expect.In(t, "the client that reads at last")
	require.NoError(in, err)
	require.Len(in, whole, 2)
	require.AtLeast(in, len(whole[1].Result), 15<<20, whole[1].Result)
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return ask()[1].Error == nil
	}, "memory is given back when the client has read")
}

func TestBatch_LargeAnswerIsSentInPiecesAndInOrder(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.All(testkit.ResultOf(func(r testkit.Request) any {
		var n []int
		_ = json.Unmarshal(r.Params, &n)
		return strings.Repeat(fmt.Sprint(n[0]%10), 100_000*(n[0]%3))
	}))
	g.Ups[0].On("eth_getBalance", testkit.Error(-32000, "insufficient funds for transfer"))
	body := strings.TrimSuffix(apitest.BatchOf(12, "eth_call"), "]") + "," + apitest.Call("eth_getBalance", "[]") +
		"," +
		apitest.Call("eth_nothing", "[]") + "]"
	a := g.RPC(key, chain.EthMainnet, body)
	items := a.Batch(14)
	for i, item := range items[:12] {
		want := fmt.Sprintf("%q", strings.Repeat(fmt.Sprint(i%10), 100_000*(i%3)))
		if string(item.ID) != fmt.Sprint(i) || string(item.Result) != want {
			t.Errorf("item %d is %s, %d bytes", i, item.ID, len(item.Result))
		}
	}
	in := expect.In(t, "the last two")
	require.NotNil(in, items[12].Error)
	expect.Equal(in, items[12].Error.Code, -32000)
	require.NotNil(in, items[13].Error)
	expect.Equal(in, items[13].Error.Code, -32601)
	calls := g.Calls(a)
	require.Len(t, calls, 14)
	expect.Between(t, calls[11].ResponseBytes, 200_000, 200_100)
}

// refusedBatch checks that every one of n ids, from 0, got the refusal, and returns the first item.
func refusedBatch(a apitest.Answer, n, status, code int) apitest.Envelope {
	a.T.Helper()
	var items []apitest.Envelope
	err := json.Unmarshal([]byte(a.Body), &items)
	require.NoError(a.T, err)
	require.Equal(a.T, a.Status, status)
	require.Len(a.T, items, n)
	for i, item := range items {
		in := expect.In(a.T, "item %d", i)
		require.Equal(in, string(item.ID), fmt.Sprint(i))
		require.NotNil(in, item.Error)
		require.Equal(in, item.Error.Code, code)
		require.Equal[any](in, item.Error.Data["request_id"], a.RequestID().String())
		require.NotEqual(in, item.Error.Data["support"], nil)
	}
	return items[0]
}

func TestRefusedBatch_HasOneErrorForEachID(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.MaxBody = 1 << 20 })
	key, suspended := g.Unlimited(), g.DoorKey()
	g.Suspend(suspended)
	body := apitest.BatchOf(3, "eth_call")
	for _, row := range []struct {
		what         string
		a            apitest.Answer
		n            int
		status, code int
	}{
		{
			"more items than a batch may have", g.RPC(key, chain.EthMainnet,
				apitest.BatchOf(relay.MaxBatch+1, "eth_call")),
			relay.MaxBatch + 1, http.StatusRequestEntityTooLarge, -32600,
		},
		{"a key that nobody has", g.RPC("cag_nothing", chain.EthMainnet, body), 3, http.StatusUnauthorized, -32001},
		{"an unknown chain, not JSON-RPC", g.RPC(suspended, "nowhere", body), 3, http.StatusForbidden, -32009},
		{"an unknown chain", g.RPC(key, "nowhere", body), 3, http.StatusNotFound, -32600},
		{
			"an unknown tier", g.RPC(key, chain.EthMainnet, body, "X-Route-Tier", "best"), 3,
			http.StatusBadRequest, -32602,
		},
	} {
		t.Run(row.what, func(t *testing.T) {
			if first := refusedBatch(row.a, row.n, row.status, row.code); first.Error.Message == "" {
				t.Error("no message")
			}
		})
	}
	if g.Sent("eth_call") != 0 {
		t.Errorf("%d calls were relayed", g.Sent("eth_call"))
	}
}

func TestRefusedBatch_SaysTheRateWindow(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	for range 200 { // a new window may begin between two requests
		for status := http.StatusOK; status == http.StatusOK; { // uses the window up
			status = g.Eth(key, "eth_chainId").Status
		}
		a := g.RPC(key, chain.EthMainnet, apitest.BatchOf(relay.MaxBatch+1, "eth_call"))
		if a.Status == http.StatusRequestEntityTooLarge {
			continue
		}
		first := refusedBatch(a, relay.MaxBatch+1, http.StatusTooManyRequests, -32005)
		in := expect.In(t, "the refusal lacks what a 429")
		expect.NotEqual(in, first.Error.Data["retry_after"], nil)
		expect.NotEqual(in, first.Error.Data["next_door"], nil)
		expect.NotEqual(in, a.Header.Get("Retry-After"), "")
		expect.NotEqual(in, a.Header.Get("RateLimit-Limit"), "")
		return
	}
	t.Fatal("the rate window never refused")
}

func TestRefusedBatch_IsOneErrorWithoutReadableIDs(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	notification := `{"jsonrpc":"2.0","method":"eth_call"}`
	for what, body := range map[string]string{
		"a notification":       "[" + apitest.Call("eth_call", "[]") + "," + notification + "]",
		"no objects":           "[1,2,3]",
		"an endless id":        `[{"id":"` + strings.Repeat("x", 5000) + `"}]`,
		"an empty batch":       "[]",
		"no end":               "[" + apitest.Call("eth_call", "[]"),
		"more than are echoed": "[" + strings.Repeat(`{"id":1},`, 250) + `{"id":1}]`,
		"more than is read":    `[{"id":1,"params":["` + strings.Repeat("x", 64<<10) + `"]}]`,
	} {
		t.Run(what, func(t *testing.T) {
			a := g.RPC("cag_nothing", chain.EthMainnet, body)
			a.Refused(http.StatusUnauthorized, -32001)
			if string(a.Envelope().ID) != "null" {
				t.Errorf("the id is %s", a.Envelope().ID)
			}
		})
	}
	a := g.RPC("cag_nothing", chain.EthMainnet, apitest.Call("eth_call", "[]"))
	a.Refused(http.StatusUnauthorized, -32001)
	if string(a.Envelope().ID) != "7" {
		t.Errorf("the id of a single request is %s", a.Envelope().ID)
	}
}

func TestRefusedBatch_IsCompressed(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	a := g.RPC("cag_nothing", chain.EthMainnet, apitest.BatchOf(250, "eth_call"), "Accept-Encoding", "gzip")
	if a.Header.Get("Content-Encoding") != "gzip" || len(a.Body) > 64<<10 {
		t.Fatalf("%d bytes came as %q", len(a.Body), a.Header.Get("Content-Encoding"))
	}
	a.Body = unzip(a)
	refusedBatch(a, 250, http.StatusUnauthorized, -32001)
}

// A thousand items, some of them wrong: each has its own answer, and at most 62 run at once.
func TestBatch_OfAThousandItems(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.All(testkit.ResultOf(func(r testkit.Request) any { return r.Params }))
	wrong := strings.Replace(apitest.BatchOf(relay.MaxBatch, "eth_call"), `"id":500,"method":"eth_call"`,
		`"id":500,"method":"eth_nothing"`, 1)
	items := g.RPC(g.Unlimited(), chain.EthMainnet, wrong).Batch(relay.MaxBatch)
	for i, item := range items {
		switch {
		case i == 500:
			if item.Error == nil || item.Error.Code != -32601 {
				t.Errorf("item 500 is %+v", item)
			}
		case string(item.ID) != fmt.Sprint(i) || string(item.Result) != fmt.Sprintf("[%d]", i):
			t.Fatalf("item %d is %s: %s %+v", i, item.ID, item.Result, item.Error)
		}
	}
	if g.Sent("eth_call") != relay.MaxBatch-1 {
		t.Errorf("%d calls were relayed", g.Sent("eth_call"))
	}
}

func TestBatch_IsRefusedWhenItsItemsFindNoMemory(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Batches = 64 << 10 })
	key := g.Unlimited()
	for range 2 { // what a batch took is free again
		g.RPC(key, chain.EthMainnet, apitest.BatchOf(160, "eth_call")).Batch(160)
	}
	first := refusedBatch(g.RPC(key, chain.EthMainnet, apitest.BatchOf(165, "eth_call")), 165, http.StatusBadGateway,
		-32022)
	if first.Error.Data["retry_after"] == nil || !strings.Contains(first.Error.Message, "at most 100 requests") {
		t.Errorf("the refusal does not say what to do: %+v", first.Error)
	}
}
