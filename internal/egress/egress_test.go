package egress_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/chainaccess/gateway/internal/egress"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// patience is far longer than a test takes on a slow machine.
const patience = time.Minute

func TestURLs_ThatAreNotPublicHTTPSAreRefusedUnasked(t *testing.T) {
	t.Parallel()
	client := egress.New(egress.Options{Now: time.Now, Resolver: resolver(t, nil), Timeout: patience})
	for _, url := range []string{
		"", "gateway.example", "//gateway.example/x", "https://", "https:///x", "https:gateway.example",
		"http://gateway.example/", "ftp://gateway.example/", "file:///etc/passwd", "data:application/json,{}",
		"x-batch-gateway:true", "gopher://gateway.example:443/", "https://gateway.example:8443/",
		"https://gateway.example:80/", "https://user:secret@gateway.example/", "https://user@gateway.example/",
		"https://gateway.example:port/", "https://gateway.example\r\nX-Header: 1/", "https://[::1/", "https://%zz/",
		"https://gateway.example/" + strings.Repeat("a", egress.MaxURL),
	} {
		if _, err := client.Do(t.Context(), egress.Request{URL: url}); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%.60q: %v, want ErrRefused", url, err)
		}
	}
}

func TestAddresses_InsideAreRefusedHoweverWritten(t *testing.T) {
	t.Parallel()
	inside := map[string]string{
		"loopback.test": "127.0.0.1", "loopback6.test": "::1", "private.test": "10.1.2.3",
		"metadata.test": "169.254.169.254", "unspecified.test": "0.0.0.0", "shared.test": "100.64.0.1",
		"mapped.test": "::ffff:127.0.0.1", "nat64.test": "64:ff9b::7f00:1", "local.test": "fd00::1",
		"multicast.test": "224.0.0.1",
	}
	client := egress.New(egress.Options{Now: time.Now, Resolver: resolver(t, inside), Timeout: patience})
	hosts := []string{
		"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::]", "0.0.0.0", "169.254.169.254",
		"[fe80::1%25lo]", "10.0.0.1",
	}
	for name := range inside {
		hosts = append(hosts, name)
	}
	for _, host := range hosts {
		if _, err := client.Do(t.Context(), egress.Request{URL: "https://" + host + "/{data}"}); !errors.Is(err,
			egress.ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", host, err)
		}
	}
}

// Trust is limited to the host's port.
func TestTrustedHost_IsReachedAtItsPortOnly(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "secure")
	}))
	t.Cleanup(secure.Close)
	plain, client := serve(t, 0, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "plain") })
	if got, err := client.Do(t.Context(), egress.Request{URL: plain}); err != nil || string(got.Body) != "plain" {
		t.Errorf("the trusted host: %q, %v", got.Body, err)
	}
	if _, err := client.Do(t.Context(), egress.Request{URL: secure.URL}); !errors.Is(err, egress.ErrRefused) {
		t.Errorf("another port of it: %v, want ErrRefused", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	_, port, _ := net.SplitHostPort(secure.Listener.Addr().String())
	client = egress.New(egress.Options{
		Now: time.Now, Trusted: []string{"Example.com:" + port}, Roots: roots,
		Resolver: resolver(t, map[string]string{"example.com": "127.0.0.1"}), Timeout: patience,
	})
	if got, err := client.Do(t.Context(), egress.Request{URL: "https://EXAMPLE.com:" + port + "/"}); err != nil ||
		string(got.Body) != "secure" {
		t.Errorf("a trusted name with a certificate: %q, %v", got.Body, err)
	}
}

func TestCertificates_AreChecked(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	client := egress.New(egress.Options{
		Now: time.Now, Trusted: []string{server.Listener.Addr().String()}, Timeout: patience,
	})
	_, err := client.Do(t.Context(), egress.Request{URL: server.URL})
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown {
		t.Errorf("a certificate of nobody's: %v", err)
	}
}

func TestRedirects_AreNotFollowed(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	for _, status := range []int{301, 302, 303, 307, 308} {
		url, client := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
			visits.Add(1)
			http.Redirect(w, r, "/elsewhere", status)
		})
		got, err := client.Do(t.Context(), egress.Request{URL: url, Body: []byte(`{}`)})
		in := expect.In(t, "%d", status)
		require.NoError(in, err)
		expect.Equal(in, got.Status, status)
		expect.AtMost(in, len(got.Body), 0, got.Body)
	}
	if visits.Load() != 5 {
		t.Errorf("%d requests for 5 redirects", visits.Load())
	}
}

