package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/chain"
)

// batch checks that the answer is a batch of n and returns its items.
func (a answer) batch(n int) []envelope {
	a.t.Helper()
	var items []envelope
	if err := json.Unmarshal([]byte(a.body), &items); err != nil || a.status != http.StatusOK || len(items) != n {
		a.t.Fatalf("got HTTP %d %.300s (%v), want a batch of %d", a.status, a.body, err, n)
	}
	return items
}

// batchOf returns a batch of n calls with the ids 0 to n-1.
func batchOf(n int, method string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":[%d]}`, i, method, i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func TestBatch_IsAnsweredInTheOrderOfItsRequests(t *testing.T) {
	t.Parallel()
	g := setup(t)
	echo := testkit.ResultOf(func(r testkit.Request) any { return r.Params })
	g.all(func(x *testkit.Exchange) {
		var n []int
		_ = json.Unmarshal(x.Request.Params, &n)
		if len(n) == 1 && n[0]%10 == 0 { // some take longer
			timer := time.NewTimer(20 * time.Millisecond)
			<-timer.C
		}
		echo(x)
	})
	items := g.rpc(g.unlimited(), chain.EthMainnet, batchOf(100, "eth_call")).batch(100)
	for i, item := range items {
		if string(item.ID) != fmt.Sprint(i) || string(item.Result) != fmt.Sprintf("[%d]", i) {
			t.Fatalf("item %d is %s: %s", i, item.ID, item.Result)
		}
	}
}

func TestBatch_RunsItemsConcurrentlyWithinABound(t *testing.T) {
	t.Parallel()
	g := setup(t)
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
	g.all(func(x *testkit.Exchange) {
		count(1)
		defer count(-1)
		gather()
		<-gathered
		testkit.Result("0x1")(x)
	})
	g.rpc(g.unlimited(), chain.EthMainnet, batchOf(60, "eth_call")).batch(60)
	if limit < 2 || limit > 16 {
		t.Errorf("%d items ran at once, want some but at most 16", limit)
	}
}

func TestBatch_RefusesEachItemOnItsOwn(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.ups[0].On("eth_getBalance", testkit.Error(-32000, "insufficient funds for transfer"))
	key := g.unlimited()
	a := g.rpc(key, chain.EthMainnet, `[
		{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]},
		{"jsonrpc":"2.0","id":"two","method":"eth_nothing"},
		{"jsonrpc":"1.0","id":3,"method":"eth_call"},
		42, "text", null, [],
		{"jsonrpc":"2.0","method":"eth_chainId"},
		{"jsonrpc":"2.0","id":null,"method":"eth_getLogs","params":[{"fromBlock":"0x0","toBlock":"0x3e8"}]},
		{"jsonrpc":"2.0","id":10,"method":"eth_getBalance","params":[]}
	]`)
	items := a.batch(10)
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
		item := items[i]
		code := 0
		if item.Error != nil {
			code = item.Error.Code
		}
		if string(item.ID) != want.id || code != want.code {
			t.Errorf("item %d is %s with %d, want %s with %d", i, item.ID, code, want.id, want.code)
		}
		if code != 0 && code != -32000 &&
			(item.Error.Data["index"] != float64(i) || item.Error.Data["request_id"] != a.requestID().String()) {
			t.Errorf("item %d carries %v", i, item.Error.Data)
		}
	}
	if a.hit() || a.header.Get("Server-Timing") == "" {
		t.Error("the batch was no hit, and takes its time")
	}
	calls := g.calls(a)
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
	g := setup(t)
	key := g.unlimited()
	g.rpc(key, chain.EthMainnet, "[]").refused(http.StatusBadRequest, -32600)
	g.rpc(key, chain.EthMainnet, " [ \n ] ").refused(http.StatusBadRequest, -32600)
	g.rpc(key, chain.EthMainnet, batchOf(relay.MaxBatch+1, "eth_call")).refusedBatch(relay.MaxBatch+1,
		http.StatusRequestEntityTooLarge, -32600)
	g.rpc(key, chain.EthMainnet, `[{"jsonrpc":"2.0","id":1,"method":"eth_call"}`).refused(http.StatusBadRequest, -32700)
	g.rpc(key, chain.EthMainnet, batchOf(100, "eth_call")).batch(100)
	if g.sent("eth_call") != 100 {
		t.Errorf("%d calls were relayed", g.sent("eth_call"))
	}
}

