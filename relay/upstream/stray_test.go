package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// strayCalls is the number of calls over all combinations of the attack.
var strayCalls = flag.Int("stray-calls", 6_400,
	"calls that TestStrayAnswers_NeverReachAnotherCall makes in all, in every way of lying together")

// liar is an upstream that answers every call correctly, and also sends answers to other calls.
type liar struct {
	every int           // one in this many answers is followed by an extra one
	late  time.Duration // maximum delay; zero for the same write as the answer
	sent  atomic.Int64  // extra answers
	calls atomic.Int64

	mu   sync.Mutex // guards last
	last [2]string  // another customer's call: its id and its answer
}

// told returns the id of a call and the correct result.
func told(body []byte) (id, result string) {
	var call struct {
		ID     json.RawMessage
		Params []string
	}
	if json.Unmarshal(body, &call) != nil || len(call.Params) != 1 {
		return "null", ""
	}
	return string(call.ID), "of " + call.Params[0]
}

// extra returns an answer without a request on this connection: another customer's result, under
// every id that a liar could choose.
func (l *liar) extra(id, result string) string {
	l.mu.Lock()
	other := l.last
	l.last = [2]string{id, result}
	l.mu.Unlock()
	choices := []string{id, other[0], "1", "null", strconv.Itoa(1e15 + rand.IntN(1<<53-1e15))}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%q}`, choices[rand.IntN(len(choices))], other[1])
	if rand.IntN(5) == 0 {
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":3,"message":"execution reverted: %s"}}`,
			other[1])
	}
	return answering(body)
}

func answering(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
}

// serve speaks HTTP/1.1 on one connection.
func (l *liar) serve(c net.Conn) {
	var writing sync.Mutex // guards writes to c: an answer stays in one piece
	var extras sync.WaitGroup
	defer func() {
		_ = c.Close()
		extras.Wait()
	}()
	write := func(text string) error {
		writing.Lock()
		defer writing.Unlock()
		_, err := io.WriteString(c, text)
		return err
	}
	for br := bufio.NewReader(c); ; {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		id, result := told(body)
		answer := answering(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%q}`, id, result))
		lies := l.calls.Add(1)%int64(l.every) == 0
		extra := l.extra(id, result)
		if lies {
			l.sent.Add(1)
			if l.late == 0 {
				answer += extra
			}
		}
		if write(answer) != nil {
			return
		}
		if lies && l.late > 0 {
			after := time.NewTimer(l.late/10 + rand.N(l.late*9/10))
			extras.Go(func() {
				<-after.C
				_ = write(extra) // the gateway may have closed the connection
			})
		}
	}
}

// ServeHTTP serves HTTP/2, whose streams cannot be answered twice. It sometimes returns another
// customer's answer.
func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	id, result := told(body)
	l.mu.Lock()
	other := l.last
	l.last = [2]string{id, result}
	l.mu.Unlock()
	if l.calls.Add(1)%int64(l.every) == 0 && other[0] != "" {
		l.sent.Add(1)
		if l.late > 0 {
			<-time.After(rand.N(l.late))
		}
		id, result = other[0], other[1]
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%q}`, id, result)
}

