package upstream

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/chain"
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
			`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 2*peekBytes))
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
		if n, ok := reads.(*negotiated); ok {
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

func TestScrub_ErrorsSayWhatWentWrongWithoutSayingWhere(t *testing.T) {
	t.Parallel()
	peer := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 8545}
	reset := &net.OpError{Op: "read", Net: "tcp", Source: peer, Addr: peer, Err: syscall.ECONNRESET}
	for want, err := range map[string]error{
		"read: connection reset by peer": fmt.Errorf("net/http: reading from %s: %w", peer,
			reset),
		"write: broken pipe": &net.OpError{
			Op: "write", Addr: peer, Err: syscall.EPIPE,
		},
		"the host name was not found": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{
				Err: "no such host", Name: "node", Server: "10.1.2.3:53", IsNotFound: true,
			},
		},
		"the host name could not be looked up: temporary failure": &net.DNSError{
			Err: "server misbehaving", Name: "node", IsTemporary: true,
		},
		"the host name could not be looked up": &net.DNSError{Err: "unrecognized", Name: "node"},
		"looking up the host name took too long": &net.DNSError{
			Err: "i/o timeout", Name: "node", IsTimeout: true,
		},
		"dial: missing port in address": &net.OpError{
			Op: "dial", Err: &net.AddrError{Err: "missing port in address", Addr: "node"},
		},
		"invalid IP address": &net.ParseError{Type: "IP address", Text: "node"},
		"the certificate is for another host name": x509.HostnameError{
			Certificate: &x509.Certificate{DNSNames: []string{"node"}}, Host: "node",
		},
		"the certificate is signed by an unknown authority": &url.Error{
			Op: "Post", URL: "https://node", Err: x509.UnknownAuthorityError{},
		},
		"the certificate has expired or is not valid yet": x509.CertificateInvalidError{
			Reason: x509.Expired, Detail: "node",
		},
		"the certificate is not valid": x509.CertificateInvalidError{
			Reason: x509.NameMismatch, Detail: "node",
		},
		"EOF": errors.New("EOF"),
		"no route to [redacted] via [redacted] and [redacted], [redacted] [redacted]": errors.New(
			"no route to [2001:db8::1]:443 via 10.1.2.3:80 and 10.1.2.3, fe80::1:2 other.example:8545"),
		"[redacted] hung up": errors.New("node hung up"),
	} {
		if got := withoutAddress(err, "node"); got != want {
			t.Errorf("%v became %q, want %q", err, got, want)
		}
	}
}
