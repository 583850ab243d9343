package rpc_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestRead_SucceedsWhileOneOfTwoUpstreamsFails(t *testing.T) {
	t.Parallel()
	for name := range unknownOutcome(apitest.Setup(t)) {
		if name == "endless" {
			continue // an answer, to a read
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout = 10 * time.Second })
			g.Ups[0].Default(unknownOutcome(g)[name])
			g.Ups[1].Default(testkit.Result("0xgood"))
			if got := g.Eth(g.DoorKey(), "eth_call").Result(); got != `"0xgood"` {
				t.Errorf("got %s", got)
			}
			if g.Ups[0].Total() != 1 || g.Ups[1].Total() != 1 {
				t.Errorf("%d and %d requests were sent", g.Ups[0].Total(), g.Ups[1].Total())
			}
		})
	}
}

func TestRead_SucceedsWhileOneOfTwoUpstreamsIsDown(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.Ups[0].Close()
	g.Ups[1].Default(testkit.Result("0xgood"))
	g.Ups[1].On("eth_getLogs", testkit.Result([]string{}))
	for method, want := range map[string]string{
		"eth_call": `"0xgood"`, "eth_getBalance": `"0xgood"`, "eth_getLogs": `[]`,
	} {
		t.Run(method, func(t *testing.T) {
			if got := g.Eth(key, method).Result(); got != want {
				t.Errorf("%s returns %s, want %s", method, got, want)
			}
		})
	}
}

func TestRead_IsRefundedWhenEveryUpstreamFails(t *testing.T) {
	t.Parallel()
	usual, hasty := apitest.Setup(t), apitest.Setup(t, func(o *apitest.Options) { o.Timeout = time.Second })
	for name, row := range map[string]struct {
		reply        testkit.Reply
		status, code int
		outcome      string
		says         string
	}{
		"broken": {
			testkit.HTML(502), http.StatusBadGateway, -32022, "upstream_failed",
			"No upstream gave a usable answer. Nothing was charged",
		},
		"hanging": {
			testkit.Hang(nil), http.StatusGatewayTimeout, -32023, "upstream_timeout",
			"No upstream answered in time. Nothing was charged",
		},
		"absent": {
			testkit.Error(-32601, "method not found"), http.StatusNotFound, -32601, "method_not_served",
			"Nothing was charged",
		},
		"range": {
			testkit.Error(-32000, "query returned more than 10000 results"), http.StatusBadRequest, -32602,
			"range_too_large", "Nothing was charged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := usual
			if row.outcome == "upstream_timeout" {
				g = hasty
			}
			key := g.DoorKey()
			g.All(row.reply)
			a := g.RPC(key, chain.EthMainnet, apitest.Call("eth_getLogs", `[{"fromBlock":"latest"}]`))
			data := a.Refused(row.status, row.code)
			if !strings.Contains(a.Envelope().Error.Message, row.says) {
				t.Errorf("the message is %s", a.Envelope().Error.Message)
			}
			if row.code == -32601 || row.code == -32602 {
				if data["contact"] != apitest.Links.Contact || data["docs"] != apitest.Links.Docs {
					t.Errorf("data is %v", data)
				}
			}
			if day, period := g.Counted(key); day != 0 || period != 0 {
				t.Errorf("the counters hold %d and %d", day, period)
			}
			u := g.Usage(key)
			in := expect.In(t, "%s", name)
			expect.Equal(in, u["ok"], apitest.Figures{Requests: 1, Units: 1000})
			expect.Equal(in, u["refund"], apitest.Figures{Requests: -1, Units: -1000})
			expect.Equal(in, u[row.outcome], apitest.Figures{Requests: 1, Units: 0})
		})
	}
}

func TestRead_AnswersInBandCostWhatTheCallCosts(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.All(testkit.ErrorWithData(3, "execution reverted", "0x08c379a0"))
	a := g.Eth(key, "eth_call")
	if a.Status != http.StatusOK ||
		a.Body != `{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"execution reverted","data":"0x08c379a0"}}` {
		t.Errorf("got HTTP %d %s", a.Status, a.Body)
	}
	if day, _ := g.Counted(key); day != 1000 {
		t.Errorf("the day holds %d, want one unit", day)
	}
}

func TestRead_ClientThatGoesAwayPaysForWhatItAsked(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.All(testkit.Hang(nil))
	leave := g.Abandon(key, chain.EthMainnet, apitest.Call("eth_call", "[]"))
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Sent("eth_call") == 1 }, "the call arrives")
	leave()
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	if day, _ := g.Counted(key); day != 1000 {
		t.Errorf("the day holds %d, want one unit", day)
	}
	if u := g.Usage(key); u["ok"] != (apitest.Figures{Requests: 1, Units: 1000}) || len(u) != 1 {
		t.Errorf("usage is %v", u)
	}
	if g.Sent("eth_call") != 1 {
		t.Error("the call went on to another upstream")
	}
}

