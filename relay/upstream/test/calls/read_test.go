package calls

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

// failing has every way in which an upstream returns no usable answer to a read.
func failing(second *testkit.UpstreamServer) map[string]testkit.Reply {
	return map[string]testkit.Reply{
		"reset":          testkit.Reset(),
		"HTML 200":       testkit.HTML(http.StatusOK),
		"HTML 502":       testkit.HTML(http.StatusBadGateway),
		"307":            testkit.Redirect(second.URL),
		"500":            testkit.Status(http.StatusInternalServerError),
		"500 with words": testkit.ErrorWithStatus(http.StatusInternalServerError, -32603, "internal error"),
		"500 with a result": testkit.Raw(http.StatusInternalServerError, "application/json",
			`{"jsonrpc":"2.0","id":$id,"result":"0xbad"}`),
		"401":               testkit.ErrorWithStatus(http.StatusUnauthorized, 3, "execution reverted"),
		"403":               testkit.Status(http.StatusForbidden),
		"402":               testkit.Status(http.StatusPaymentRequired),
		"429":               testkit.TooMany(time.Second),
		"429 in band":       testkit.Error(-32005, "rate limit reached"),
		"billing in band":   testkit.Error(-32000, "monthly capacity limit exceeded"),
		"denied in band":    testkit.Error(-32000, "invalid api key"),
		"absent":            testkit.Error(-32601, "the method eth_call does not exist/is not available"),
		"range":             testkit.Error(-32000, "response size exceeded"),
		"plan":              testkit.Error(-32600, "trace_block is not available on the Free tier"),
		"413":               testkit.HTML(http.StatusRequestEntityTooLarge),
		"missing data":      testkit.Error(-32000, "header not found"),
		"execution timeout": testkit.Error(-32000, "execution timeout"),
		"another id":        testkit.WrongID("0xbad"),
		"an earlier id": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":1,"result":"0xbad"}`),
		"the id as a string": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":"$id","result":"0xbad"}`),
		"null for the id": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":null,"result":"0xbad"}`),
		"a revert, id null": testkit.Raw(http.StatusOK, "application/json",
			`{"id":null,"error":{"code":3,"message":"execution reverted"}}`),
		"a limit, id null": testkit.Raw(http.StatusOK, "application/json",
			`{"id":null,"error":{"code":-32005,"message":"rate limit reached"}}`),
		"no id":           testkit.Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","result":"0xbad"}`),
		"truncated":       testkit.Truncated(),
		"half a document": testkit.InvalidJSON(),
		"empty":           testkit.Raw(http.StatusOK, "application/json", ""),
		"no content":      testkit.Raw(http.StatusNoContent, "application/json", ""),
		"null":            testkit.Raw(http.StatusOK, "application/json", "null"),
		"an array": testkit.Raw(http.StatusOK, "application/json",
			`[{"jsonrpc":"2.0","id":$id,"result":"0xbad"}]`),
		"neither": testkit.Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":$id}`),
		"both": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":$id,"result":"0xbad","error":{"code":1,"message":"x"}}`),
		"error is a string": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":$id,"error":"no"}`),
		"two results": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":$id,"result":"0xbad","result":"0xbad"}`),
		"more than one value": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":$id,"result":"0xbad"}{}`),
		"no gzip at all":      testkit.Encoded("gzip", []byte(`{"jsonrpc":"2.0","id":$id,"result":"0xbad"}`)),
		"gzip of nothing":     testkit.Encoded("gzip", nil),
		"gzip that is cut":    zipped("gzip", -4, ""),
		"gzip that is spoilt": zipped("gzip", -5, ""),
		"gzip and more":       zipped("gzip", 0, "more"),
		"another coding":      testkit.Encoded("br", []byte("\x0b\x02\x80{}\x03")),
		"coded twice":         zipped("gzip, gzip", 0, ""),
		"two ids": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":$id,"id":$id,"result":"0xbad"}`),
		"two errors": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":1},"error":{"code":3}}`),
		"NUL in a string": testkit.Raw(http.StatusOK, "application/json",
			"{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":\"0x\x00bad\"}"),
		"NUL at the end": testkit.Raw(http.StatusOK, "application/json",
			"{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":\"0xbad\"}\x00"),
		"a byte order mark": testkit.Raw(http.StatusOK, "application/json",
			"\ufeff"+`{"jsonrpc":"2.0","id":$id,"result":"0xbad"}`),
		"the request itself": testkit.Raw(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","id":$id,"method":"eth_call","params":[]}`),
		"announces too little": testkit.Wire("HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n" +
			`{"jsonrpc":"2.0","id":$id,"result":"0xbad"}`),
		"announces more": testkit.Wire("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" +
			`{"jsonrpc":"2.0","id":$id,"result":"0xbad"}`),
		"garbage for chunks": testkit.Wire("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n" +
			`{"jsonrpc":"2.0","id":$id,"result":"0xbad"}`),
		"1xx for ever": testkit.Wire(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 4<<10)),
		"giant headers": testkit.Wire(
			"HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Filler: "+strings.Repeat("y", 1000)+"\r\n", 200) + "\r\n"),
		"hangs up":           testkit.Wire(""),
		"announces too much": testkit.WithHeader("Content-Length", "999999999999", testkit.Result("0xbad")),
	}
}

