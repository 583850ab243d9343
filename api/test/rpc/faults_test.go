package rpc_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestMeter_NothingIsRelayedWithoutIt(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.Eth(key, "eth_call").Result()
	g.Redis.Kill(t)
	for _, method := range []string{"eth_call", "eth_chainId", "eth_sendRawTransaction"} {
		a := g.Eth(key, method)
		a.Refused(http.StatusServiceUnavailable, -32021)
		if a.Header.Get("Retry-After") == "" || string(a.Envelope().ID) != "7" {
			t.Errorf("%s: %v %s", method, a.Header, a.Body)
		}
	}
	items := g.RPC(key, chain.EthMainnet, apitest.BatchOf(20, "eth_call")).Batch(20)
	for _, item := range items {
		if item.Error == nil || item.Error.Code != -32021 {
			t.Fatalf("an item got %+v", item)
		}
	}
	g.Ask(http.MethodPost, "/keys", "", "").Refused(http.StatusServiceUnavailable, -32021)
	if n := g.Ups[0].Total() + g.Ups[1].Total(); n != 1 {
		t.Errorf("%d requests reached the upstreams, want the one before", n)
	}
	g.Redis.Start(t)
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.Eth(key, "eth_call").Status == http.StatusOK
	}, "calls are relayed again")
}

// wording is an error that a node or a provider published.
type wording struct {
	who, method   string
	reply         testkit.Reply
	message       string // of its JSON-RPC error; empty when the body is none
	verdict       string
	passes, write bool // passes: when every upstream says so
}

// wordings reads the pack of the relay's error rules, without methods that the chain does not
// serve.
func wordings(t *testing.T, id chain.ID) (pack []wording) {
	t.Helper()
	raw, err := os.ReadFile("../../../relay/upstream/internal/rules/testdata/wordings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	on, _ := chain.BuiltIn().Lookup(string(id))
	for line := range strings.Lines(string(raw)) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		method, served := on.Method([]byte(row[2]))
		if !served || method.Cache == chain.Local || method.Cache == chain.Short { // those may hit
			continue
		}
		status, err := strconv.Atoi(row[3])
		if err != nil {
			t.Fatalf("%v: %v", row, err)
		}
		w := wording{who: row[1], method: row[2], verdict: row[7], write: method.Write}
		w.passes = slices.Contains(
			[]string{"answer", "missing_data", "execution_timeout", "unsupported", "unknown"}, row[7])
		if method.Write && status > http.StatusBadRequest {
			w.verdict = "throttled" // the status tells that nothing was sent on
		}
		if row[4] == "" {
			w.passes = false
			w.reply = testkit.Raw(status, "text/plain", row[5])
		} else {
			w.message = row[5]
			message, _ := json.Marshal(row[5])
			w.reply = testkit.Raw(status, "application/json", fmt.Sprintf(
				`{"jsonrpc":"2.0","id":$id,"error":{"code":%s,"message":%s,"data":%s}}`, row[4], message,
				cmp.Or(row[6], "null")))
		}
		pack = append(pack, w)
	}
	return pack
}

// afresh changes the addresses of the gateway's upstreams, so that nothing is known of them.
func afresh(g *apitest.Gateway, id chain.ID, n int) {
	g.T.Helper()
	var list []config.Upstream
	for i, u := range g.Ups {
		list = append(list, config.Upstream{
			Name: fmt.Sprintf("up-%d", i), Supply: "public", URL: fmt.Sprintf("%s/%d", u.URL, n),
		})
	}
	_, err := g.Pool.Reload(config.Upstreams{Chains: map[string]config.ChainUpstreams{string(id): {Upstreams: list}}})
	g.Must(err)
	apitest.ApplyHealthy(g.Pool, id, time.Now(), len(g.Ups))
}

