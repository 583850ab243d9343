package http1

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// Every request that the fast path accepts as plain must mean the same to net/http (request
// smuggling).
func FuzzPlainRequestsAreReadAsNetHTTPReadsThem(f *testing.F) {
	const plainHead = "POST /rpc/eth_mainnet HTTP/1.1\r\nHost: a.example\r\nContent-Length: 4\r\n"
	for _, seed := range []string{
		plainHead + "\r\nbody",
		plainHead + "Authorization: Bearer k\r\ncontent-type:application/json\r\nX-Route-Tier:\t fast \r\n\r\nbody",
		plainHead + "X-A: 1\r\nx-a: 2\r\nConnection: close\r\n\r\nbodyPOST /rpc/",
		plainHead + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		plainHead + "Content-Length: 5\r\n\r\nbody",
		plainHead + "Host: b\r\n\r\nbody",
		plainHead + "A : b\r\n\r\nbody",
		plainHead + " folded\r\n\r\nbody",
		plainHead + "Connection: keep-alive, upgrade\r\nUpgrade: h2c\r\n\r\nbody",
		plainHead + "Expect: 100-continue\r\n\r\nbody",
		plainHead + "Pragma: no-cache\r\n\r\nbody",
		plainHead + "X: \x00\r\n\r\nbody", plainHead + "X: \xff\r\n\r\nbody", plainHead + "X: a\nY: b\r\n\r\nbody",
		plainHead + "X: a\rb\r\n\r\nbody", get("/toolbox/gas/base_mainnet"), get("/toolbox/ens/vitalik.eth"),
		get("/toolbox/prices?symbols=ETH,BTC"), get("/data/history?a=b&a=c"),
		get("/toolbox/ens/%F0%9F%A6%84.eth?x=%zz"), get("/toolbox/a%2Fb"), get("/toolbox/%2e%2e/keys"),
		get("/toolbox/%zz"), get("/toolbox/%"), get("/toolbox/x?"), get("/toolbox/x??"), get("/toolbox/x?a?"),
		get("/toolbox/x?a=b+c%20d;e"), get("/toolbox/x#y"), get("/toolbox/a:b@c"), get("/toolbox/../keys"),
		get("/toolbox/./x"), get("/toolbox//x"), get("//toolbox/x"), get("/toolbox/a!b"),
		get("/toolbox/x?a=[b]|^`\"<>{}"), get("http://b/toolbox/x"), get("/toolbox/\xff"), get("/toolbox/x y"),
		get("/toolbox/x", "Content-Length: 0"), get("/toolbox/x", "Content-Length: 2"),
		get("/toolbox/x", "If-None-Match: \"a\"", "Range: bytes=0-1", "Cookie: a=b"),
		get("/toolbox/x", "Upgrade: h2c", "Connection: upgrade"), "GET /toolbox/x HTTP/1.0\r\nHost: a\r\n\r\n",
		"GET /toolbox/x\r\nHost: a\r\n\r\n", "HEAD /toolbox/x HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET  /toolbox/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /toolbox/x  HTTP/1.1\r\nHost: a\r\n\r\n",
		"get /toolbox/x HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /toolbox/x?y=%31&z HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "GET /toolbox/", "GET /to",
		"GET /toolbox/ HTTP/1.1\r\n\r\n", "POST //rpc/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
		"POST /rpc/x?y=%31 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
		"POST /rpc/x HTTP/1.0\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
		"POST /rpc/x HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		"POST /rpc/x HTTP/1.1\r\nHost: a:80\r\nContent-Length: +1\r\n\r\nx",
		"POST /rpc/x HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 01\r\n\r\nx", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET /rpc/x HTTP/1.1\r\nHost: a\r\n\r\n", "POST /rpc/", "",
	} {
		f.Add(seed)
	}
	fast := openings([]string{"/rpc/", "/toolbox/", "/data/"})
	f.Fuzz(func(t *testing.T, text string) {
		fields := fields{header: http.Header{}}
		h, v := parse([]byte(text), fast, &fields)
		if v != plain {
			return
		}
		want, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			t.Fatalf("%q: net/http refuses it: %v", text, err)
		}
		in := expect.In(t, "%q", text)
		require.Equal(in, want.Method, h.method)
		require.Equal(in, *want.URL, h.location)
		require.Equal(in, want.RequestURI, h.target)
		require.Equal(in, want.Host, h.host)
		require.Equal(in, want.ContentLength, int64(h.length))
		require.Equal(in, want.Close, h.closes)
		require.AtMost(in, len(want.TransferEncoding), 0, want.TransferEncoding)
		require.True(in, want.ProtoAtLeast(1, 1))
		if !maps.EqualFunc(want.Header, fields.header, func(a, b []string) bool {
			return strings.Join(a, "\x00") == strings.Join(b, "\x00")
		}) {
			t.Fatalf("%q: %v, net/http reads %v", text, fields.header, want.Header)
		}
		if len(text) >= h.size+h.length {
			body, err := io.ReadAll(want.Body)
			if err != nil || !bytes.Equal(body, []byte(text[h.size:h.size+h.length])) {
				t.Fatalf("%q: another body: %q %v", text, body, err)
			}
		}
	})
}

// get returns a request without a body.
func get(target string, fields ...string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: a.example\r\n" + strings.Join(append(fields, "", ""), "\r\n")
}