// zip returns gzipped text. A negative even cut removes that many bytes at the end; an odd cut
// corrupts the checksum instead.
func zip(text string, cut int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text) // a buffer takes everything
	_ = z.Close()
	if cut%2 != 0 {
		b.Bytes()[b.Len()+cut] ^= 0xff
		return b.Bytes()
	}
	return b.Bytes()[:b.Len()+cut]
}

// zipped answers in this content coding with the output of zip, followed by more.
func zipped(coding string, cut int, more string) testkit.Reply {
	return func(x *testkit.Exchange) {
		testkit.Encoded(coding, append(zip(x.Fill(`{"jsonrpc":"2.0","id":$id,"result":"0xbad"}`), cut),
			more...))(x)
	}
}

func TestFailover_WhateverOneUpstreamDoes(t *testing.T) {
	t.Parallel()
	for name, reply := range failing(testkit.Upstream(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := upstreamtest.TwoUpstreams(t)
			first.Default(reply)
			second.Default(testkit.Result("0xgood"))
			r := upstreamtest.Call("eth_call")
			answer, f := c.Read(upstreamtest.Context(t), r)
			if f != nil {
				t.Fatal(f)
			}
			defer answer.Release()
			expect.Equal(t, string(answer.Result), `"0xgood"`)
			expect.Equal(t, first.Total(), 1)
			expect.Equal(t, second.Total(), 1)
			if r.Asked != (upstream.Asked{Upstream: "up-1", Attempts: 2}) {
				t.Errorf("asked is %+v", r.Asked)
			}
		})
	}
}

func TestFailover_FromAnUpstreamThatIsDownOrHangs(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(*testkit.UpstreamServer){
		"down":  func(u *testkit.UpstreamServer) { u.Close() },
		"hangs": func(u *testkit.UpstreamServer) { u.Default(testkit.Hang(nil)) },
		"drips": func(u *testkit.UpstreamServer) { u.Default(testkit.Drip("0xbad", 50*time.Millisecond)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := upstreamtest.TwoUpstreams(t)
			breakIt(first)
			second.Default(testkit.Result("0xgood"))
			answer, f := c.Read(upstreamtest.Deadline(t, 3*time.Second), upstreamtest.Call("eth_call"))
			if f != nil {
				t.Fatal(f)
			}
			defer answer.Release()
			if string(answer.Result) != `"0xgood"` {
				t.Errorf("answered %s", answer.Result)
			}
		})
	}
}

