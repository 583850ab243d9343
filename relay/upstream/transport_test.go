package upstream

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// certificate returns a self-signed certificate for a host, valid from now for life.
func certificate(t *testing.T, host string, life time.Duration) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, parsed
}

// overTLS serves handler with a certificate over HTTP/2 and HTTP/1.1, as an upstream that is asked
// before second.
func overTLS(t *testing.T, c tls.Certificate, trusted *x509.Certificate, handler http.Handler,
	second ...*testkit.UpstreamServer,
) *Chain {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	list := append([]config.Upstream{{URL: server.URL + "/canary-path"}}, providers(second...)...)
	for i := range list {
		list[i].Name, list[i].Supply = []string{"up-0", "up-1"}[i], "public"
	}
	_, on := poolOf(t, time.Now, list)
	on.Apply(healthy(on, time.Now()))
	if trusted != nil {
		roots := x509.NewCertPool()
		roots.AddCert(trusted)
		reads, ok := on.endpoints[0].reads.(*transport.Negotiated)
		if !ok {
			t.Fatal("what is behind TLS is net/http's")
		}
		reads.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		on.endpoints[0].writes.TLSClientConfig = reads.TLSClientConfig.Clone()
	}
	return on
}

func TestTLS_UpstreamWhoseCertificateFailsGetsNothing(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, row := range map[string]struct {
		host    string
		life    time.Duration
		trusted bool
	}{
		"signed by nobody known": {"127.0.0.1", day, false},
		"of another host":        {"node.example", day, true},
		"over":                   {"127.0.0.1", -time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			second := testkit.Upstream(t)
			second.Default(testkit.Result("0xgood"))
			pair, parsed := certificate(t, row.host, row.life)
			if !row.trusted {
				parsed = nil
			}
			c := overTLS(t, pair, parsed, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				t.Error("a request came")
			}), second)
			answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
			if f != nil || string(answer.Result) != `"0xgood"` {
				t.Fatalf("a read gives %v, %v", answer, f)
			}
			answer.Release()
			if c.endpoints[0].health.inARow != 1 {
				t.Error("the upstream was not blamed")
			}
			if answer, f = c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction")); f != nil {
				t.Fatalf("nothing was sent, yet a submission gives %v", f)
			}
			answer.Release()
			_, _, _, err := c.endpoints[0].exchange(t.Context(), request("eth_call").body(), 1<<20,
				time.Now().Add(testTimeout))
			require.Error(t, err)
			expect.NotContains(t, err.Error(), "canary")
			expect.NotContains(t, err.Error(), "127.0.0.1")
		})
	}
}

func TestTLS_UpstreamsSpeakHTTP2AndGzip(t *testing.T) {
	t.Parallel()
	pair, parsed := certificate(t, "127.0.0.1", time.Hour)
	var mu sync.Mutex
	connections := make(map[string]int)
	c := overTLS(t, pair, parsed, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr+" "+r.Proto+" "+r.Header.Get("Accept-Encoding")]++
		mu.Unlock()
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, answerTo(r.Body))
		_ = z.Close()
	}))
	read := func() {
		answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
		if f != nil || string(answer.Result) != `"0x1"` {
			t.Errorf("got %v, %v", answer, f)
			return
		}
		answer.Release()
	}
	read()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(read)
	}
	wg.Wait()
	if len(connections) != 1 {
		t.Errorf("21 reads came over %v, want one connection", connections)
	}
	for how := range connections {
		if !strings.HasSuffix(how, " HTTP/2.0 gzip") {
			t.Errorf("reads came over %s", how)
		}
	}
}

func TestHTTP2_WithoutTLSIsForReadsAndHTTP1ForSubmissions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Proto+" "+r.Header.Get("Accept-Encoding"))
		_, _ = io.WriteString(w, answerTo(r.Body))
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	_, c := poolOf(t, time.Now, []config.Upstream{
		{Name: "up-0", URL: server.URL, Supply: "public", HTTP2: true},
	})
	c.Apply(healthy(c, time.Now()))
	for _, method := range []string{"eth_call", "eth_sendRawTransaction", "eth_call"} {
		ask := c.Read
		if method != "eth_call" {
			ask = c.Submit
		}
		answer, f := ask(deadline(t, testTimeout), request(method))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	if got := strings.Join(seen, ","); got != "HTTP/2.0 ,HTTP/1.1 ,HTTP/2.0 " {
		t.Errorf("requests came over %q", got)
	}
}

