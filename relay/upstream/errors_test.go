package upstream

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
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
			_, c := poolOf(t, time.Now, []config.Upstream{
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
		_, c := poolOf(t, time.Now, []config.Upstream{
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
	_, c := poolOf(t, time.Now, []config.Upstream{{
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

// What two upstreams say decides about an error that no rule knows.
func TestRead_AsksOnceMoreAboutAnUnknownError(t *testing.T) {
	t.Parallel()
	unknown := testkit.Error(-32000, "something nobody has heard of")
	for name, row := range map[string]struct {
		second testkit.Reply
		want   string // of the answer; empty for a refusal
	}{
		"a result":       {testkit.Result("0xgood"), `"0xgood"`},
		"the same code":  {testkit.Error(-32000, "in other words"), `{"code":-32000,"message":"in other words"}`},
		"a known answer": {testkit.Error(3, "execution reverted"), `{"code":3,"message":"execution reverted"}`},
		"another code":   {testkit.Error(-7, "something else"), ""},
		"missing data":   {testkit.Error(-32000, "header not found"), `{"code":-32000,"message":"header not found"}`},
		"nothing at all": {testkit.Status(http.StatusBadGateway), `{"code":-32000,"message":"something nobody has ` +
			`heard of"}`},
		"a failing proxy": {testkit.Error(-32603, "Internal error"), `{"code":-32000,"message":"something nobody has ` +
			`heard of"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := twoUpstreams(t)
			first.Default(unknown)
			second.Default(row.second)
			answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
			if first.Total() != 1 || second.Total() != 1 {
				t.Errorf("%d and %d requests", first.Total(), second.Total())
			}
			if row.want == "" {
				require.NotNil(t, f)
				expect.Equal(t, f.Reason, fault.UpstreamFailed)
				expect.NotEqual(t, f.Data["upstream_error"], nil)
				return
			}
			if f != nil {
				t.Fatal(f)
			}
			defer answer.Release()
			if got := string(answer.Result) + string(answer.Error); got != row.want {
				t.Errorf("answered %s, want %s", got, row.want)
			}
			if c.endpoints[0].health.inARow != 0 {
				t.Error("the upstream is blamed")
			}
		})
	}
}

func TestRead_PassesAnUnknownErrorOfTheOnlyUpstream(t *testing.T) {
	t.Parallel()
	only := testkit.Upstream(t)
	_, c := poolOf(t, time.Now, providers(only))
	c.Apply(healthy(c, time.Now()))
	only.Default(testkit.Error(-32000, "something nobody has heard of"))
	answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	defer answer.Release()
	if !strings.Contains(string(answer.Error), "nobody") || only.Total() != 1 {
		t.Errorf("answered %s after %d requests", answer.Error, only.Total())
	}
}

// Errors that differ in numbers are one kind; their count is that of all processes, the sample has
// no credential, and both are bounded.
func TestBoard_HasUnknownErrorsByKind(t *testing.T) {
	t.Parallel()
	server := testkit.Upstream(t)
	list := providers(server)
	list[0].URL += "/v2/canary-credential-123"
	p, c := poolOf(t, time.Now, list)
	c.Apply(healthy(c, time.Now()))
	board := newBoard(t)
	e := c.endpoints[0]
	say := func(code int, message string) {
		server.Default(testkit.Error(code, message))
		answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	for i := range 3 {
		say(-7, fmt.Sprintf("shard %d of /v2/canary-credential-123 is odd", i))
		if err := board.putAllUnknown(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	say(-8, "shard 1 is odd")
	say(3, "execution reverted") // known
	if err := board.putAllUnknown(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	all, err := board.UnknownErrors(t.Context(), chain.EthMainnet)
	if err != nil || len(all) != 2 {
		t.Fatalf("the board has %+v, %v", all, err)
	}
	u := all[0]
	in := expect.In(t, "the most frequent")
	expect.Equal(in, u.Count, 3)
	expect.Equal(in, u.Code, -7)
	expect.Equal(in, u.Method, "eth_call")
	expect.Equal(in, u.Upstream, e.Name)
	expect.False(in, u.First.IsZero())
	expect.False(in, u.Last.IsZero())
	expect.HasPrefix(in, u.Message, "shard 0 of ")
	expect.NotContains(in, u.Message, "canary")
	for i := range 2 * maxReported {
		e.unknown.Note(time.Now(), []byte("eth_call"), errorObject(i, "odd"))
		if i%rules.MaxUnknown == 0 {
			if err := board.putAllUnknown(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if all, err = board.UnknownErrors(t.Context(), chain.EthMainnet); err != nil || len(all) > maxReported {
		t.Errorf("the board has %d kinds, %v", len(all), err)
	}
	if err := board.ForgetUnknownErrors(t.Context(), chain.EthMainnet); err != nil {
		t.Fatal(err)
	}
	if all, err = board.UnknownErrors(t.Context(), chain.EthMainnet); err != nil || len(all) != 0 {
		t.Errorf("after forgetting the board has %+v, %v", all, err)
	}
}

// A reload puts an operator's rules in force, also at upstreams that did not change.
func TestReload_PutsErrorRulesInForce(t *testing.T) {
	t.Parallel()
	list := providers(testkit.Upstream(t))
	p, c := poolOf(t, time.Now, list)
	e := c.endpoints[0]
	judged := func() rules.Meaning {
		v, _ := e.judge(http.StatusOK, errorObject(-7, "our own words"), nil)
		return v.meaning
	}
	before := judged()
	file := fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: list})
	file.Errors = []config.ErrorRule{{Verdict: "range_refused", Words: "our * words"}}
	if _, err := p.Reload(file); err != nil {
		t.Fatal(err)
	}
	if after := judged(); before != rules.Unknown || after != rules.Range {
		t.Errorf("means %s, and after the reload %s", before, after)
	}
}

func errorObject(code int, message string) []byte {
	return fmt.Appendf(nil, `{"code":%d,"message":%q}`, code, message)
}

func TestVerdicts_SeparateAnotherTryBlameAndPassingOn(t *testing.T) {
	t.Parallel()
	for m, want := range map[rules.Meaning]verdict{
		rules.Answer:      {another: false, blame: blameNobody, passOn: true},
		rules.Range:       {another: true, blame: blameNobody},
		rules.Plan:        {another: true, blame: blameNobody},
		rules.Billing:     {another: true, blame: blameFailure},
		rules.Throttled:   {another: true, blame: blameThrottle},
		rules.MissingData: {another: true, blame: blameNobody, passOn: true},
		rules.ExecTimeout: {another: true, blame: blameNobody, passOn: true},
		rules.Absent:      {another: true, blame: blameNobody},
		rules.Unsupported: {another: true, blame: blameNobody, passOn: true},
		rules.Denied:      {another: true, blame: blameFailure},
		rules.NodeFailure: {another: true, blame: blameNobody},
		rules.Unknown:     {another: true, blame: blameNobody, passOn: true},
		rules.Broken:      {another: true, blame: blameFailure},
		rules.Unreachable: {another: true, blame: blameFailure},
	} {
		t.Run(m.String(), func(t *testing.T) {
			want.meaning = m
			if got := verdicts[m]; got != want {
				t.Errorf("the verdict on %s is %+v, want %+v", m, got, want)
			}
		})
	}
}