func TestBatch_ItemsBeyondTheRateAreRefusedInBand(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	items := g.rpc(key, chain.EthMainnet, batchOf(150, "eth_call")).batch(150)
	admitted := 0
	for i, item := range items {
		if item.Error == nil {
			admitted++
			continue
		}
		if item.Error.Code != -32005 || item.Error.Data["index"] != float64(i) ||
			item.Error.Data["retry_after"] == nil ||
			item.Error.Data["next_door"] == nil {
			t.Fatalf("item %d is refused with %+v", i, item.Error)
		}
	}
	if admitted < 1 || admitted > 110 || g.sent("eth_call") != admitted { // a new window may begin while the batch runs
		t.Errorf("%d of 150 were admitted, %d sent", admitted, g.sent("eth_call"))
	}
	if day, _ := g.counted(key); int64(day) != int64(1000*admitted) {
		t.Errorf("the day holds %d for %d calls", day, admitted)
	}
}

func TestBatch_IsACacheHitOnlyWhenEveryItemIs(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	hits := g.rpc(key, chain.EthMainnet, "["+call("eth_chainId", "[]")+","+call("net_version", "[]")+"]")
	hits.batch(2)
	if !hits.hit() || !strings.HasPrefix(hits.header.Get("Server-Timing"), "cache;desc=hit") {
		t.Error("all items hit, the batch did not")
	}
	mixed := g.rpc(key, chain.EthMainnet, "["+call("eth_chainId", "[]")+","+call("eth_call", "[]")+"]")
	mixed.batch(2)
	if mixed.hit() {
		t.Error("one item missed, the batch hit")
	}
}

func TestBatch_PanicInAnItemStaysInIt(t *testing.T) {
	t.Parallel()
	var armed atomic.Bool
	var once sync.Once
	g := setup(t, func(o *options) {
		o.now = func() time.Time {
			if armed.Load() {
				once.Do(func() { panic("a defect that only the log keeps") })
			}
			return time.Now()
		}
	})
	key := g.unlimited()
	g.eth(key, "eth_call").result()
	g.all(func(x *testkit.Exchange) {
		armed.Store(true) // from here on, inside the items
		testkit.Result("0x1")(x)
	})
	items := g.rpc(key, chain.EthMainnet, batchOf(3, "eth_call")).batch(3)
	broken := 0
	for _, item := range items {
		if item.Error != nil {
			broken++
			if item.Error.Code != -32603 || strings.Contains(item.Error.Message, "defect") {
				t.Errorf("the item says %+v", item.Error)
			}
		}
	}
	if broken != 1 || !strings.Contains(g.logs.String(), "a defect") {
		t.Errorf("%d items broke", broken)
	}
	if u := g.usage(key); u["ok"].units+u["refund"].units != 3000 { // the first call, and two of the batch
		t.Errorf("usage is %v", u)
	}
}

func TestBatch_ClientThatLeavesPaysForWhatItAsked(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.timeout = standing }) // so much data takes a loaded machine a while
	key := g.doorKey()
	begun := make(chan struct{})
	under := sync.OnceFunc(func() { close(begun) }) // a slow answer may be hedged at the other upstream
	g.all(func(x *testkit.Exchange) {
		// More than the socket buffers hold: once it is sent, the gateway is reading it.
		_, _ = fmt.Fprintf(x.W, `{"jsonrpc":"2.0","id":%s,"result":"%s`, x.Request.ID, strings.Repeat("0", 24<<20))
		_ = http.NewResponseController(x.W).Flush()
		under()
		<-x.Context.Done()
	})
	leave := g.abandon(key, chain.EthMainnet, "["+call("eth_call", "[]")+"]")
	<-begun
	leave()
	testkit.Eventually(t, testTimeout, func() bool { return g.recorder.Written() == 1 }, "the call is recorded")
	if u := g.usage(key); u["ok"] != (figures{1, 1000}) || len(u) != 1 {
		t.Errorf("usage is %v", u)
	}
}

func TestBatch_LongAnswerThatIsNotJSONSpoilsOnlyItsItem(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	g.all(testkit.Result("0x1"))
	broken := `{"jsonrpc":"2.0","id":$id,"result":{"a":"` + strings.Repeat("0", 300_000) + `",,, not json}}`
	for _, u := range g.ups {
		u.On("eth_getCode", testkit.Raw(http.StatusOK, "application/json", broken))
	}
	items := g.ask(http.MethodPost, "/rpc/eth_mainnet", key, "["+call("eth_getCode", "[]")+","+call("eth_call", "[]")+
		"]").batch(2)
	if items[0].Error == nil || items[0].Error.Code != -32022 || string(items[1].Result) != `"0x1"` {
		t.Errorf("got %+v and %+v", items[0].Error, items[1])
	}
	if u := g.usage(key); u["ok"] != (figures{2, 2000}) || u["refund"] != (figures{-1, -1000}) ||
		u["upstream_failed"].requests != 1 {
		t.Errorf("usage is %v", u)
	}
}

