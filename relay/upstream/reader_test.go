package upstream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

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
	_, c := poolOf(t, chain.EthMainnet, time.Now, []config.Upstream{
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