func TestFailover_AnswersAreNotTriedElsewhere(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testkit.Reply{
		"revert":             testkit.ErrorWithData(3, "execution reverted", "0x08c379a0"),
		"revert in HTTP 500": testkit.ErrorWithStatus(http.StatusInternalServerError, 3, "execution reverted"),
		"invalid parameters": testkit.ErrorWithStatus(http.StatusBadRequest, -32602,
			"missing value for required argument 0"),
		"result null":  testkit.Result(nil),
		"error null":   testkit.Raw(http.StatusOK, "application/json", `{"id":$id,"result":"0x1","error":null}`),
		"compressed":   testkit.Gzip("0x1"),
		"identity":     testkit.Encoded("identity", []byte(`{"jsonrpc":"2.0","id":$id,"result":"0x1"}`)),
		"JSON as HTML": testkit.Raw(http.StatusOK, "text/html", `{"jsonrpc":"2.0","id":$id,"result":"0x1"}`),
		"not UTF-8": testkit.Raw(http.StatusOK, "application/json",
			"{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":\"\xff\"}"),
		"no version": testkit.Raw(http.StatusOK, "text/plain", "\n{\"result\":\"0x1\",\"id\":$id}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := upstreamtest.TwoUpstreams(t)
			first.Default(reply)
			answer, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_call"))
			if f != nil {
				t.Fatal(f)
			}
			defer answer.Release()
			if second.Total() != 0 {
				t.Error("the other upstream was asked")
			}
			if upstreamtest.Blamed(c, 0) != 0 {
				t.Error("the upstream was blamed for an answer")
			}
		})
	}
}

func TestFailover_FaultSaysWhyNobodyAnswered(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		first, second testkit.Reply
		want          fault.Reason
		says          string
	}{
		"both broken": {
			testkit.HTML(502), testkit.Reset(), fault.UpstreamFailed, "No upstream gave a usable answer",
		},
		"both hang": {
			testkit.Hang(nil), testkit.Hang(nil), fault.UpstreamTimeout, "No upstream answered in time",
		},
		"both lack it": {
			testkit.Error(-32601, "method not found"), testkit.Error(-32601, "x"), fault.MethodNotServed,
			"No upstream of eth_mainnet serves eth_call",
		},
		"one lacks it": {
			testkit.Error(-32601, "method not found"), testkit.HTML(502), fault.UpstreamFailed,
			"No upstream gave a usable answer",
		},
		"both limit range": {
			testkit.Error(-1, "range too large"), testkit.Error(-1, "too many results"), fault.RangeTooLarge,
			"Nothing was charged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := upstreamtest.TwoUpstreams(t)
			first.Default(row.first)
			second.Default(row.second)
			r := upstreamtest.Call("eth_call")
			answer, f := c.Read(upstreamtest.Deadline(t, 500*time.Millisecond), r)
			require.Nil(t, answer)
			require.NotNil(t, f)
			require.Equal(t, f.Reason, row.want)
			require.Contains(t, f.Message, row.says)
			if f.Reason == fault.RangeTooLarge && strings.Contains(f.Message, "block range") {
				t.Errorf("eth_call has no block range, yet the message says %q", f.Message)
			}
			if r.Asked.Attempts != 2 {
				t.Errorf("asked %+v", r.Asked)
			}
		})
	}
}

// TestFailover_RangeIsRefusedInOurOwnWordsInAnyOrder also checks that a provider's words about the
// operator's plan do not reach the client.
func TestFailover_RangeIsRefusedInOurOwnWordsInAnyOrder(t *testing.T) {
	t.Parallel()
	replies := []testkit.Reply{
		testkit.Error(-32005, "canary: query returned more than 10000 results"),
		testkit.TooMany(time.Second),
		testkit.HTML(502),
		testkit.Error(-32600, "canary: eth_getLogs of this kind is not available on the Free tier - upgrade"),
		testkit.Error(-32000, "canary: monthly capacity limit exceeded"),
	}
	for first := range replies {
		for second := range replies {
			for third := range replies {
				if first == second || second == third || first == third || (first != 0 && second != 0 && third != 0) {
					continue
				}
				var servers []*testkit.UpstreamServer
				for _, i := range []int{first, second, third} {
					u := testkit.Upstream(t)
					u.Default(replies[i])
					servers = append(servers, u)
				}
				_, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, upstreamtest.Providers(servers...))
				c.Apply(upstreamtest.Healthy(c, time.Now()))
				answer, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_getLogs"))
				in := expect.In(t, "%d, %d, %d", first, second, third)
				require.Nil(in, answer)
				require.NotNil(in, f)
				require.Equal(in, f.Reason, fault.RangeTooLarge)
				require.Contains(in, f.Message, "smaller ranges")
				if strings.Contains(f.Error(), "canary") {
					t.Errorf("%d, %d, %d: the provider's words came through: %v", first, second, third, f)
				}
			}
		}
	}
}

