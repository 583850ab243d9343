package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestMeter_NothingIsRelayedWithoutIt(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	g.eth(key, "eth_call").result()
	g.redis.Kill(t)
	for _, method := range []string{"eth_call", "eth_chainId", "eth_sendRawTransaction"} {
		a := g.eth(key, method)
		a.refused(http.StatusServiceUnavailable, -32021)
		if a.header.Get("Retry-After") == "" || string(a.envelope().ID) != "7" {
			t.Errorf("%s: %v %s", method, a.header, a.body)
		}
	}
	items := g.rpc(key, chain.EthMainnet, batchOf(20, "eth_call")).batch(20)
	for _, item := range items {
		if item.Error == nil || item.Error.Code != -32021 {
			t.Fatalf("an item got %+v", item)
		}
	}
	g.ask(http.MethodPost, "/keys", "", "").refused(http.StatusServiceUnavailable, -32021)
	if n := g.ups[0].Total() + g.ups[1].Total(); n != 1 {
		t.Errorf("%d requests reached the upstreams, want the one before", n)
	}
	g.redis.Start(t)
	testkit.Eventually(t, testTimeout, func() bool {
		return g.eth(key, "eth_call").status == http.StatusOK
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
	raw, err := os.ReadFile("../relay/upstream/internal/rules/testdata/wordings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	on, _ := chain.Lookup(string(id))
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
func (g *gateway) afresh(id chain.ID, n int) {
	g.t.Helper()
	var list []config.Upstream
	for i, u := range g.ups {
		list = append(list, config.Upstream{
			Name: fmt.Sprintf("up-%d", i), Supply: "public", URL: fmt.Sprintf("%s/%d", u.URL, n),
		})
	}
	_, err := g.pool.Reload(config.Upstreams{Chains: map[string]config.ChainUpstreams{string(id): {Upstreams: list}}})
	g.must(err)
	applyHealthy(g.pool, id, time.Now(), len(g.ups))
}

// What a provider says of itself is asked of another upstream, reaches no client and costs nothing.
// What the node itself answered passes.
func TestWordings_ReachNoClientButTheNodesOwnAnswers(t *testing.T) {
	t.Parallel()
	for _, id := range []chain.ID{chain.EthMainnet, chain.SolanaMainnet} {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			g := setup(t, func(o *options) { o.chains = []chain.ID{id} })
			key := g.unlimited()
			on, _ := chain.Lookup(string(id))
			charged := plan.Units(0)
			pack := wordings(t, id)
			for i, w := range pack {
				g.afresh(id, 2*i)
				params, good := "[]", testkit.Result("0xgood")
				switch w.method {
				case "eth_blockNumber":
					good = testkit.Result(fmt.Sprintf("%#x", testHead))
				case "eth_getLogs":
					params, good = `[{"fromBlock":"0x1","toBlock":"0x2"}]`, testkit.Result([]string{})
				}
				method, _ := on.Method([]byte(w.method))
				weight, refusal := method.Weigh([]byte(params), chain.Heads{Latest: testHead})
				if refusal != nil {
					t.Fatal(refusal)
				}
				cost := plan.Cost(weight.Units, plan.Balanced)
				ask := func() (body string, failed, own bool) {
					body = g.rpc(key, id, call(w.method, params)).body
					var e struct{ Error *struct{ Message string } }
					g.must(json.Unmarshal([]byte(body), &e))
					return body, e.Error != nil, e.Error != nil && w.message != "" && e.Error.Message == w.message
				}
				g.ups[0].Default(w.reply)
				g.ups[1].Default(good)
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
				g.afresh(id, 2*i+1)
				g.all(w.reply)
				body, _, own = ask()
				if w.passes {
					charged += cost
				}
				if own != w.passes {
					t.Errorf("both upstreams say %q of %s (%s): %s", w.message, w.method, w.verdict, body)
				}
			}
			units := plan.Units(0)
			for _, line := range g.lines(key) {
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
			g := setup(t)
			key := g.unlimited()
			g.all(reply)
			if a := g.eth(key, "eth_call"); !strings.Contains(a.body, words) {
				t.Errorf("answered %s", a.body)
			}
			if n := g.sent("eth_call"); n != 1 {
				t.Errorf("%d upstreams were asked", n)
			}
		})
	}
}

func TestMeter_HangingOneIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	g.eth(key, "eth_call").result()
	g.redis.Pause(t)
	defer g.redis.Resume(t)
	g.eth(key, "eth_call").refused(http.StatusServiceUnavailable, -32021)
	if n := g.sent("eth_call"); n != 1 {
		t.Errorf("%d requests reached the upstreams", n)
	}
}

func TestRefund_FailedOneIsNotReportedAsARefund(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	g.eth(key, "eth_call").result()
	g.all(func(x *testkit.Exchange) {
		g.redis.Kill(t)
		testkit.HTML(http.StatusBadGateway)(x)
	})
	g.ups[1].Default(testkit.HTML(http.StatusBadGateway))
	a := g.eth(key, "eth_call")
	a.refused(http.StatusBadGateway, -32022)
	if strings.Contains(a.body, "Nothing was charged") || !strings.Contains(a.body, "is given back as soon as") {
		t.Errorf("the message is not true: %s", a.body)
	}
	if !strings.Contains(g.logs.String(), "refund failed") {
		t.Error("the operator is not told")
	}
}

func TestPostgreSQL_CachedKeysWorkWithoutIt(t *testing.T) {
	t.Parallel()
	g := setup(t)
	warm, cold := g.unlimited(), g.unlimited()
	g.eth(warm, "eth_call").result()
	g.dropDatabase()
	for range 5 {
		g.eth(warm, "eth_call").result()
	}
	a := g.eth(cold, "eth_call")
	if a.refused(http.StatusServiceUnavailable, -32021); a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if n := g.sent("eth_call"); n != 6 {
		t.Errorf("%d calls were relayed", n)
	}
}

// dropDatabase takes PostgreSQL away from the gateway for good.
func (g *gateway) dropDatabase() {
	g.t.Helper()
	g.recordTime = 10 * time.Millisecond // no write can succeed
	u, err := url.Parse(g.database)
	g.must(err)
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	conn, err := pgx.Connect(g.t.Context(), u.String())
	g.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	// Refuse new connections, then terminate the existing ones.
	_, err = conn.Exec(g.t.Context(), `ALTER DATABASE `+pgx.Identifier{name}.Sanitize()+` ALLOW_CONNECTIONS false`)
	g.must(err)
	_, err = conn.Exec(g.t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, name)
	g.must(err)
}

func TestPanic_ReturnsTheConstantEnvelope(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.random = panicking{} })
	a := g.ask(http.MethodPost, "/keys", "", "")
	a.refused(http.StatusInternalServerError, -32603)
	if strings.Contains(a.body, "defect") || strings.Contains(a.body, "goroutine") {
		t.Errorf("the body shows the cause: %s", a.body)
	}
	if log := g.logs.String(); !strings.Contains(log, "a defect in the source") ||
		!strings.Contains(log, a.header.Get("X-Request-Id")) {
		t.Error("the log does not show the cause beside the request's id")
	}
	g.eth(g.unlimited(), "eth_call").result()
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a defect in the source of randomness") }

func TestSlowReader_GetsItsAnswerAfterTheCallsDeadline(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	const size = 64 << 20 // more than fits in buffers between upstream and client
	g := setup(t, func(o *options) { o.timeout = 12 * time.Second })
	key := g.doorKey()
	g.ups[0].Default(testkit.Large(size))
	_, body := g.begin(key, call("eth_call", "[]"))
	timer := time.NewTimer(12500 * time.Millisecond) // the client reads nothing until the call has timed out
	<-timer.C
	if n, err := io.Copy(io.Discard, body); err != nil || n < size {
		t.Errorf("the client got %d bytes, %v", n, err)
	}
	testkit.Eventually(t, testTimeout, func() bool { return g.recorder.Written() == 1 }, "the call is recorded")
	if day, _ := g.counted(key); day != 1000 {
		t.Errorf("the day holds %d: the service did its part", day)
	}
}

func TestSlowReader_ThatReadsNothingIsCutOffAndPays(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.stall = 300 * time.Millisecond })
	key := g.doorKey()
	g.ups[0].Default(testkit.Large(64 << 20))
	a, body := g.begin(key, call("eth_call", "[]"))
	testkit.Eventually(t, testTimeout, func() bool { return g.recorder.Written() == 1 }, "the call is over")
	if _, err := io.Copy(io.Discard, body); err == nil {
		t.Error("the answer passed as whole")
	}
	if day, _ := g.counted(key); day != 1000 {
		t.Errorf("the day holds %d: the service did its part", day)
	}
	if calls := g.calls(a); len(calls) != 1 || calls[0].Outcome != "client_gone" || calls[0].HTTPStatus != 499 ||
		calls[0].Units != 1000 ||
		calls[0].ResponseBytes >= 64<<20 {
		t.Errorf("recorded %+v", calls)
	}
	g.eth(g.unlimited(), "eth_chainId").result() // and the upstream is not penalised
}