// What a provider says of itself is asked of another upstream, reaches no client and costs nothing.
// What the node itself answered passes.
func TestWordings_ReachNoClientButTheNodesOwnAnswers(t *testing.T) {
	t.Parallel()
	for _, id := range []chain.ID{chain.EthMainnet, chain.SolanaMainnet} {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			g := apitest.Setup(t, func(o *apitest.Options) { o.Chains = []chain.ID{id} })
			key := g.Unlimited()
			on, _ := chain.BuiltIn().Lookup(string(id))
			charged := plan.Units(0)
			pack := wordings(t, id)
			for i, w := range pack {
				afresh(g, id, 2*i)
				params, good := "[]", testkit.Result("0xgood")
				switch w.method {
				case "eth_blockNumber":
					good = testkit.Result(fmt.Sprintf("%#x", apitest.Head))
				case "eth_getLogs":
					params, good = `[{"fromBlock":"0x1","toBlock":"0x2"}]`, testkit.Result([]string{})
				}
				method, _ := on.Method([]byte(w.method))
				weight, refusal := method.Weigh([]byte(params), chain.Heads{Latest: apitest.Head})
				if refusal != nil {
					t.Fatal(refusal)
				}
				cost := plan.Cost(weight.Units, plan.Balanced)
				ask := func() (body string, failed, own bool) {
					body = g.RPC(key, id, apitest.Call(w.method, params)).Body
					var e struct{ Error *struct{ Message string } }
					g.Must(json.Unmarshal([]byte(body), &e))
					return body, e.Error != nil, e.Error != nil && w.message != "" && e.Error.Message == w.message
				}
				g.Ups[0].Default(w.reply)
				g.Ups[1].Default(good)
				body, failed, own := ask()
				charged += cost
				switch {
				case w.verdict == "answer" && !own:
					t.Errorf("%s says %q of %s, a client gets %s", w.who, w.message, w.method, body)
				case w.verdict == "answer":
				case w.write:
					charged -= cost
					if own || !failed {
						t.Errorf("%s says %q of %s, the sender gets %s", w.who, w.message, w.method, body)
					}
				case failed:
					t.Errorf("%s says %q of %s, although another answers: %s", w.who, w.message, w.method, body)
				}
				if w.write || w.verdict == "answer" {
					continue
				}
				afresh(g, id, 2*i+1)
				g.All(w.reply)
				body, _, own = ask()
				if w.passes {
					charged += cost
				}
				if own != w.passes {
					t.Errorf("both upstreams say %q of %s (%s): %s", w.message, w.method, w.verdict, body)
				}
			}
			units := plan.Units(0)
			for _, line := range g.Lines(key) {
				units += line.Units
			}
			if units != charged || len(pack) < 20 {
				t.Errorf("%d wordings are charged %s units, want %s", len(pack), units, charged)
			}
		})
	}
}

// An answer that the node gave by itself passes untouched, after one attempt.
func TestNodesOwnErrors_PassAtOnce(t *testing.T) {
	t.Parallel()
	for words, reply := range map[string]testkit.Reply{
		"Internal JSON-RPC error.": testkit.ErrorWithData(-32603, "Internal JSON-RPC error.", "0x08c379a0"),
		"execution reverted":       testkit.Error(3, "execution reverted"),
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			g := apitest.Setup(t)
			key := g.Unlimited()
			g.All(reply)
			if a := g.Eth(key, "eth_call"); !strings.Contains(a.Body, words) {
				t.Errorf("answered %s", a.Body)
			}
			if n := g.Sent("eth_call"); n != 1 {
				t.Errorf("%d upstreams were asked", n)
			}
		})
	}
}

func TestMeter_HangingOneIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.Eth(key, "eth_call").Result()
	g.Redis.Pause(t)
	defer g.Redis.Resume(t)
	g.Eth(key, "eth_call").Refused(http.StatusServiceUnavailable, -32021)
	if n := g.Sent("eth_call"); n != 1 {
		t.Errorf("%d requests reached the upstreams", n)
	}
}

func TestRefund_FailedOneIsNotReportedAsARefund(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.Eth(key, "eth_call").Result()
	g.All(func(x *testkit.Exchange) {
		g.Redis.Kill(t)
		testkit.HTML(http.StatusBadGateway)(x)
	})
	g.Ups[1].Default(testkit.HTML(http.StatusBadGateway))
	a := g.Eth(key, "eth_call")
	a.Refused(http.StatusBadGateway, -32022)
	if strings.Contains(a.Body, "Nothing was charged") || !strings.Contains(a.Body, "is given back as soon as") {
		t.Errorf("the message is not true: %s", a.Body)
	}
	if !strings.Contains(g.Logs.String(), "refund failed") {
		t.Error("the operator is not told")
	}
}

func TestPostgreSQL_CachedKeysWorkWithoutIt(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	warm, cold := g.Unlimited(), g.Unlimited()
	g.Eth(warm, "eth_call").Result()
	g.DropDatabase()
	for range 5 {
		g.Eth(warm, "eth_call").Result()
	}
	a := g.Eth(cold, "eth_call")
	if a.Refused(http.StatusServiceUnavailable, -32021); a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if n := g.Sent("eth_call"); n != 6 {
		t.Errorf("%d calls were relayed", n)
	}
}

