package rpc_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

func zip(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// unzip returns the decompressed body, and checks the headers.
func unzip(a apitest.Answer) string {
	a.T.Helper()
	if a.Header.Get("Content-Encoding") != "gzip" {
		return a.Body
	}
	z, err := gzip.NewReader(strings.NewReader(a.Body))
	if err != nil {
		a.T.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		a.T.Fatal(err)
	}
	return string(body)
}

// logs returns a result of about size bytes that looks like that of eth_getLogs.
func logs(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `,{"address":"0x%040x","topics":["0x%064x"],"data":"0x%064x","logIndex":"0x%x"}`, i*7919,
			i*104729, i*i*31, i)
	}
	return "[" + b.String()[1:] + "]"
}

func TestGzip_CompressesWhenTheClientAcceptsItAndItPays(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for name, row := range map[string]struct {
		size   int
		accept []string // lines of the header
		want   bool
	}{
		"as browsers say it": {20_000, []string{"gzip, deflate, br, zstd"}, true},
		"in capitals":        {20_000, []string{"GZIP"}, true},
		"x-gzip":             {20_000, []string{"deflate, x-gzip;q=0.5"}, true},
		"anything":           {20_000, []string{"*"}, true},
		"on a second line":   {20_000, []string{"br", "gzip"}, true},
		"with a weight":      {20_000, []string{"gzip ; Q=0.001"}, true},
		"at the bound":       {1400, []string{"gzip"}, true},
		"streamed":           {600_000, []string{"gzip"}, true},
		"large and whole":    {200_000, []string{"gzip"}, true},
		"small":              {200, []string{"gzip"}, false},
		// without it Go's client would send gzip
		"nothing said":             {20_000, []string{"identity"}, false},
		"refused":                  {20_000, []string{"gzip;q=0"}, false},
		"refused by name":          {20_000, []string{"*, gzip;q=0.0"}, false},
		"all refused":              {20_000, []string{"*;q=0"}, false},
		"plain liked better":       {20_000, []string{"gzip;q=0.5, identity"}, false},
		"others only":              {20_000, []string{"br, zstd"}, false},
		"a weight that is none":    {20_000, []string{"gzip;q=abc"}, false},
		"a weight above one":       {20_000, []string{"gzip;q=2"}, false},
		"a weight not a number":    {20_000, []string{"gzip;q=NaN"}, false},
		"another parameter":        {20_000, []string{"gzip;level=9"}, false},
		"streamed, plain":          {600_000, []string{"identity"}, false},
		"streamed, and refused so": {600_000, []string{"gzip;q=0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			result := logs(row.size)
			if row.size == 1400 {
				result = `"` + strings.Repeat("0", 1400-2-len(`{"jsonrpc":"2.0","id":7,"result":}`)) + `"`
			}
			g.All(testkit.Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":$id,"result":`+result+`}`))
			var headers []string
			for _, line := range row.accept {
				headers = append(headers, "Accept-Encoding", line)
			}
			a := g.Eth(key, "eth_call", headers...)
			if compressed := a.Header.Get("Content-Encoding") == "gzip"; compressed != row.want {
				t.Errorf("Content-Encoding is %q", a.Header.Get("Content-Encoding"))
			}
			if got := unzip(a); got != `{"jsonrpc":"2.0","id":7,"result":`+result+`}` {
				t.Errorf("%d bytes came as %d others", len(result), len(got))
			}
			if length := a.Header.Get("Content-Length"); length != "" && length != fmt.Sprint(len(a.Body)) {
				t.Errorf("Content-Length is %s for %d bytes", length, len(a.Body))
			}
			if !strings.Contains(a.Header.Get("Vary"), "Accept-Encoding") {
				t.Errorf("Vary is %q", a.Header.Get("Vary"))
			}
		})
	}
}

func TestGzip_CompressesBatchesAndRefusals(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	a := g.RPC(key, chain.EthMainnet, apitest.BatchOf(100, "eth_call"), "Accept-Encoding", "gzip")
	if a.Header.Get("Content-Encoding") != "gzip" {
		t.Error("a batch is not")
	}
	a.Body = unzip(a)
	a.Batch(100)
	a = g.RPC(key, chain.EthMainnet, `{"jsonrpc":"2.0","id":"`+strings.Repeat("x", 4000)+`","method":"eth_nothing"}`,
		"Accept-Encoding", "gzip")
	if a.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(unzip(a), "-32601") {
		t.Errorf("a refusal with a long id came as %v", a.Header)
	}
}

func TestGzip_BrokenStreamIsNotACompleteGzip(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.Ups[0].Default(testkit.BreakAfter(2 << 20))
	for range 3 { // compressors are reused
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/rpc/eth_mainnet",
			strings.NewReader(apitest.Call("eth_call", "[]")))
		g.Must(err)
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := g.Client.Do(req) // it decompresses gzip itself
		g.Must(err)
		n, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		in := expect.In(t, "gzip that is cut")
		expect.Error(in, err)
		expect.True(in, resp.Uncompressed)
		expect.NotEqual(in, n, 0)
	}
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Recorder.Written() == 3 }, "the calls are recorded")
	if day, _ := g.Counted(key); day != 0 {
		t.Errorf("the day holds %d, want it refunded", day)
	}
}

func TestGzip_RequestBodiesAreBoundedAfterDecompression(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.MaxBody = 64 << 10 })
	key := g.DoorKey()
	g.All(testkit.ResultOf(func(r testkit.Request) any { return r.Params }))
	whole := apitest.Call("eth_call", `["`+strings.Repeat("0", 4000)+`"]`)
	for _, coding := range []string{"gzip", "x-gzip", "GZIP"} {
		a := g.RPC(key, chain.EthMainnet, zip(t, whole), "Content-Encoding", coding)
		if !strings.Contains(a.Result(), "0000") {
			t.Errorf("%s: %s", coding, a.Body)
		}
	}
	g.RPC(key, chain.EthMainnet, whole, "Content-Encoding", "identity").Result()
	zipped := zip(t, whole)
	for name, row := range map[string]struct {
		coding, body string
		status       int
		says         string
	}{
		"a bomb": {
			"gzip", zip(t, strings.Repeat(" ", 64<<20)), http.StatusRequestEntityTooLarge, "larger than 65536 bytes",
		},
		"members forever": {
			"gzip", strings.Repeat(zip(t, ""), 8<<10), http.StatusRequestEntityTooLarge, "larger than 65536 bytes",
		},
		"cut":            {"gzip", zipped[:len(zipped)-3], http.StatusBadRequest, "not whole gzip"},
		"spoilt":         {"gzip", zipped[:len(zipped)-8] + "12345678", http.StatusBadRequest, "not whole gzip"},
		"plain":          {"gzip", whole, http.StatusBadRequest, "not whole gzip"},
		"nothing":        {"gzip", "", http.StatusBadRequest, "not whole gzip"},
		"another coding": {"br", whole, http.StatusBadRequest, "plain or as gzip"},
		"coded twice":    {"gzip, gzip", zipped, http.StatusBadRequest, "plain or as gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/rpc/eth_mainnet",
				io.MultiReader(strings.NewReader(row.body)))
			g.Must(err) // its length is not announced
			req.Header.Set("Authorization", "Bearer "+g.DoorKey())
			req.Header.Set("Content-Encoding", row.coding)
			a := g.Send(req)
			if a.Refused(row.status, -32600); !strings.Contains(a.Envelope().Error.Message, row.says) {
				t.Errorf("%s", a.Body)
			}
		})
	}
	if g.Sent("eth_call") != 4 {
		t.Errorf("%d calls were relayed", g.Sent("eth_call"))
	}
}