func TestRequests_CarryNothingOfOurs(t *testing.T) {
	t.Parallel()
	var seen http.Header
	var method string
	url, client := serve(t, 0, func(_ http.ResponseWriter, r *http.Request) {
		seen, method = r.Header.Clone(), r.Method
	})
	for _, body := range [][]byte{nil, []byte(`{"data":"0x"}`)} {
		if _, err := client.Do(t.Context(), egress.Request{URL: url, Body: body}); err != nil {
			t.Fatal(err)
		}
		for name := range seen {
			switch name {
			case "Accept", "User-Agent", "Content-Type", "Content-Length":
			default:
				t.Errorf("%s sends %s: %v", method, name, seen[name])
			}
		}
		if want := map[bool]string{true: "GET", false: "POST"}[body == nil]; method != want {
			t.Errorf("%s, want %s", method, want)
		}
	}
}

func TestAnswers_LongAreAbandoned(t *testing.T) {
	t.Parallel()
	const pieces = 1 << 14 // of 64 KiB each: 1 GiB
	sent := make(chan int)
	url, client := serve(t, 0, func(w http.ResponseWriter, _ *http.Request) {
		n := 0
		defer func() { sent <- n }()
		for piece := make([]byte, 64<<10); n < pieces; n++ {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	if _, err := client.Do(t.Context(), egress.Request{URL: url}); !errors.Is(err, egress.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
	if n := <-sent; n > pieces/8 {
		t.Errorf("%d of %d pieces were sent", n, pieces)
	}

	url, client = serve(t, 0, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, egress.MaxAnswer))
	})
	if got, err := client.Do(t.Context(), egress.Request{URL: url}); err != nil || len(got.Body) != egress.MaxAnswer {
		t.Errorf("an answer of the greatest length: %d bytes, %v", len(got.Body), err)
	}
}

func TestAnswers_WithLongHeadersAreAbandoned(t *testing.T) {
	t.Parallel()
	url, client := serve(t, 0, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("a", 1<<20))
	})
	if got, err := client.Do(t.Context(), egress.Request{URL: url}); err == nil {
		t.Errorf("a mebibyte of headers: %+v", got)
	}
}

func TestHosts_ThatNeverAnswerAreAbandoned(t *testing.T) {
	t.Parallel()
	for name, behave := range map[string]func(http.ResponseWriter, *http.Request){
		"no header": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"half a body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"data":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		url, client := serve(t, 50*time.Millisecond, behave)
		if _, err := client.Do(t.Context(), egress.Request{URL: url}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want the deadline", name, err)
		}
		if _, err := client.Do(t.Context(), egress.Request{URL: url}); !errors.Is(err, egress.ErrAway) {
			t.Errorf("%s, asked again: %v, want ErrAway", name, err)
		}
	}
}

// A client's own cancellation says nothing about the host.
func TestHosts_AreNotAvoidedBecauseTheCallerLeft(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	url, client := serve(t, 0, func(_ http.ResponseWriter, r *http.Request) {
		if visits.Add(1) == 1 {
			<-r.Context().Done()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Do(ctx, egress.Request{URL: url}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the deadline", err)
	}
	if _, err := client.Do(t.Context(), egress.Request{URL: url}); err != nil {
		t.Errorf("asked again: %v", err)
	}
}

// serve returns a server's address and a client that trusts it.
func serve(t *testing.T, timeout time.Duration, behave http.HandlerFunc) (string, *egress.Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(behave)
	server.Config.ErrorLog = quiet()
	server.Start()
	t.Cleanup(server.Close)
	if timeout == 0 {
		timeout = patience
	}
	return server.URL, egress.New(egress.Options{
		Now: time.Now, Trusted: []string{server.Listener.Addr().String()}, Timeout: timeout,
	})
}

// resolver returns a resolver that knows only the given names.
func resolver(t *testing.T, names map[string]string) *net.Resolver {
	t.Helper()
	var listen net.ListenConfig
	conn, err := listen.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		query := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			if answer, err := answerQuery(query[:n], names); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	var dialer net.Dialer
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func answerQuery(query []byte, names map[string]string) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	text, known := names[strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")]
	if !known {
		m.RCode = dnsmessage.RCodeNameError
		return m.Pack()
	}
	address := netip.MustParseAddr(text)
	header := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
	switch {
	case q.Type == dnsmessage.TypeA && address.Is4():
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
	case q.Type == dnsmessage.TypeAAAA && address.Is6():
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
	}
	return m.Pack()
}

// quiet discards what servers log about clients that disconnect.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