func TestPanic_ReturnsTheConstantEnvelope(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Random = apitest.BrokenRandom{} })
	a := g.Ask(http.MethodPost, "/keys", "", "")
	a.Refused(http.StatusInternalServerError, -32603)
	if strings.Contains(a.Body, "defect") || strings.Contains(a.Body, "goroutine") {
		t.Errorf("the body shows the cause: %s", a.Body)
	}
	if log := g.Logs.String(); !strings.Contains(log, "a defect in the source") ||
		!strings.Contains(log, a.Header.Get("X-Request-Id")) {
		t.Error("the log does not show the cause beside the request's id")
	}
	g.Eth(g.Unlimited(), "eth_call").Result()
}

func TestSlowReader_GetsItsAnswerAfterTheCallsDeadline(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	const size = 64 << 20 // more than fits in buffers between upstream and client
	g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout = 12 * time.Second })
	key := g.DoorKey()
	g.Ups[0].Default(testkit.Large(size))
	_, body := g.Begin(key, apitest.Call("eth_call", "[]"))
	timer := time.NewTimer(12500 * time.Millisecond) // the client reads nothing until the call has timed out
	<-timer.C
	if n, err := io.Copy(io.Discard, body); err != nil || n < size {
		t.Errorf("the client got %d bytes, %v", n, err)
	}
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	if day, _ := g.Counted(key); day != 1000 {
		t.Errorf("the day holds %d: the service did its part", day)
	}
}

func TestSlowReader_ThatReadsNothingIsCutOffAndPays(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Stall = 300 * time.Millisecond })
	key := g.DoorKey()
	g.Ups[0].Default(testkit.Large(64 << 20))
	a, body := g.Begin(key, apitest.Call("eth_call", "[]"))
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is over")
	if _, err := io.Copy(io.Discard, body); err == nil {
		t.Error("the answer passed as whole")
	}
	if day, _ := g.Counted(key); day != 1000 {
		t.Errorf("the day holds %d: the service did its part", day)
	}
	calls := g.Calls(a)
	require.Len(t, calls, 1)
	expect.Equal(t, calls[0].Outcome, "client_gone")
	expect.Equal(t, calls[0].HTTPStatus, 499)
	expect.Equal(t, calls[0].Units, 1000)
	expect.Less(t, calls[0].ResponseBytes, 64<<20)
	g.Eth(g.Unlimited(), "eth_chainId").Result() // and the upstream is not penalised
}

func TestStream_ClientThatLeavesMidwayIsRecordedAsGone(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.Ups[0].Default(testkit.Large(64 << 20))
	a, body := g.Begin(key, apitest.Call("eth_call", "[]"))
	leave, ok := body.(io.Closer)
	if !ok {
		t.Fatal("the body cannot be closed")
	}
	g.Must(leave.Close())
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	calls := g.Calls(a)
	require.Len(t, calls, 1)
	expect.Equal(t, calls[0].Outcome, "client_gone")
	expect.Equal(t, calls[0].HTTPStatus, 499)
	expect.Equal(t, calls[0].Units, 1000)
	if day, _ := g.Counted(key); day != 1000 {
		t.Errorf("the day holds %d: the service did its part", day)
	}
}

// impatient writes a long answer, and disconnects when none of it is read for a while, as nodes do.
func impatient(hungUp chan<- struct{}) testkit.Reply {
	return func(x *testkit.Exchange) {
		defer close(hungUp)
		x.W.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(x.W, x.Fill(`{"jsonrpc":"2.0","id":$id,"result":"`))
		control, piece := http.NewResponseController(x.W), []byte(strings.Repeat("0", 64<<10))
		for range 1 << 10 {
			_ = control.SetWriteDeadline(time.Now().Add(time.Second))
			if _, err := x.W.Write(piece); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		_, _ = io.WriteString(x.W, `"}`)
	}
}

func TestSlowReader_PaysAndTheUpstreamThatGaveUpIsNotBlamed(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Now())
	g := apitest.Setup(t, func(o *apitest.Options) { o.Now, o.Timeout = clock.Now, apitest.StoppedClockTimeout })
	key := g.DoorKey()
	hungUp := make(chan struct{})
	g.Ups[0].Default(impatient(hungUp))
	a, body := g.Begin(key, apitest.Call("eth_call", "[]"))
	<-hungUp // the client has read nothing yet
	clock.Advance(10 * time.Second)
	if _, err := io.Copy(io.Discard, body); err == nil {
		t.Error("the answer passed as whole")
	}
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 1 }, "the call is recorded")
	calls := g.Calls(a)
	require.Len(t, calls, 1)
	expect.Equal(t, calls[0].Outcome, "client_gone")
	expect.Equal(t, calls[0].Units, 1000)
	wantSeries(g, "gateway_upstream_broken_streams_total", nil)
}
