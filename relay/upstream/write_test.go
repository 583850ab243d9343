package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

func TestSubmit_SendsExactlyOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, reply := range failing(testkit.Upstream(t)) {
		if isWriteAnswer(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := twoUpstreams(t)
			first.Default(reply)
			r := request("eth_sendRawTransaction")
			_, f := c.Submit(deadline(t, testTimeout), r)
			if f == nil || f.Reason != fault.OutcomeUnknown {
				t.Errorf("got %v, want an unknown outcome", f)
			}
			if first.Total() != 1 || second.Total() != 0 {
				t.Errorf("%d and %d requests were sent", first.Total(), second.Total())
			}
			if r.Asked != (Asked{Upstream: "up-0", Attempts: 1}) {
				t.Errorf("asked is %+v", r.Asked)
			}
		})
	}
}

// isWriteAnswer reports whether a reply makes a read try another upstream, but is the answer to a
// write, or certainly no attempt at one.
func isWriteAnswer(name string) bool {
	switch name {
	case "429 in band", "billing in band", "denied in band", "absent", "plan", "401", "402", "403", "413", "429",
		"range", "missing data", "execution timeout":
		return true
	}
	return false
}

func TestSubmit_PassesTheNodesOwnErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		code    int
		message string
	}{
		{-32000, "already known"},
		{-32000, "nonce too low"},
		{-32017, "the network did not say"},
		{-32000, "sender is over rate limit"},
		{-32000, "account limit exceeded: pooled 16 txs"},
	} {
		c, first, second := twoUpstreams(t)
		first.Default(testkit.Error(row.code, row.message))
		answer, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
		if f != nil {
			t.Fatalf("%s: %v", row.message, f)
		}
		if want := fmt.Sprintf(`{"code":%d,"message":%q}`, row.code, row.message); string(answer.Error) != want {
			t.Errorf("got %s, want %s", answer.Error, want)
		}
		answer.Release()
		if first.Total() != 1 || second.Total() != 0 {
			t.Errorf("%s: %d and %d requests were sent", row.message, first.Total(), second.Total())
		}
		if c.endpoints[0].health.inARow > 0 {
			t.Errorf("%s: the upstream is blamed", row.message)
		}
	}
}

// A provider that refuses the key, the plan, the rate or the method has sent nothing on: the caller
// is told so. The rule of one endpoint holds all the same.
func TestSubmit_TellsThatAProviderRefusedBeforeItSentAnything(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testkit.Reply{
		"429": testkit.TooMany(time.Second), "401": testkit.Status(http.StatusUnauthorized),
		"402": testkit.Status(http.StatusPaymentRequired), "403": testkit.Status(http.StatusForbidden),
		"413":            testkit.HTML(http.StatusRequestEntityTooLarge),
		"rate in band":   testkit.Error(-32005, "rate limit reached"),
		"key in band":    testkit.Error(-32000, "invalid api key"),
		"method in band": testkit.Error(-32601, "the method eth_sendRawTransaction does not exist/is not available"),
		"plan in band":   testkit.Error(-32600, "eth_sendRawTransaction is not available on the Free tier"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := twoUpstreams(t)
			first.Default(reply)
			_, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
			require.NotNil(t, f)
			expect.Equal(t, f.Reason, fault.UpstreamFailed)
			expect.Contains(t, f.Message, "was not sent")
			if first.Total() != 1 || second.Total() != 0 {
				t.Errorf("%d and %d requests were sent", first.Total(), second.Total())
			}
		})
	}
}

// What a node did before it failed by itself is not known.
func TestSubmit_DoesNotKnowWhatAFailingNodeDid(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	first.Default(testkit.Error(-32603, "Internal error"))
	_, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
	require.NotNil(t, f)
	expect.Equal(t, f.Reason, fault.OutcomeUnknown)
	expect.Equal(t, first.Total(), 1)
	expect.Equal(t, second.Total(), 0)
}

func TestSubmit_TimeoutIsNotSentAgain(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	first.Default(testkit.Hang(nil))
	_, f := c.Submit(deadline(t, 200*time.Millisecond), request("eth_sendRawTransaction"))
	require.NotNil(t, f)
	expect.Equal(t, f.Reason, fault.OutcomeUnknown)
	expect.Equal(t, first.Total(), 1)
	expect.Equal(t, second.Total(), 0)
}

func TestSubmit_GoesOnWhenItsClientGoesAway(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	first.Default(testkit.Hang(testkit.Result("0xhash")))
	ctx, cancel := context.WithCancel(deadline(t, testTimeout))
	done := make(chan string, 1)
	go func() {
		answer, f := c.Submit(ctx, request("eth_sendRawTransaction"))
		if f != nil {
			done <- f.Error()
			return
		}
		defer answer.Release()
		done <- string(answer.Result)
	}()
	testkit.Eventually(t, testTimeout, func() bool { return first.Total() == 1 }, "the submission arrives")
	cancel()
	first.Release()
	if got := <-done; got != `"0xhash"` || second.Total() != 0 {
		t.Errorf("got %s, and %d requests at the other upstream", got, second.Total())
	}
}

func TestSubmit_RefusedConnectionLeavesItToTheNext(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	first.Close()
	second.Default(testkit.Result("0xhash"))
	r := request("eth_sendRawTransaction")
	answer, f := c.Submit(deadline(t, testTimeout), r)
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	if second.Total() != 1 || r.Asked != (Asked{Upstream: "up-1", Attempts: 2}) {
		t.Errorf("%d requests, asked %+v", second.Total(), r.Asked)
	}
	second.Close()
	if _, f := c.Submit(deadline(t, testTimeout), r); f == nil || f.Reason != fault.UpstreamFailed {
		t.Errorf("with everyone down: %v", f)
	}
}

func TestSubmit_ConnectionResetOnAcceptSendsAtMostOnce(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	first.ResetConnections(100)
	answer, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
	switch {
	case f == nil: // the reset was seen while connecting: nothing was sent, and the other upstream was used
		answer.Release()
		if second.Total() != 1 {
			t.Errorf("%d requests at the other upstream", second.Total())
		}
	case f.Reason != fault.OutcomeUnknown || second.Total() != 0:
		t.Errorf("got %v, and %d requests at the other upstream", f, second.Total())
	}
	if first.Connections() != 1 || first.Total() != 0 {
		t.Errorf("%d connections and %d requests", first.Connections(), first.Total())
	}
}

func TestSubmit_DeadKeptConnectionsDoNotRepeatIt(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	for i := range 5 {
		answer, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
		first.DropConnections()
		second.DropConnections()
		// A slow machine may make the other one the favourite in the meantime.
		if n, m := first.Total()+second.Total(), first.Connections()+second.Connections(); n != i+1 || m != i+1 {
			t.Fatalf("after %d submissions: %d requests over %d connections", i+1, n, m)
		}
	}
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
	_, c := poolOf(t, chain.EthMainnet, time.Now, []config.Upstream{{Name: "up-0", URL: server.URL, Supply: "public"}})
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
	_, c := poolOf(t, chain.EthMainnet, time.Now, []config.Upstream{
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
	_, c := poolOf(t, chain.EthMainnet, time.Now, []config.Upstream{
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

func TestSubmit_NeedsAProvenUpstream(t *testing.T) {
	t.Parallel()
	u := testkit.Upstream(t)
	_, c := poolOf(t, chain.EthMainnet, time.Now, providers(u))
	_, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction"))
	require.NotNil(t, f)
	expect.Equal(t, f.Reason, fault.NoUpstream)
	expect.NotEqual(t, f.RetryAfter, 0)
	expect.Equal(t, u.Total(), 0)
}
