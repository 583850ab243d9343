package upstream

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// resetting starts a server that reads a request and resets its connection.
func resetting(t *testing.T) (port string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c))
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestScrub_ErrorsOfReadsAndSubmissionsNameNoAddress(t *testing.T) {
	t.Parallel()
	reset := resetting(t)
	secure := httptest.NewTLSServer(nil)
	t.Cleanup(secure.Close)
	for name, address := range map[string]string{
		"refused by name":        "http://localhost:1/v2",
		"refused by name, TLS":   "https://localhost:1/v2",
		"refused by IP":          "http://127.0.0.1:1/v2",
		"refused by IPv6":        "http://[::1]:1/v2",
		"reset by name":          "http://localhost:" + reset,
		"reset by IP":            "http://127.0.0.1:" + reset,
		"reset in the handshake": "https://127.0.0.1:" + reset,
		"unknown certificate":    secure.URL,
		"plain to TLS":           "http" + strings.TrimPrefix(secure.URL, "https"),
		"no such host":           "http://no-such-host.invalid:4711",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			_, c := poolOf(t, chain.EthMainnet, time.Now, []config.Upstream{
				{Name: "first", URL: address, Supply: "public"},
			})
			e := c.endpoints[0]
			_, _, _, readErr := e.exchange(t.Context(), request("eth_call").body(), 1<<20, time.Now().Add(testTimeout))
			_, _, submitErr := e.submit(deadline(t, testTimeout), request("eth_call").body())
			for way, err := range map[string]error{"read": readErr, "submission": submitErr} {
				if err == nil {
					t.Fatalf("%s: no error", way)
				}
				for cause := err; cause != nil; cause = errors.Unwrap(cause) {
					for _, secret := range []string{"127.0.0.1", "localhost", "::1", "no-such-host", ":" + u.Port()} {
						if strings.Contains(cause.Error(), secret) {
							t.Errorf("%s: %q names %s", way, cause, secret)
						}
					}
				}
			}
			if want := "upstream first: dial: connect: connection refused"; strings.HasPrefix(name, "refused") &&
				name != "refused by IPv6" &&
				(readErr.Error() != want || submitErr.Error() != want) {
				t.Errorf("they say %q and %q", readErr, submitErr)
			}
		})
	}
}

// Errors in the middle of an answer are logged too.
func TestScrub_ResetStreamsNameNoAddress(t *testing.T) {
	t.Parallel()
	cut := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = out.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" +
			`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 2*transport.PeekBytes))
		_ = out.Flush()
		under := conn
		if secure, ok := conn.(*tls.Conn); ok {
			under = secure.NetConn()
		}
		if tcp, ok := under.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = under.Close()
	})
	plain, secure := httptest.NewServer(cut), httptest.NewTLSServer(cut)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	for _, server := range []*httptest.Server{plain, secure} {
		_, c := poolOf(t, chain.EthMainnet, time.Now, []config.Upstream{
			{Name: "first", URL: server.URL, Supply: "public"},
		})
		reads := c.endpoints[0].reads
		if n, ok := reads.(*transport.Negotiated); ok {
			n.TLSClientConfig = trusting(server)
		}
		resp, err := reads.Do(t.Context(), []byte(`{}`), time.Now().Add(testTimeout))
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if err == nil || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: the error is %v", server.URL, err)
		}
	}
}

const pathCanary = "canary+path/ABCDEF=="

func TestScrub_TransportErrorsDoNotNameTheAddress(t *testing.T) {
	t.Parallel()
	_, c := poolOf(t, chain.EthMainnet, time.Now, []config.Upstream{{
		Name: "up-0", URL: "http://" + "canaryuser" + ":secretpass@no-such-host-canary-99.invalid/" +
			url.PathEscape(pathCanary), Supply: "public",
	}})
	e := c.endpoints[0]
	_, _, _, err := e.exchange(t.Context(), []byte(`{}`), 1<<20, time.Now().Add(testTimeout))
	require.Error(t, err)
	expect.NotContains(t, err.Error(), "canary")
	expect.Contains(t, err.Error(), "up-0")
	wrapped := e.safe(&url.Error{
		Op: "Post", URL: "http://host/" + pathCanary, Err: errors.New("refused by " + pathCanary),
	})
	if strings.Contains(wrapped.Error(), "canary") {
		t.Errorf("the error is %v", wrapped)
	}
}