func TestRead_NeverUsesAWrongChainEvenWhenItIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Upstreams, o.Apply, o.Chains = 1, false, []chain.ID{chain.EthMainnet}
	})
	key := g.Unlimited()
	g.Ups[0].On("eth_chainId", testkit.Result("0x1"))
	g.Ups[0].On("eth_blockNumber", testkit.Result("0xf4240"))
	probe := func() {
		s, err := g.Pool.Probe(t.Context(), chain.EthMainnet)
		g.Must(err)
		on, _ := g.Pool.Chain(chain.EthMainnet)
		on.Apply(s)
	}
	if data := g.Eth(key, "eth_call").Refused(http.StatusServiceUnavailable, -32020); data["retry_after"] == nil {
		t.Error("a 503 without retry_after")
	}
	probe()
	g.Eth(key, "eth_call").Result()
	other := apitest.Setup(t, func(o *apitest.Options) {
		o.Upstreams, o.Apply, o.Chains = 1, false, []chain.ID{chain.EthMainnet}
	})
	other.Ups[0].On("eth_chainId", testkit.Result("0x89"))
	other.Ups[0].On("eth_blockNumber", testkit.Result("0xf4240"))
	s, err := other.Pool.Probe(t.Context(), chain.EthMainnet)
	other.Must(err)
	on, _ := other.Pool.Chain(chain.EthMainnet)
	on.Apply(s)
	key = other.DoorKey()
	for _, method := range []string{"eth_call", "eth_sendRawTransaction", "eth_blockNumber"} {
		a := other.Eth(key, method)
		a.Refused(http.StatusServiceUnavailable, -32020)
		in := expect.In(t, "%s", method)
		expect.NotEqual(in, a.Header.Get("Retry-After"), "")
		expect.AtMost(in, other.Sent(method), 1)
		if method != "eth_blockNumber" {
			expect.Equal(in, other.Sent(method), 0)
		}
	}
	if day, _ := other.Counted(key); day != 0 {
		t.Errorf("the day holds %d, want nothing charged", day)
	}
}

func TestRead_PublicCallersNeverReachPremiumUpstreams(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Supply = plan.Premium })
	for _, planKey := range []string{plan.Free, plan.Builder, plan.WalletBound} {
		g.Eth(g.AccountKey(planKey), "eth_call").Refused(http.StatusServiceUnavailable, -32020)
	}
	g.Eth(g.DoorKey(), "eth_call", "X-Route-Tier", "fast").Refused(http.StatusServiceUnavailable, -32020)
	if g.Sent("eth_call") != 0 {
		t.Error("a public caller reached a premium upstream")
	}
	g.Eth(g.AccountKey(plan.Pro), "eth_call").Result()
}