func TestFailover_LastErrorPassesWhenNobodyDoesBetter(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Error(-32000, "header not found"))
	second.Default(testkit.HTML(502))
	r := upstreamtest.Call("eth_call")
	answer, f := c.Read(upstreamtest.Context(t), r)
	if f != nil || string(answer.Error) != `{"code":-32000,"message":"header not found"}` {
		t.Fatalf("got %+v, %v", answer, f)
	}
	answer.Release()
	if r.Asked != (upstream.Asked{Upstream: "up-0", Attempts: 2}) {
		t.Errorf("asked %+v", r.Asked)
	}
}

func TestFailover_AsksAtMostThreeUpstreams(t *testing.T) {
	t.Parallel()
	var servers []*testkit.UpstreamServer
	for range 5 {
		u := testkit.Upstream(t)
		u.Default(testkit.HTML(502))
		servers = append(servers, u)
	}
	_, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, upstreamtest.Providers(servers...))
	c.Apply(upstreamtest.Healthy(c, time.Now()))
	if _, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_call")); f == nil {
		t.Fatal("there was an answer")
	}
	total := 0
	for _, u := range servers {
		total += u.Total()
	}
	if total != 3 {
		t.Errorf("%d requests were sent, want three", total)
	}
}

func TestFailover_MethodThatThreeLackIsFoundAtTheFourth(t *testing.T) {
	t.Parallel()
	var servers []*testkit.UpstreamServer
	for range 4 {
		u := testkit.Upstream(t)
		u.On("trace_block", testkit.Error(-32601, "method not found"))
		servers = append(servers, u)
	}
	servers[3].On("trace_block", testkit.Result("traced"))
	_, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, upstreamtest.Providers(servers...))
	c.Apply(upstreamtest.Healthy(c, time.Now()))
	if _, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("trace_block")); f == nil ||
		f.Reason != fault.MethodNotServed {
		t.Fatalf("the first call got %v", f)
	}
	answer, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("trace_block"))
	if f != nil || string(answer.Result) != `"traced"` {
		t.Fatalf("the second call got %v", f)
	}
	answer.Release()
}

func TestRead_ClientThatGoesAwayBlamesNobody(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Hang(nil))
	for range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		first.Forget()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.Read(ctx, upstreamtest.Call("eth_call")) // nobody reads the result
		}()
		testkit.Eventually(t, upstreamtest.Timeout, func() bool { return first.Total() == 1 }, "the request arrives")
		cancel()
		<-done
	}
	if second.Total() != 0 || c.Figures()[0].Calls != 0 {
		t.Errorf("after clients went away the other upstream got %d requests, figures: %+v", second.Total(),
			c.Figures()[0])
	}
}

func TestFailover_FarAheadUpstreamIsNotBelievedButTheNextIs(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Result("0xffffffff"))
	second.Default(testkit.Result("0xf4241")) // one block later
	r := upstreamtest.Call("eth_blockNumber")
	r.Head = upstream.Latest
	answer, f := c.Read(upstreamtest.Context(t), r)
	if f != nil || string(answer.Result) != `"0xf4241"` {
		t.Fatalf("got %v, %v", answer, f)
	}
	answer.Release()
	second.Default(testkit.Result("0x1"))
	answer, f = c.Read(upstreamtest.Context(t), r)
	if f != nil || string(answer.Result) != `"0xf4241"` {
		t.Fatalf("went back: %v, %v", answer, f)
	}
	answer.Release()
}

func TestRead_LargeAnswersStreamInBoundedMemory(t *testing.T) {
	t.Parallel()
	const size = 200 << 20
	c, first, _ := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Large(size))
	answer, f := c.Read(upstreamtest.Deadline(t, 2*time.Minute), upstreamtest.Call("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	defer answer.Release()
	if len(answer.Result) > transport.PeekBytes {
		t.Errorf("%d bytes are held before the stream", len(answer.Result))
	}
	got := int64(len(answer.Result))
	if !bytes.HasPrefix(answer.Result, []byte(`"0x000`)) || answer.Rest == nil {
		t.Fatalf("the answer begins with %.20s", answer.Result)
	}
	n, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{answer.Rest}, make([]byte, 32<<10))
	if err != nil || got+n != size+4 {
		t.Errorf("streamed %d bytes (%v), want %d", got+n, err, size+4)
	}
}

