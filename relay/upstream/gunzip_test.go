package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
)

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
			body := zip(x.Fill(`{"jsonrpc":"2.0","id":$id,"result":"`)+strings.Repeat("0123456789abcdef", 64<<10)+
				`"}`, 0)
			testkit.Encoded("gzip", breakIt(body))(x)
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
	_, c := poolOf(t, chain.EthMainnet, time.Now, list)
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