func TestStream_ClientThatLeavesMidwayIsRecordedAsGone(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	g.ups[0].Default(testkit.Large(64 << 20))
	a, body := g.begin(key, call("eth_call", "[]"))
	leave, ok := body.(io.Closer)
	if !ok {
		t.Fatal("the body cannot be closed")
	}
	g.must(leave.Close())
	testkit.Eventually(t, testTimeout, func() bool { return g.recorder.Written() == 1 }, "the call is recorded")
	if calls := g.calls(a); len(calls) != 1 || calls[0].Outcome != "client_gone" || calls[0].HTTPStatus != 499 ||
		calls[0].Units != 1000 {
		t.Errorf("recorded %+v", calls)
	}
	if day, _ := g.counted(key); day != 1000 {
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
	g := setup(t, func(o *options) { o.now, o.timeout = clock.Now, standing })
	key := g.doorKey()
	hungUp := make(chan struct{})
	g.ups[0].Default(impatient(hungUp))
	a, body := g.begin(key, call("eth_call", "[]"))
	<-hungUp // the client has read nothing yet
	clock.Advance(10 * time.Second)
	if _, err := io.Copy(io.Discard, body); err == nil {
		t.Error("the answer passed as whole")
	}
	testkit.Eventually(t, testTimeout, func() bool { return g.recorder.Written() == 1 }, "the call is recorded")
	if calls := g.calls(a); len(calls) != 1 || calls[0].Outcome != "client_gone" || calls[0].Units != 1000 {
		t.Errorf("recorded %+v", calls)
	}
	g.expect("gateway_upstream_broken_streams_total", nil)
}