func TestRead_BrokenStreamsAreReportedAndBlamed(t *testing.T) {
	t.Parallel()
	head := `{"jsonrpc":"2.0","id":$id,"result":"` + strings.Repeat("0", 2*transport.PeekBytes)
	lateHead := `{"jsonrpc":"2.0","result":"` + strings.Repeat("0", 2*transport.PeekBytes)
	for name, reply := range map[string]testkit.Reply{
		"breaks off":               testkit.BreakAfter(1 << 20),
		"ends inside the result":   testkit.Raw(200, "application/json", head),
		"ends after the result":    testkit.Raw(200, "application/json", head+`"`),
		"garbage after the result": testkit.Raw(200, "application/json", head+`"garbage}`),
		"no JSON in the result": testkit.Raw(200, "application/json",
			`{"jsonrpc":"2.0","id":$id,"result":["`+strings.Repeat("0", 2*transport.PeekBytes)+`"}`),
		"two results":           testkit.Raw(200, "application/json", head+`","result":1}`),
		"an error after all":    testkit.Raw(200, "application/json", head+`","error":{"code":1}}`),
		"another id at the end": testkit.Raw(200, "application/json", lateHead+`","id":2}`),
		"no id at all":          testkit.Raw(200, "application/json", lateHead+`"}`),
		"too much after it": testkit.Raw(200, "application/json",
			head+`","x":"`+strings.Repeat("0", 16<<10)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, _ := upstreamtest.TwoUpstreams(t)
			first.Default(reply)
			answer, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_call"))
			if f != nil {
				t.Fatal(f)
			}
			defer answer.Release()
			_, err := io.Copy(io.Discard, answer.Rest)
			if err == nil {
				t.Error("the answer passed as whole")
			}
			if name == "no JSON in the result" && !errors.Is(err, jsonrpc.ErrSyntax) {
				t.Errorf("the error is %v", err)
			}
			if upstreamtest.Blamed(c, 0) != 1 {
				t.Error("the upstream was not blamed")
			}
		})
	}
}

func TestRead_StreamMayEndWithItsID(t *testing.T) {
	t.Parallel()
	lateHead := `{"jsonrpc":"2.0","result":"` + strings.Repeat("0", 2*transport.PeekBytes)
	c, first, _ := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Raw(200, "application/json", lateHead+`","id":$id,"jsonrpc":"2.0"} `))
	answer, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	defer answer.Release()
	if n, err := io.Copy(io.Discard, answer.Rest); err != nil || int(n)+len(answer.Result) != 2*transport.PeekBytes+2 {
		t.Errorf("a whole answer with its id at the end: %d bytes, %v", n, err)
	}
}

func TestRead_AnswersAreBoundedInSize(t *testing.T) {
	t.Parallel()
	c, first, second := upstreamtest.TwoUpstreams(t)
	first.Default(testkit.Large(4 << 20))
	second.Default(testkit.Large(4 << 20))
	r := upstreamtest.Call("eth_call")
	r.MaxAnswer = 1 << 20
	answer, f := c.Read(upstreamtest.Context(t), r)
	if f != nil {
		t.Fatal(f) // without Content-Length the size is seen only later
	}
	defer answer.Release()
	if n, err := io.Copy(io.Discard, answer.Rest); err == nil || n > r.MaxAnswer {
		t.Errorf("%d bytes passed, %v", n, err)
	}
	small := upstreamtest.Call("eth_call")
	small.MaxAnswer = 10
	first.Default(testkit.Result("0x00000000000000000000"))
	second.Default(testkit.Result("0x00000000000000000000"))
	if _, f := c.Read(upstreamtest.Context(t), small); f == nil || f.Reason != fault.RangeTooLarge {
		t.Errorf("an answer announced larger than the bound gave %v", f)
	}
	if n := first.Total() + second.Total(); n != 3 {
		t.Errorf("%d requests were sent, want each upstream asked for what the first announced", n)
	}
	for i, name := range c.Names() {
		if upstreamtest.Blamed(c, i) != 0 {
			t.Errorf("%s is blamed", name)
		}
	}
}

