package rpc_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

const (
	syncMethod    = "eth_sendRawTransactionSync"
	postMethod    = "eth_sendRawTransaction"
	receiptMethod = "eth_getTransactionReceipt"
)

func TestSubmissionSync_IsAnsweredWithTheReceipt(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	s := apitest.Submissions()[0]
	receipt := fmt.Sprintf(`{"transactionHash":"%s","status":"0x1"}`, s.Wanted)
	g.AllOn(postMethod, testkit.Result(s.Wanted))
	g.AllOn(receiptMethod, func(x *testkit.Exchange) {
		if !strings.Contains(string(x.Request.Params), s.Wanted) {
			t.Errorf("asked for the receipt of %s", x.Request.Params)
		}
		if g.Sent(receiptMethod) < 3 { // not included yet
			testkit.Result(nil)(x)
			return
		}
		testkit.Raw(http.StatusOK, "application/json", `{"id":$id,"result":`+receipt+`}`)(x)
	})
	if got := g.RPC(key, s.Chain, apitest.Call(syncMethod, s.Params)).Result(); got != receipt {
		t.Errorf("answered with %s, want the receipt", got)
	}
	if n := g.Sent(postMethod); n != 1 {
		t.Errorf("posted %d times, want once", n)
	}
	if n := g.Sent(syncMethod); n != 0 {
		t.Errorf("%d upstreams got %s, which few support", n, syncMethod)
	}
	if day, _ := g.Counted(key); day != 1000 {
		t.Errorf("charged %d thousandths, want 1000", day)
	}
}

func TestSubmissionSync_WithoutAReceiptSaysSoInTime(t *testing.T) {
	t.Parallel()
	s := apitest.Submissions()[0]
	raw := strings.Trim(s.Params, "[]")
	for name, row := range map[string]struct {
		params  string
		timeout time.Duration // of calls
	}{
		"a quantity":          {"[" + raw + `,"0x64"]`, apitest.Timeout},
		"a number":            {"[" + raw + ",100]", apitest.Timeout},
		"hardly any":          {"[" + raw + `,"0x1"]`, apitest.Timeout},
		"the call's time-out": {s.Params, time.Second},
		"no time":             {"[" + raw + `,"soon"]`, time.Second}, // the default, and then the call's time-out
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout = row.timeout })
			key := g.DoorKey()
			g.AllOn(postMethod, testkit.Result(s.Wanted))
			g.AllOn(receiptMethod, testkit.Result(nil))
			a := g.RPC(key, s.Chain, apitest.Call(syncMethod, row.params))
			if a.Status != http.StatusOK {
				t.Fatalf("HTTP %d %s", a.Status, a.Body)
			}
			if !strings.Contains(a.Body, `"error":{"code":4,`) {
				t.Errorf("answered with %s, want the error 4", a.Body)
			}
			if !strings.Contains(a.Body, `"data":"`+s.Wanted+`"`) {
				t.Errorf("the error lacks the transaction's hash: %s", a.Body)
			}
			if n := g.Sent(postMethod); n != 1 {
				t.Errorf("posted %d times, want once", n)
			}
			if day, _ := g.Counted(key); day != 1000 {
				t.Errorf("charged %d thousandths, want 1000", day)
			}
			on, _ := g.Pool.Chain(s.Chain)
			for _, f := range on.Figures() { // waiting blames nobody
				if f.Failed != 0 {
					t.Errorf("%s failed %d times", f.Upstream, f.Failed)
				}
			}
			for _, slot := range on.Slots() {
				if slot.Lost != 0 {
					t.Errorf("%d calls were lost", slot.Lost)
				}
			}
		})
	}
}

func TestSubmissionSync_RefusedByTheNodeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	s := apitest.Submissions()[0]
	g.AllOn(postMethod, testkit.Error(-32000, "nonce too low"))
	a := g.RPC(g.DoorKey(), s.Chain, apitest.Call(syncMethod, s.Params))
	want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"nonce too low"}}`
	if diff := cmp.Diff(want, a.Body); diff != "" {
		t.Errorf("the node's answer changed (-want +got):\n%s", diff)
	}
	if n := g.Sent(receiptMethod); n != 0 {
		t.Errorf("%d looks for a receipt", n)
	}
}

func TestSubmissionSync_OutcomeUnknownNamesTheTransaction(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	s := apitest.Submissions()[0]
	g.AllOn(postMethod, testkit.Reset())
	data := g.RPC(key, s.Chain, apitest.Call(syncMethod, s.Params)).Refused(http.StatusConflict, -32017)
	if data[s.Field] != s.Wanted {
		t.Errorf("data is %v, want %s %s", data, s.Field, s.Wanted)
	}
	if n := g.Sent(postMethod); n != 1 {
		t.Errorf("posted %d times, want once", n)
	}
	if day, _ := g.Counted(key); day != 0 {
		t.Errorf("charged %d thousandths, want none", day)
	}
}

func TestTxPool_IsServedByTheUpstreamThatHasIt(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.Ups[0].On("txpool_status", testkit.Error(-32601, "the method txpool_status does not exist/is not available"))
	g.Ups[1].On("txpool_status", testkit.Result(map[string]string{"pending": "0x2", "queued": "0x0"}))
	for range 4 {
		if got := g.Eth(key, "txpool_status").Result(); got != `{"pending":"0x2","queued":"0x0"}` {
			t.Errorf("answered with %s", got)
		}
	}
	g.Ups[1].On("txpool_status", testkit.Error(-32601, "the method txpool_status does not exist/is not available"))
	g.RPC(key, chain.EthMainnet, apitest.Call("txpool_status", "[]")).Refused(http.StatusNotFound, -32601)
}

func TestSubmissionSync_ItemsOfABatchWaitTogether(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout = 2 * time.Second })
	s := apitest.Submissions()[0]
	g.AllOn(postMethod, testkit.Result(s.Wanted))
	g.AllOn(receiptMethod, testkit.Result(nil))
	const items = 40 // 16 at once
	one := apitest.Call(syncMethod, s.Params)
	a := g.RPC(g.Unlimited(), s.Chain, "["+strings.TrimSuffix(strings.Repeat(one+",", items), ",")+"]")
	waited := 0
	for _, m := range regexp.MustCompile(`within ([0-9.]+m?s)`).FindAllStringSubmatch(a.Body, -1) {
		d, err := time.ParseDuration(m[1])
		g.Must(err)
		if d >= time.Second {
			waited++
		}
	}
	if waited > 16 { // those after them began when the request's time was nearly over
		t.Errorf("%d items waited, want 16 at most", waited)
	}
	if n := strings.Count(a.Body, `"error":{"code":4,`); n != items {
		t.Errorf("%d items are answered with the error 4, want %d: %.300s", n, items, a.Body)
	}
	if n := g.Sent(postMethod); n != items {
		t.Errorf("%d transactions were posted, want %d", n, items)
	}
}

func TestSubmissionSync_OnlyItsOwnReceiptIsBelieved(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	s := apitest.Submissions()[0]
	g.AllOn(postMethod, testkit.Result(s.Wanted))
	g.AllOn(receiptMethod, testkit.Result(map[string]string{"transactionHash": "0x01", "status": "0x1"}))
	a := g.RPC(g.DoorKey(), s.Chain, apitest.Call(syncMethod, "["+strings.Trim(s.Params, "[]")+`,"0x96"]`))
	if !strings.Contains(a.Body, `"error":{"code":4,`) {
		t.Errorf("answered with %s, want the error 4", a.Body)
	}
}