func TestRead_ResultsPassByteForByte(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, result := range []string{
		`{ "b" : 1.00, "a":[ 1e2 , "\u0041\/" ], "a":null}`, `12345678901234567890123`, `"é\n"`, `true`, `null`, `[]`,
		"[\n\t1\r\n]", `-0`, `1E+400`, `0.1000`, `"\ud83d\ude00 \ud83d \u0000"`, `{"":{"":[{}]}}`, `{"\u0061":1,"a":2}`,
		"\"\u2028\x7f\xff\xc3\"", `[ ]`, `{ }`,
	} {
		g.All(testkit.Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":$id,"result":`+result+`}`))
		if a := g.Eth(key, "eth_call"); a.Body != `{"jsonrpc":"2.0","id":7,"result":`+result+`}` {
			t.Errorf("%s came as %s", result, a.Body)
		}
	}
}

func TestRead_ErrorsInBandPassByteForByteExceptCredentials(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, row := range []struct {
		on            chain.ID
		method, error string
	}{
		{
			chain.EthMainnet, "eth_call",
			`{ "code" : 3, "message":"execution reverted: \u0041", "data":"0x08c379a0", "extra":[1.00, null] }`,
		},
		{
			chain.EthMainnet, "eth_call",
			`{"data":{"b":1e2,"a":{}},"message":"missing value for required argument 0","code":-32602}`,
		},
		{
			chain.SolanaMainnet, "simulateTransaction",
			`{"code":-32002,"message":"Transaction simulation failed","data":{"accounts":null,` +
				`"err":{"InstructionError":[0,{"Custom":6001}]},"logs":["Program 11111111111111111111111111111111 ` +
				`invoke [1]"],"unitsConsumed":150}}`,
		},
		{
			chain.SolanaMainnet, "getBlock",
			`{"code":-32015,"message":"Transaction version (0) is not supported","data":null}`,
		},
	} {
		t.Run(string(row.on), func(t *testing.T) {
			g.All(testkit.Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","error":`+row.error+` ,"id":$id}`))
			if a := g.RPC(key, row.on, apitest.Call(row.method, "[]")); a.Status != http.StatusOK ||
				a.Body != `{"jsonrpc":"2.0","id":7,"error":`+row.error+`}` {
				t.Errorf("%s came as HTTP %d %s", row.error, a.Status, a.Body)
			}
		})
	}
	g.All(testkit.ErrorWithData(3, "execution reverted",
		"at http://canaryuser:canarypass@node/v2/canary-path-eth_mainnet"))
	if a := g.Eth(key, "eth_call"); !strings.Contains(a.Body,
		`{"code":3,"message":"execution reverted","data":"at http://[redacted]`) {
		t.Errorf("got %s", a.Body)
	}
}

func TestRead_BrokenStreamIsCutOffAndRefunded(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.Ups[0].Default(testkit.BreakAfter(2 << 20))
	a, body := g.Begin(key, apitest.Call("eth_call", "[]"))
	n, err := io.Copy(io.Discard, body)
	if err == nil || n < 256<<10 {
		t.Errorf("the client got %d bytes and %v, want a connection that is cut", n, err)
	}
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	if day, _ := g.Counted(key); day != 0 {
		t.Errorf("the day holds %d, want it refunded", day)
	}
	calls := g.Calls(a)
	require.Len(t, calls, 1)
	expect.Equal(t, calls[0].Outcome, "upstream_failed")
	expect.Equal(t, calls[0].Units, 0)
	expect.Equal(t, calls[0].Upstream, "up-0")
}

func TestRead_AnswerOverTheBoundIsNotServed(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.MaxAnswer = 1 << 20 })
	key := g.DoorKey()
	g.All(testkit.WithHeader("Content-Length", fmt.Sprint(2<<20), testkit.Large(2<<20-60)))
	a := g.Eth(key, "eth_call")
	if a.Refused(http.StatusBadRequest, -32602); !strings.Contains(a.Body, "Ask for less in one call") {
		t.Errorf("the client is not told what to do: %s", a.Body)
	}
	if day, _ := g.Counted(key); day != 0 {
		t.Errorf("the day holds %d", day)
	}
	wantSeries(g, "gateway_upstream_attempts_total", map[string]string{ // one of them may report a wrong length
		`chain="eth_mainnet",outcome="range_refused",upstream="up-0"`: "1",
		`chain="eth_mainnet",outcome="range_refused",upstream="up-1"`: "1",
	})
}

func TestRead_StreamOverTheBoundIsCutOffAndBlamesNobody(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.MaxAnswer = 1 << 20 })
	key := g.DoorKey()
	g.All(testkit.Large(2 << 20))
	a, body := g.Begin(key, apitest.Call("eth_call", "[]"))
	if n, err := io.Copy(io.Discard, body); err == nil || n > 1<<20 {
		t.Errorf("the client got %d bytes, %v", n, err)
	}
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	calls := g.Calls(a)
	require.Len(t, calls, 1)
	expect.Equal(t, calls[0].Outcome, "range_too_large")
	expect.Equal(t, calls[0].Units, 1000)
	items := g.RPC(key, chain.EthMainnet, "["+apitest.Call("eth_call", "[]")+"]").Batch(1)
	e := items[0].Error
	in := expect.In(t, "in a batch")
	require.NotNil(in, e)
	expect.Equal(in, e.Code, -32602)
	expect.Contains(in, e.Message, "Ask for less")
	if day, _ := g.Counted(key); day != 1000 {
		t.Errorf("the day holds %d, want what was streamed and nothing for the batch", day)
	}
	wantSeries(g, "gateway_upstream_broken_streams_total", nil)
}

func TestRead_AnswerTooLargeForABatchIsRefusedAlone(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.All(testkit.Result("0xsmall"))
	g.Ups[0].On("debug_traceCall", testkit.Large(40<<20))
	a := g.RPC(key, chain.EthMainnet, "["+apitest.Call("eth_call", "[]")+","+apitest.Call("debug_traceCall", "[]")+","+
		apitest.Call("eth_getBalance", "[]")+"]")
	items := a.Batch(3)
	if string(items[0].Result) != `"0xsmall"` || string(items[2].Result) != `"0xsmall"` {
		t.Errorf("the others got %s and %s", items[0].Result, items[2].Result)
	}
	e := items[1].Error
	in := expect.In(t, "the large one")
	require.NotNil(in, e)
	expect.Equal(in, e.Code, -32022)
	expect.Contains(in, e.Message, "too large for a batch")
	expect.Equal[any](in, e.Data["index"], 1.0)
	if day, _ := g.Counted(key); day != 2000 {
		t.Errorf("the day holds %d, want two units", day)
	}
}