func TestBatch_UnreadAnswersDoNotFillMemory(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	g := setup(t, func(o *options) { o.batches, o.timeout = 32<<20, 10*time.Second })
	key := g.doorKey()
	g.all(testkit.Result("0xsmall"))
	for _, u := range g.ups {
		u.On("debug_traceCall", testkit.Large(15<<20))
		u.On("debug_traceTransaction", testkit.Large(8<<20))
	}
	trace := call("debug_traceCall", "[]")
	held, body := g.begin(key, "["+trace+","+trace+"]") // more than the socket buffers hold
	if held.status != http.StatusOK {
		t.Fatalf("HTTP %d", held.status)
	}
	ask := func() []envelope {
		return g.rpc(key, chain.EthMainnet, "["+call("eth_call", "[]")+","+call("debug_traceTransaction", "[]")+
			"]").batch(2)
	}
	before, _ := g.counted(key)
	items := ask()
	if e := items[1].Error; e == nil || e.Code != -32022 || e.Data["retry_after"] != 1.0 || e.Data["index"] != 1.0 {
		t.Fatalf("while the memory is full the large answer is %+v", e)
	}
	if string(items[0].Result) != `"0xsmall"` {
		t.Errorf("the small one got %+v", items[0].Error)
	}
	if after, _ := g.counted(key); after-before != 1000 {
		t.Errorf("%d thousandths were charged, want those of the small one", after-before)
	}
	if a := g.eth(key, "debug_traceTransaction"); a.status != http.StatusOK || len(a.body) < 8<<20 {
		t.Errorf("alone it is HTTP %d, %d bytes", a.status, len(a.body))
	}
	var whole []envelope
	if err := json.NewDecoder(body).Decode(&whole); err != nil || len(whole) != 2 || len(whole[1].Result) < 15<<20 {
		t.Fatalf("the client that reads at last got %d items, %v", len(whole), err)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		return ask()[1].Error == nil
	}, "memory is given back when the client has read")
}

func TestBatch_LargeAnswerIsSentInPiecesAndInOrder(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	g.all(testkit.ResultOf(func(r testkit.Request) any {
		var n []int
		_ = json.Unmarshal(r.Params, &n)
		return strings.Repeat(fmt.Sprint(n[0]%10), 100_000*(n[0]%3))
	}))
	g.ups[0].On("eth_getBalance", testkit.Error(-32000, "insufficient funds for transfer"))
	body := strings.TrimSuffix(batchOf(12, "eth_call"), "]") + "," + call("eth_getBalance", "[]") + "," +
		call("eth_nothing", "[]") + "]"
	a := g.rpc(key, chain.EthMainnet, body)
	items := a.batch(14)
	for i, item := range items[:12] {
		want := fmt.Sprintf("%q", strings.Repeat(fmt.Sprint(i%10), 100_000*(i%3)))
		if string(item.ID) != fmt.Sprint(i) || string(item.Result) != want {
			t.Errorf("item %d is %s, %d bytes", i, item.ID, len(item.Result))
		}
	}
	if items[12].Error == nil || items[12].Error.Code != -32000 || items[13].Error == nil ||
		items[13].Error.Code != -32601 {
		t.Errorf("the last two are %+v and %+v", items[12].Error, items[13].Error)
	}
	calls := g.calls(a)
	if len(calls) != 14 || calls[11].ResponseBytes < 200_000 || calls[11].ResponseBytes > 200_100 {
		t.Errorf("recorded %d calls", len(calls))
	}
}

// refusedBatch checks that every one of n ids, from 0, got the refusal, and returns the first item.
func (a answer) refusedBatch(n, status, code int) envelope {
	a.t.Helper()
	var items []envelope
	if err := json.Unmarshal([]byte(a.body), &items); err != nil || a.status != status || len(items) != n {
		a.t.Fatalf("got HTTP %d with %d items: %.300s (%v), want HTTP %d with %d", a.status, len(items), a.body, err,
			status, n)
	}
	for i, item := range items {
		if string(item.ID) != fmt.Sprint(i) || item.Error == nil || item.Error.Code != code ||
			item.Error.Data["request_id"] != a.requestID().String() || item.Error.Data["support"] == nil {
			a.t.Fatalf("item %d is %s: %+v, want %d", i, item.ID, item.Error, code)
		}
	}
	return items[0]
}

func TestRefusedBatch_HasOneErrorForEachID(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.maxBody = 1 << 20 })
	key, suspended := g.unlimited(), g.doorKey()
	g.suspend(suspended)
	body := batchOf(3, "eth_call")
	for _, row := range []struct {
		what         string
		a            answer
		n            int
		status, code int
	}{
		{
			"more items than a batch may have", g.rpc(key, chain.EthMainnet, batchOf(relay.MaxBatch+1, "eth_call")),
			relay.MaxBatch + 1, http.StatusRequestEntityTooLarge, -32600,
		},
		{"a key that nobody has", g.rpc("cag_nothing", chain.EthMainnet, body), 3, http.StatusUnauthorized, -32001},
		{"an unknown chain, not JSON-RPC", g.rpc(suspended, "nowhere", body), 3, http.StatusForbidden, -32009},
		{"an unknown chain", g.rpc(key, "nowhere", body), 3, http.StatusNotFound, -32600},
		{
			"an unknown tier", g.rpc(key, chain.EthMainnet, body, "X-Route-Tier", "best"), 3, http.StatusBadRequest,
			-32602,
		},
	} {
		if first := row.a.refusedBatch(row.n, row.status, row.code); first.Error.Message == "" {
			t.Errorf("%s: no message", row.what)
		}
	}
	if g.sent("eth_call") != 0 {
		t.Errorf("%d calls were relayed", g.sent("eth_call"))
	}
}