// start serves over plain TCP ("http"), TLS with HTTP/1.1 ("https") or HTTP/2 ("h2"), and returns
// the upstream's configuration.
func (l *liar) start(t *testing.T, over string) (config.Upstream, *tls.Config) {
	t.Helper()
	secure := httptest.NewUnstartedServer(l)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.EnableHTTP2 = over == "h2"
	secure.StartTLS()
	t.Cleanup(secure.Close)
	if over == "h2" {
		return config.Upstream{URL: secure.URL, Supply: "public"}, trusting(secure)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if over == "https" {
		listener = tls.NewListener(listener, &tls.Config{
			Certificates: secure.TLS.Certificates, MinVersion: tls.VersionTLS12,
		})
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { l.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return config.Upstream{URL: over + "://" + listener.Addr().String(), Supply: "public"}, trusting(secure)
}

// lying returns a chain on which all upstreams lie. The attack continues after they are detected,
// because excluded upstreams are still a last resort.
func lying(t *testing.T, over string, every int, late time.Duration) (c *Chain, liars [2]*liar) {
	t.Helper()
	var list []config.Upstream
	var trusted [2]*tls.Config
	for i := range liars {
		liars[i] = &liar{every: every, late: late}
		u, trust := liars[i].start(t, over)
		u.Name, trusted[i] = fmt.Sprintf("up-%d", i), trust
		list = append(list, u)
	}
	p, c := poolOf(t, time.Now, list)
	t.Cleanup(p.Close) // before the wait for the liars
	for i, e := range c.endpoints {
		if reads, ok := e.reads.(*transport.Negotiated); ok {
			reads.TLSClientConfig = trusted[i]
			reads.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0) // many connections end here
		}
	}
	c.Apply(healthy(c, time.Now()))
	return c, liars
}

// TestStrayAnswers_NeverReachAnotherCall sends extra answers: at once and late, after every answer
// and after every hundredth. Customers ask distinct things in parallel, and none may get what
// another asked for. -stray-calls=1000000 runs the whole attack.
func TestStrayAnswers_NeverReachAnotherCall(t *testing.T) {
	t.Parallel()
	type attack struct {
		over  string
		every int
		late  time.Duration
		part  int // share of the calls
	}
	var attacks []attack
	parts := 0
	for _, over := range []string{"http", "https", "h2"} {
		for _, every := range []int{1, 100} {
			for _, late := range []time.Duration{0, 10 * time.Millisecond} {
				part := 5
				if over != "http" {
					part = 2
					if every == 1 {
						part = 1 // every call costs two handshakes
					}
				}
				attacks = append(attacks, attack{over, every, late, part})
				parts += part
			}
		}
	}
	var total, wrong, failed, sent atomic.Int64
	t.Cleanup(func() {
		t.Logf("in all: %d calls, %d wrong, %d refused, %d stray answers", total.Load(), wrong.Load(), failed.Load(),
			sent.Load())
	})
	for _, a := range attacks {
		t.Run(fmt.Sprintf("%s, one in %d, late up to %s", a.over, a.every, a.late), func(t *testing.T) {
			t.Parallel()
			c, liars := lying(t, a.over, a.every, a.late)
			r, w, f := askAll(t, c, *strayCalls*a.part/parts)
			lies := liars[0].sent.Load() + liars[1].sent.Load()
			t.Logf("%d right, %d wrong, %d refused; %d stray answers", r, w, f, lies)
			if w > 0 {
				t.Errorf("%d of %d calls got another call's answer", w, r+w+f)
			}
			expect.NotEqual(t, lies, 0)
			expect.NotEqual(t, r, 0)
			if a.every > 1 {
				expect.AtMost(t, f, r/10)
			}
			total.Add(r + w + f)
			wrong.Add(w)
			failed.Add(f)
			sent.Add(lies)
		})
	}
}

// askAll makes calls for several customers in parallel, and returns how many got the correct
// answer, another customer's, and none.
func askAll(t *testing.T, c *Chain, calls int) (right, wrong, refused int64) {
	t.Helper()
	const customers = 16
	var r, w, f, next atomic.Int64
	var all sync.WaitGroup
	for customer := range customers {
		all.Go(func() {
			for n := next.Add(1); n <= int64(calls); n = next.Add(1) {
				asked := fmt.Sprintf("customer %d, call %d", customer, n)
				switch got, ok := askOne(t.Context(), c, asked); {
				case !ok:
					f.Add(1)
				case got == strconv.Quote("of "+asked):
					r.Add(1)
				default:
					w.Add(1)
				}
			}
		})
	}
	all.Wait()
	return r.Load(), w.Load(), f.Load()
}

// askOne returns the answer to a call, which may be an error.
func askOne(ctx context.Context, c *Chain, asked string) (answered string, ok bool) {
	answer, refusal := c.Read(WithDeadline(ctx, time.Now().Add(testTimeout), time.Now), &Request{
		Method: []byte("eth_call"), Params: []byte("[" + strconv.Quote(asked) + "]"), Supply: plan.Public,
		Tier: plan.Balanced, MaxAnswer: maxAnswer,
	})
	if refusal != nil {
		return "", false
	}
	defer answer.Release()
	return string(answer.Result) + string(answer.Error), true
}

// A wrong answer must be refused, its upstream excluded, and another upstream's answer returned.
func TestStrayAnswers_ExcludeTheUpstreamAndCostNoCall(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"http", "https", "h2"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			c, _ := lying(t, over, 1, 0)
			honest := testkit.Upstream(t)
			honest.Default(testkit.ResultOf(func(r testkit.Request) any {
				_, result := told(r.Body)
				return result
			}))
			e, err := newEndpoint(chain.EVM, config.Upstream{Name: "up-2", URL: honest.URL, Supply: "public"}, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.close)
			c.endpoints = append(c.endpoints, e)
			c.Apply(healthy(c, time.Now()))
			right, wrong, refused := askAll(t, c, 1000)
			if right != 1000 || wrong+refused > 0 {
				t.Errorf("%d right, %d wrong, %d refused", right, wrong, refused)
			}
			if honest.Total() < 100 {
				t.Errorf("the honest upstream was asked %d times: the liars go on being believed", honest.Total())
			}
		})
	}
}