func TestRead_RedirectsAreNeverFollowedAndTakeNoCredential(t *testing.T) {
	t.Parallel()
	target := testkit.Upstream(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		first, second := testkit.Upstream(t), testkit.Upstream(t)
		list := upstreamtest.Providers(first, second)
		list[0].Headers = map[string]string{"Authorization": "Bearer canary-token"}
		_, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, list)
		c.Apply(upstreamtest.Healthy(c, time.Now()))
		first.Default(testkit.WithHeader("Location", target.URL, testkit.Status(status)))
		answer, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_call"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
		if target.Total() != 0 || first.Requests()[0].Header.Get("Authorization") != "Bearer canary-token" {
			t.Errorf("HTTP %d was followed", status)
		}
	}
}

// slowReader is the pause from which on a reader is to blame for the end of its stream.
const slowPause = 5 * time.Second

func TestRead_StreamThatEndsAfterASlowReaderBlamesNobody(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reply  testkit.Reply
		pauses []time.Duration
		blamed bool
	}{
		"one pause": {testkit.BreakAfter(2 << 20), []time.Duration{slowPause}, false},
		"many pauses": {
			testkit.BreakAfter(2 << 20), []time.Duration{slowPause / 2, slowPause / 4, slowPause / 4}, false,
		},
		"hardly a pause": {testkit.BreakAfter(2 << 20), []time.Duration{slowPause - time.Millisecond}, true},
		"none":           {testkit.BreakAfter(2 << 20), nil, true},
		"no JSON": {
			testkit.Raw(200, "application/json", `{"jsonrpc":"2.0","id":$id,"result":[`+strings.Repeat("1,", 1<<20)+
				"}"), []time.Duration{slowPause}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testkit.NewClock(time.Now())
			server := testkit.Upstream(t)
			server.Default(row.reply)
			_, c := upstreamtest.NewChain(t, chain.EthMainnet, clock.Now, upstreamtest.Providers(server))
			c.Apply(upstreamtest.Healthy(c, clock.Now()))
			answer, refusal := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_call"))
			if refusal != nil {
				t.Fatal(refusal)
			}
			defer answer.Release()
			for _, pause := range row.pauses {
				if _, err := answer.Rest.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				clock.Advance(pause)
			}
			_, err := io.Copy(io.Discard, answer.Rest)
			if err == nil || errors.Is(err, upstream.ErrSlowReader) == row.blamed {
				t.Errorf("the error is %v", err)
			}
			if failures := upstreamtest.Blamed(c, 0); (failures == 1) != row.blamed {
				t.Errorf("%d failures are held against the upstream", failures)
			}
		})
	}
}

// A range refusal takes precedence over missing data or a timeout, because the client can act on
// it.
func TestFailover_RefusedRangeOutranksWhatOthersLack(t *testing.T) {
	t.Parallel()
	for name, wide := range map[string]testkit.Reply{
		"a refused range": testkit.Error(-32000, "block range is too wide"), "an answer too large": announced(2 << 20),
	} {
		for other, lacks := range map[string]testkit.Reply{
			"missing data": testkit.Error(-32000, "header not found"),
			"no time":      testkit.Error(-32000, "execution timeout"),
		} {
			for place := range 2 {
				c, first, second := upstreamtest.TwoUpstreams(t)
				replies := [2]testkit.Reply{wide, lacks}
				first.Default(replies[place])
				second.Default(replies[1-place])
				r := upstreamtest.Call("eth_getLogs")
				r.MaxAnswer = 1 << 20
				answer, f := c.Read(upstreamtest.Context(t), r)
				switch {
				case answer != nil && answer.Rest != nil:
					t.Fatal("the answer was to be announced as too large")
				case f == nil || f.Reason != fault.RangeTooLarge:
					t.Errorf("%s beside %s, in place %d: %v, %v", name, other, place, answer, f)
				}
			}
		}
	}
}

// announced returns an answer with a Content-Length.
func announced(size int) testkit.Reply {
	body := `{"jsonrpc":"2.0","id":$id,"result":"` + strings.Repeat("0", size) + `"}`
	return func(x *testkit.Exchange) {
		filled := x.Fill(body)
		testkit.WithHeader("Content-Length", strconv.Itoa(len(filled)),
			testkit.Raw(http.StatusOK, "application/json", filled))(x)
	}
}