func TestRefusedBatch_SaysTheRateWindow(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	for range 200 { // a new window may begin between two requests
		for status := http.StatusOK; status == http.StatusOK; { // uses the window up
			status = g.eth(key, "eth_chainId").status
		}
		a := g.rpc(key, chain.EthMainnet, batchOf(relay.MaxBatch+1, "eth_call"))
		if a.status == http.StatusRequestEntityTooLarge {
			continue
		}
		first := a.refusedBatch(relay.MaxBatch+1, http.StatusTooManyRequests, -32005)
		if first.Error.Data["retry_after"] == nil || first.Error.Data["next_door"] == nil ||
			a.header.Get("Retry-After") == "" || a.header.Get("RateLimit-Limit") == "" {
			t.Errorf("the refusal lacks what a 429 says: %v %v", first.Error.Data, a.header)
		}
		return
	}
	t.Fatal("the rate window never refused")
}

func TestRefusedBatch_IsOneErrorWithoutReadableIDs(t *testing.T) {
	t.Parallel()
	g := setup(t)
	notification := `{"jsonrpc":"2.0","method":"eth_call"}`
	for what, body := range map[string]string{
		"a notification":       "[" + call("eth_call", "[]") + "," + notification + "]",
		"no objects":           "[1,2,3]",
		"an endless id":        `[{"id":"` + strings.Repeat("x", 5000) + `"}]`,
		"an empty batch":       "[]",
		"no end":               "[" + call("eth_call", "[]"),
		"more than are echoed": "[" + strings.Repeat(`{"id":1},`, 250) + `{"id":1}]`,
		"more than is read":    `[{"id":1,"params":["` + strings.Repeat("x", 64<<10) + `"]}]`,
	} {
		a := g.rpc("cag_nothing", chain.EthMainnet, body)
		a.refused(http.StatusUnauthorized, -32001)
		if string(a.envelope().ID) != "null" {
			t.Errorf("%s: the id is %s", what, a.envelope().ID)
		}
	}
	a := g.rpc("cag_nothing", chain.EthMainnet, call("eth_call", "[]"))
	a.refused(http.StatusUnauthorized, -32001)
	if string(a.envelope().ID) != "7" {
		t.Errorf("the id of a single request is %s", a.envelope().ID)
	}
}

func TestRefusedBatch_IsCompressed(t *testing.T) {
	t.Parallel()
	g := setup(t)
	a := g.rpc("cag_nothing", chain.EthMainnet, batchOf(250, "eth_call"), "Accept-Encoding", "gzip")
	if a.header.Get("Content-Encoding") != "gzip" || len(a.body) > 64<<10 {
		t.Fatalf("%d bytes came as %q", len(a.body), a.header.Get("Content-Encoding"))
	}
	a.body = a.unzip()
	a.refusedBatch(250, http.StatusUnauthorized, -32001)
}

// A thousand items, some of them wrong: each has its own answer, and at most 62 run at once.
func TestBatch_OfAThousandItems(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.all(testkit.ResultOf(func(r testkit.Request) any { return r.Params }))
	wrong := strings.Replace(batchOf(relay.MaxBatch, "eth_call"), `"id":500,"method":"eth_call"`,
		`"id":500,"method":"eth_nothing"`, 1)
	items := g.rpc(g.unlimited(), chain.EthMainnet, wrong).batch(relay.MaxBatch)
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
	if g.sent("eth_call") != relay.MaxBatch-1 {
		t.Errorf("%d calls were relayed", g.sent("eth_call"))
	}
}

func TestBatch_IsRefusedWhenItsItemsFindNoMemory(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.batches = 64 << 10 })
	key := g.unlimited()
	for range 2 { // what a batch took is free again
		g.rpc(key, chain.EthMainnet, batchOf(160, "eth_call")).batch(160)
	}
	first := g.rpc(key, chain.EthMainnet, batchOf(165, "eth_call")).refusedBatch(165, http.StatusBadGateway, -32022)
	if first.Error.Data["retry_after"] == nil || !strings.Contains(first.Error.Message, "at most 100 requests") {
		t.Errorf("the refusal does not say what to do: %+v", first.Error)
	}
}
