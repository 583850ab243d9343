package upstream

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

func TestCallID_IsNewForEveryAttempt(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	first.Default(testkit.Status(http.StatusBadGateway))
	for range 3 {
		answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	first.Close()
	for range 3 {
		answer, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	var ids []string
	for _, r := range slices.Concat(first.Requests(), second.Requests()) {
		ids = append(ids, string(r.ID))
	}
	slices.Sort(ids)
	if len(ids) != 9 || len(slices.Compact(ids)) != 9 {
		t.Errorf("the requests have the ids %v", ids)
	}
}

func TestAnotherID_EndsTheConnectionAndIsCounted(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0", 2*transport.PeekBytes)
	for name, row := range map[string]struct {
		body    string
		streams bool
	}{
		"whole":               {`{"jsonrpc":"2.0","id":1,"result":"0xbad"}`, false},
		"an error":            {`{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted"}}`, false},
		"the right one, once": {`{"jsonrpc":"2.0","id":1,"result":"$id"}`, false},
		"streamed, id first":  {`{"jsonrpc":"2.0","id":1,"result":"` + long + `"}`, false},
		"streamed, id last":   {`{"jsonrpc":"2.0","result":"` + long + `","id":1}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := testkit.Upstream(t), testkit.Upstream(t)
			p, c := poolOf(t, time.Now, providers(first, second))
			m := telemetry.NewMetrics(nil)
			p.Instrument(m.Upstreams, nil, nil)
			c.Apply(healthy(c, time.Now()))
			wrong := testkit.Raw(http.StatusOK, "application/json", row.body)
			first.Next(testkit.Result("0x1"), wrong)
			connections := 2
			if row.streams { // it is retried on a connection of its own, where it starts to stream
				first.Next(wrong)
				connections = 3
			}
			second.Default(testkit.Result("0xgood"))
			for call := range 2 {
				answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
				if f != nil {
					t.Fatal(f)
				}
				switch {
				case call == 0:
				case !row.streams && string(answer.Result) != `"0xgood"`:
					t.Errorf("answered %s", answer.Result)
				case row.streams:
					_, err := io.Copy(io.Discard, answer.Rest)
					in := expect.In(t, "at the end of the stream")
					require.Error(in, err)
					expect.Contains(in, err.Error(), "another call's id")
				}
				answer.Release()
			}
			if c.endpoints[0].health.inARow != 1 {
				t.Error("the upstream was not blamed")
			}
			if n := exposed(t, m)[`stray_answers_total{kind="another_id",upstream="up-0"}`]; n != "1" {
				t.Errorf("%s answers under another id are counted", n)
			}
			c.endpoints = c.endpoints[:1]
			answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
			if f != nil {
				t.Fatal(f)
			}
			answer.Release()
			if n := first.Connections(); n != connections {
				t.Errorf("%d connections: the one that another call's answer came over was used again", n)
			}
		})
	}
}

// An error with id null may belong to any call. Its words about the operator's plan or rate count,
// but no client gets it.
func TestNullID_IsHeardButNeverPassedOn(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		code    int
		message string
		blamed  bool
	}{
		"a revert":          {3, "execution reverted: of another call", false},
		"unknown":           {-32000, "something nobody has heard of", false},
		"a parse error":     {-32700, "parse error", false},
		"missing data":      {-32000, "header not found", false},
		"a limit":           {-32005, "rate limit reached", true},
		"a plan":            {-32600, "trace_block is not available on the Free tier", false},
		"used up":           {-32000, "monthly capacity limit exceeded", true},
		"a method not had":  {-32601, "method not found", false},
		"a wrong parameter": {-32602, "missing value for required argument 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, err := json.Marshal(map[string]any{"code": row.code, "message": row.message})
			if err != nil {
				t.Fatal(err)
			}
			c, first, second := twoUpstreams(t)
			first.Default(testkit.Raw(http.StatusOK, "application/json",
				`{"jsonrpc":"2.0","id":null,"error":`+string(object)+`}`))
			second.Next(testkit.Result("0xgood"), testkit.Status(http.StatusBadGateway))
			answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
			if f != nil || string(answer.Result) != `"0xgood"` {
				t.Fatalf("got %+v, %v", answer, f)
			}
			answer.Release()
			if blamed := c.endpoints[0].health.inARow == 1; blamed != row.blamed {
				t.Errorf("blamed: %v", blamed)
			}
			if answer, f := c.Read(deadline(t, testTimeout), request("trace_block")); f == nil {
				t.Errorf("a call that nobody answered got %s", answer.Error)
			}
			c.endpoints = c.endpoints[:1]
			if _, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction")); f == nil ||
				f.Reason != fault.OutcomeUnknown {
				t.Errorf("a submission got %v", f)
			}
		})
	}
}

func TestAnotherID_LeavesTheOutcomeOfASubmissionUnknown(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a result": `{"id":1000000000000001,"result":"0xhash"}`,
		"an error": `{"id":1,"error":{"code":-32000,"message":"nonce too low"}}`,
		"none":     `{"error":{"code":-32000,"message":"nonce too low"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, first, second := twoUpstreams(t)
			first.Default(testkit.Raw(http.StatusOK, "application/json", body))
			_, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
			in := expect.In(t, "%s", name)
			require.NotNil(in, f)
			expect.Equal(in, f.Reason, fault.OutcomeUnknown)
			expect.Equal(in, first.Total(), 1)
			expect.Equal(in, second.Total(), 0)
			if c.endpoints[0].health.inARow != 1 {
				t.Error("the upstream was not blamed")
			}
		})
	}
}

// longAnswer returns an answer whose id comes last, after more than peekBytes.
func longAnswer(of string) testkit.Reply {
	return testkit.Raw(http.StatusOK, "application/json",
		`{"jsonrpc":"2.0","result":"`+of+strings.Repeat(".", 2*transport.PeekBytes)+`","id":$id}`)
}

// readAll returns all of an answer that was sent on.
func readAll(t *testing.T, c *Chain) string {
	t.Helper()
	answer, refusal := c.Read(deadline(t, testTimeout), request("eth_getLogs"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	defer answer.Release()
	text := string(answer.Result)
	if answer.Rest != nil {
		rest, err := io.ReadAll(answer.Rest)
		if err != nil {
			t.Error(err)
		}
		text += string(rest)
	}
	return text
}

// On a kept-alive connection, an extra answer with its id last would be sent to another customer
// before its id is known.
func TestLateIDs_GoOutOnConnectionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	u := testkit.Upstream(t)
	_, c := poolOf(t, time.Now, providers(u))
	c.Apply(healthy(c, time.Now()))
	right := longAnswer("mine")
	u.Next(testkit.Result("0x1"), testkit.Preceded(longAnswer("another customer's"), right))
	u.Default(right)
	for call, want := range []string{`"0x1"`, `"mine.`, `"mine.`, `"mine.`} {
		if got := readAll(t, c); !strings.HasPrefix(got, want) || strings.Contains(got, "another") {
			t.Errorf("call %d got %.40q, want %q", call, got, want)
		}
	}
	if requests, connections := u.Total(), u.Connections(); requests != 5 || connections != 4 {
		t.Errorf("%d requests on %d connections: want the second call asked twice, and each that begins with its "+
			"result on a connection of its own", requests, connections)
	}
	if n := c.endpoints[0].health.inARow; n != 0 {
		t.Errorf("the upstream is blamed %d times for writing ids last", n)
	}
}

func TestGunzip_CompressedAnswersAreTheSameAnswers(t *testing.T) {
	t.Parallel()
	c, first, _ := twoUpstreams(t)
	c.endpoints = c.endpoints[:1]
	const result = `{"b":[1.00, 1e2,"\u0041\/"] , "a":null}`
	for range 3 { // its decompressor is reused
		first.Default(
			testkit.Compressed(testkit.Raw(200, "application/json", `{"jsonrpc":"2.0","id":$id,"result":`+result+`}`)))
		answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
		if f != nil || string(answer.Result) != result {
			t.Fatalf("got %v, %v", answer, f)
		}
		answer.Release()
	}
	first.Default(testkit.Compressed(testkit.Error(3, "execution reverted")))
	answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	if f != nil || string(answer.Error) != `{"code":3,"message":"execution reverted"}` {
		t.Fatalf("got %v, %v", answer, f)
	}
	answer.Release()
	first.Default(testkit.Compressed(testkit.Large(8 << 20)))
	if answer, f = c.Read(deadline(t, testTimeout), request("eth_call")); f != nil {
		t.Fatal(f)
	}
	defer answer.Release()
	n, err := io.Copy(io.Discard, answer.Rest)
	if err != nil || n+int64(len(answer.Result)) != 8<<20+4 {
		t.Errorf("%d bytes streamed, %v", n+int64(len(answer.Result)), err)
	}
	if first.Connections() != 1 {
		t.Errorf("%d connections: they are not used again", first.Connections())
	}
}

func TestGunzip_BombIsCutAtTheBoundAndNotHeld(t *testing.T) { //nolint:paralleltest // it measures the heap
	c, first, _ := twoUpstreams(t)
	first.Default(testkit.Compressed(testkit.Large(256 << 20))) // a quarter of a megabyte on the wire
	r := request("eth_call")
	r.MaxAnswer = 32 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	answer, f := c.Read(deadline(t, testTimeout), r)
	if f != nil {
		t.Fatal(f)
	}
	defer answer.Release()
	n, err := io.Copy(io.Discard, answer.Rest)
	if err == nil || n > r.MaxAnswer {
		t.Errorf("%d bytes passed, %v", n, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func TestGunzip_BrokenStreamIsReported(t *testing.T) {
	t.Parallel()
	c, first, _ := twoUpstreams(t)
	c.endpoints = c.endpoints[:1]
	for name, breakIt := range map[string]func(body []byte) []byte{
		"cut":    func(body []byte) []byte { return body[:len(body)-2] },
		"spoilt": func(body []byte) []byte { return append(body[:len(body)-8], 0, 0, 0, 0, 0, 0, 0, 0) },
	} {
		first.Default(func(x *testkit.Exchange) {
			var body bytes.Buffer
			z := gzip.NewWriter(&body)
			_, _ = io.WriteString(z, x.Fill(`{"jsonrpc":"2.0","id":$id,"result":"`)+
				strings.Repeat("0123456789abcdef", 64<<10)+`"}`) // a buffer takes everything
			_ = z.Close()
			testkit.Encoded("gzip", breakIt(body.Bytes()))(x)
		})
		answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
		if f != nil {
			t.Fatal(f)
		}
		if _, err := io.Copy(io.Discard, answer.Rest); err == nil {
			t.Errorf("%s: the answer passed as whole", name)
		}
		answer.Release()
	}
}

// A client that reads slowly must not use up its upstream's time. An upstream that is slow must.
func TestGunzip_OnlyTheUpstreamsOwnTimeCounts(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reply testkit.Reply
		tls   bool
		drips bool
	}{
		"large": {testkit.Large(4 << 20), false, false}, "drips": {drip(1 << 20), false, true},
		"large, over HTTP/2": {testkit.Large(4 << 20), true, false}, "drips, over HTTP/2": {drip(1 << 20), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, _ := twoUpstreams(t)
			first.Default(row.reply)
			if row.tls {
				pair, parsed := certificate(t, "127.0.0.1", time.Hour)
				c = overTLS(t, pair, parsed, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					row.reply(&testkit.Exchange{Request: testkit.Request{ID: idIn(r.Body)}, W: w, Context: r.Context()})
				}))
			}
			c.endpoints = c.endpoints[:1]
			answer, f := c.Read(WithDeadline(t.Context(), time.Now().Add(3*time.Second), time.Now), request("eth_call"))
			if f != nil {
				t.Fatal(f)
			}
			defer answer.Release()
			if !row.drips {
				<-time.After(3500 * time.Millisecond) // longer than the call's deadline
			}
			_, err := io.Copy(io.Discard, answer.Rest)
			if row.drips != errors.Is(err, context.DeadlineExceeded) || !row.drips && err != nil {
				t.Errorf("the answer ends with %v", err)
			}
			if blamed := c.endpoints[0].health.inARow == 1; blamed != row.drips {
				t.Errorf("blamed: %v", blamed)
			}
		})
	}
}

// drip streams some bytes of a result at once and then single bytes, without an end.
func drip(atOnce int) testkit.Reply {
	return func(x *testkit.Exchange) {
		_, _ = io.WriteString(x.W, x.Fill(`{"jsonrpc":"2.0","id":$id,"result":"`)+strings.Repeat("0", atOnce))
		control := http.NewResponseController(x.W)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for x.Context.Err() == nil && control.Flush() == nil {
			select {
			case <-x.Context.Done():
			case <-tick.C:
				_, _ = io.WriteString(x.W, "0")
			}
		}
	}
}

func TestGunzip_ClientThatLeavesBlamesNobodyAndHoldsNothing(t *testing.T) {
	t.Parallel()
	first := testkit.Upstream(t)
	list := providers(first)
	list[0].MaxConcurrent = 1
	_, c := poolOf(t, time.Now, list)
	c.Apply(healthy(c, time.Now()))
	first.Default(testkit.Large(64 << 20))
	for range 3 { // more than the concurrency limit
		ctx, leave := context.WithCancel(t.Context())
		answer, f := c.Read(WithDeadline(ctx, time.Now().Add(testTimeout), time.Now), request("eth_call"))
		if f != nil {
			t.Fatal(f)
		}
		leave()
		if _, err := io.Copy(io.Discard, answer.Rest); !errors.Is(err, context.Canceled) {
			t.Errorf("the stream ends with %v", err)
		}
		answer.Release()
	}
	if h := c.endpoints[0].health.newest(); h.out || c.endpoints[0].health.inARow != 0 {
		t.Errorf("the upstream was blamed: %+v", h)
	}
}