// Frame types of HTTP/2 (RFC 9113, section 6).
const (
	frameData     = 0
	frameHeaders  = 1
	frameSettings = 4
	frameGoAway   = 7
	endStream     = 1
	endHeaders    = 4
)

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload []byte) {
	b := []byte{0, byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	b = binary.BigEndian.AppendUint32(b, stream)
	_, _ = w.Write(append(b, payload...))
}

// readRequest reads frames until a request begins, and its body in the next frame if whole is true.
func readRequest(r io.Reader, whole bool) (stream uint32, body []byte, err error) {
	for {
		var header [9]byte
		if _, err := io.ReadFull(r, header[:]); err != nil {
			return 0, nil, err
		}
		body = make([]byte, int(header[0])<<16|int(header[1])<<8|int(header[2]))
		if _, err := io.ReadFull(r, body); err != nil {
			return 0, nil, err
		}
		if kind := header[3]; (kind == frameHeaders && !whole) || (kind == frameData && whole && len(body) > 0) {
			return binary.BigEndian.Uint32(header[5:]), body, nil
		}
	}
}

// leaving starts an HTTP/2 server that refuses requests on its first connections (GOAWAY) and
// answers on later ones.
func leaving(t *testing.T, refusing int64) (e *Endpoint, requests *atomic.Int64) {
	t.Helper()
	trusted := httptest.NewTLSServer(nil)
	t.Cleanup(trusted.Close)
	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: trusted.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	requests = new(atomic.Int64)
	serve := func(c net.Conn, refuse bool) {
		defer func() { _ = c.Close() }()
		br := bufio.NewReader(c)
		if _, err := io.CopyN(io.Discard, br, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
			return
		}
		writeFrame(c, frameSettings, 0, 0, nil)
		for {
			stream, body, err := readRequest(br, !refuse)
			if err != nil {
				return
			}
			requests.Add(1)
			if refuse {
				writeFrame(c, frameGoAway, 0, 0, make([]byte, 8)) // no stream was processed, no error
				continue
			}
			writeFrame(c, frameHeaders, endHeaders, stream, []byte{0x88}) // :status 200 of HPACK's static table
			writeFrame(c, frameData, endStream, stream, []byte(answerTo(bytes.NewReader(body))))
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := int64(0); ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serve(c, n < refusing) })
		}
	})
	_, c := poolOf(t, time.Now, []config.Upstream{
		{Name: "up-0", URL: "https://" + l.Addr().String(), Supply: "public"},
	})
	e = c.endpoints[0]
	reads, ok := e.reads.(*transport.Negotiated)
	if !ok {
		t.Fatal("what is behind TLS is net/http's")
	}
	reads.TLSClientConfig = trusting(trusted)
	t.Cleanup(func() {
		reads.CloseIdleConnections()
		_ = l.Close()
		wg.Wait()
	})
	return e, requests
}

func TestRead_UntakenByAnHTTP2ServerIsSentOnceMore(t *testing.T) {
	t.Parallel()
	e, requests := leaving(t, 1)
	answer, _, _, err := e.exchange(t.Context(), request("eth_call").body(), 1<<20, time.Now().Add(testTimeout))
	if err != nil {
		t.Fatal(err)
	}
	answer.Release()
	if requests.Load() != 2 {
		t.Errorf("%d requests", requests.Load())
	}
}

func TestRead_ServerThatTakesNoneIsLeftForTheNext(t *testing.T) {
	t.Parallel()
	e, requests := leaving(t, 1<<30)
	_, _, _, err := e.exchange(t.Context(), request("eth_call").body(), 1<<20, time.Now().Add(testTimeout))
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if requests.Load() != 2 {
		t.Errorf("%d requests", requests.Load())
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSubmit_CannotBeRewound(t *testing.T) {
	t.Parallel()
	e, _ := leaving(t, 0)
	var seen *http.Request
	//nolint:bodyclose // it fails
	_, err := e.post(t.Context(), roundTripper(func(r *http.Request) (*http.Response, error) {
		seen = r
		return nil, io.EOF
	}), []byte(`{}`))
	expect.Error(t, err)
	require.NotNil(t, seen)
	expect.Nil(t, seen.GetBody)
}

// trusting returns a configuration that trusts a test server's certificate.
func trusting(server *httptest.Server) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// TestSubmit_SpeaksHTTP1 checks that no HTTP/2 server can make a submission be retried with
// GOAWAY or REFUSED_STREAM: submissions do not even offer the protocol, while reads do.
func TestSubmit_SpeaksHTTP1(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Proto)
		mu.Unlock()
		_, _ = io.WriteString(w, answerTo(r.Body))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	_, c := poolOf(t, time.Now, []config.Upstream{{Name: "up-0", URL: server.URL, Supply: "public"}})
	c.Apply(healthy(c, time.Now()))
	reads, ok := c.endpoints[0].reads.(*transport.Negotiated)
	if !ok {
		t.Fatal("what is behind TLS is net/http's")
	}
	reads.TLSClientConfig = trusting(server)
	c.endpoints[0].writes.TLSClientConfig = trusting(server)
	for _, send := range []func(context.Context, *Request) (*Answer, *fault.Error){c.Submit, c.Read} {
		answer, f := send(deadline(t, testTimeout), request("eth_sendRawTransaction"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	in := expect.In(t, "the submission and the read came over")
	require.Len(in, seen, 2)
	expect.Equal(in, seen[0], "HTTP/1.1")
	expect.Equal(in, seen[1], "HTTP/2.0")
}

func TestSubmit_ServerThatInsistsOnHTTP2GetsNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	certificate := server.TLS.Certificates
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: certificate, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			received <- err.Error()
			return
		}
		defer func() { _ = conn.Close() }()
		begin := make([]byte, 4)
		_, _ = io.ReadFull(conn, begin)
		received <- string(begin)
	}()
	_, c := poolOf(t, time.Now, []config.Upstream{
		{Name: "up-0", URL: "https://" + listener.Addr().String(), Supply: "public"},
	})
	c.Apply(healthy(c, time.Now()))
	c.endpoints[0].writes.TLSClientConfig = trusting(server)
	_, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
	if f == nil || f.Reason != fault.OutcomeUnknown {
		t.Errorf("got %v", f)
	}
	if got := <-received; got != "POST" { // and not the preface of HTTP/2, "PRI "
		t.Errorf("the server read %q", got)
	}
	_ = listener.Close()
}

func TestSubmit_NoConnectionInTimeIsNoUnknownOutcome(t *testing.T) {
	t.Parallel()
	_, c := poolOf(t, time.Now, []config.Upstream{
		{Name: "up-0", URL: "http://127.0.0.1:1", Supply: "public"},
	})
	c.Apply(healthy(c, time.Now()))
	c.endpoints[0].writes.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done() // a host that drops packets
		return nil, ctx.Err()
	}
	_, f := c.Submit(deadline(t, 50*time.Millisecond), request("eth_sendRawTransaction"))
	if f == nil || f.Reason != fault.UpstreamTimeout {
		t.Errorf("got %v, though nothing was sent", f)
	}
}
