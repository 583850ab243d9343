package rpc_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// traces writes a result of at least size bytes that looks like that of debug_traceBlock, with
// escapes and unusual white space.
func traces(size int) func(io.Writer) error {
	var block bytes.Buffer
	for i := 0; block.Len() < 1<<20; i++ {
		fmt.Fprintf(&block,
			`,{"pc":%d,"op":"SLOAD","gas":%d, "gasCost":2100 ,"depth":3,"stack":["0x%x","0x%064x"],"memory":null,`+
				`"note":"\u0041\\\"}]"}`, i, 8_000_000-i, i, i*7919)
	}
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, `[ true`); err != nil {
			return err
		}
		for sent := 0; sent < size; sent += block.Len() {
			if _, err := w.Write(block.Bytes()); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, "\n]")
		return err
	}
}

// heap returns the memory in use after a garbage collection.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}

//nolint:paralleltest // it measures the heap
func TestStream_FiftyMegabytesByteForByteInBoundedMemory(t *testing.T) {
	testkit.Slow(t)
	const size = 52 << 20
	// so much data takes a loaded machine a while
	g := apitest.Setup(t, func(o *apitest.Options) { o.Timeout = 5 * time.Minute })
	key := g.Unlimited()
	result := traces(size)
	want := crc32.NewIEEE()
	_, _ = io.WriteString(want, `{"jsonrpc":"2.0","id":7,"result":`)
	g.Must(result(want))
	_, _ = io.WriteString(want, `}`)
	for _, row := range []struct { //nolint:paralleltest // each measures the heap
		name, accept string
		reply        testkit.Reply
	}{
		{"plain", "identity", testkit.Stream(result)},
		{"compressed to the client", "", testkit.Stream(result)}, // and decompressed by it
		{"compressed by the upstream", "identity", testkit.Compressed(testkit.Stream(result))},
	} {
		t.Run(row.name, func(t *testing.T) {
			g.Ups[0].Default(row.reply)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/rpc/eth_mainnet",
				strings.NewReader(apitest.Call("debug_traceBlock", "[]")))
			g.Must(err)
			req.Header.Set("Authorization", "Bearer "+key)
			if row.accept != "" {
				req.Header.Set("Accept-Encoding", row.accept)
			}
			before := heap()
			resp, err := g.Client.Do(req)
			g.Must(err)
			defer func() { _ = resp.Body.Close() }()
			if resp.Uncompressed != (row.accept == "") {
				t.Errorf("compressed: %v", resp.Uncompressed)
			}
			got := crc32.NewIEEE()
			var peak, total, looked int64
			for chunk := make([]byte, 64<<10); err == nil; {
				var n int
				n, err = resp.Body.Read(chunk)
				_, _ = got.Write(chunk[:n])
				if total += int64(n); total-looked >= 8<<20 {
					looked, peak = total, max(peak, heap())
				}
			}
			expect.Equal(t, err, io.EOF)
			expect.Equal(t, got.Sum32(), want.Sum32())
			expect.AtLeast(t, total, size)
			if grown := peak - before; grown > 8<<20 {
				t.Errorf("memory grew by %d KB while streaming", grown>>10)
			}
		})
	}
}

func TestStream_ClientThatLeavesMidAnswerLeaksNothing(t *testing.T) { //nolint:paralleltest // it counts goroutines
	g := apitest.Setup(t, func(o *apitest.Options) { o.Upstreams = 1 })
	key := g.Unlimited()
	stopped := make(chan struct{}, 100)
	endless := testkit.Stream(traces(1 << 40))
	g.Ups[0].Default(func(x *testkit.Exchange) {
		endless(x)
		stopped <- struct{}{} // its connection broke
	})
	g.Eth(key, "eth_chainId").Result()
	g.Client.CloseIdleConnections()
	before := runtime.NumGoroutine()
	const leavers = 20
	for i := range leavers {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/rpc/eth_mainnet",
			strings.NewReader(apitest.Call("eth_call", "[]")))
		g.Must(err)
		req.Header.Set("Authorization", "Bearer "+key)
		if i%2 == 0 {
			req.Header.Set("Accept-Encoding", "identity")
		}
		resp, err := g.Client.Do(req)
		g.Must(err)
		_, err = io.CopyN(io.Discard, resp.Body, 1<<20)
		g.Must(err)
		_ = resp.Body.Close() // closes the connection, because there is more to read
	}
	for range leavers {
		select {
		case <-stopped:
		case <-time.After(apitest.Timeout):
			t.Fatal("an upstream goes on sending to nobody")
		}
	}
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return g.Recorder.Written() == leavers+1
	}, "every call is recorded")
	g.Client.CloseIdleConnections()
	// The scripted upstream and the pools of PostgreSQL and Redis may add or remove a few.
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return runtime.NumGoroutine() <= before+leavers/2
	}, "goroutines end")
	if u := g.Usage(key); u["ok"].Requests != leavers || u["refund"].Requests != 0 {
		t.Errorf("usage is %v: who leaves pays", u)
	}
}
