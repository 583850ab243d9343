package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"testing"
	"time"
)

func TestLoad_WaitsForWhatIsUnderWayAndReportsFailures(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch calls.Add(1) {
		case 10:
			w.WriteHeader(http.StatusBadGateway)
		case 20:
			stop()
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
	}))
	defer server.Close()
	c := client{url: server.URL, keys: []string{"a", "b"}, http: newHTTPClient(4)}
	samples := c.generate(ctx, 4, time.Now())
	failed := 0
	for _, s := range samples {
		if s.err != nil {
			failed++
		}
		if s.took <= 0 || s.ended < s.took {
			t.Errorf("a call took %s and ended after %s", s.took, s.ended)
		}
	}
	if int64(len(samples)) != calls.Load() || failed != 1 {
		t.Errorf("%d samples of %d calls, %d failed, want 1", len(samples), calls.Load(), failed)
	}
}

func TestWrk_OutputIsUnderstood(t *testing.T) {
	t.Parallel()
	const text = `Running 1s test @ http://127.0.0.1:1/
  Latency Distribution
     50%    0.87ms
     75%    1.20ms
     90%    2.00ms
     99%    1.02s
  9001 requests in 1.00s, 2.05MB read
  Socket errors: connect 0, read 1, write 0, timeout 2
  Non-2xx or 3xx responses: 4
Requests/sec:   8987.12
`
	f, err := parseWrk(text)
	want := figures{rate: 8987.12, p50: 870 * time.Microsecond, p99: 1020 * time.Millisecond, calls: 9001, failed: 7}
	if err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("got %+v, %v, want %+v", f, err, want)
	}
	if _, err := parseWrk("unable to connect"); err == nil {
		t.Error("nonsense was understood")
	}
}
