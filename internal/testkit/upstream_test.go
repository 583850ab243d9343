package testkit_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// post sends one JSON-RPC request over a new connection and reads the whole answer.
func post(t *testing.T, url, body string) (int, http.Header, string, error) {
	t.Helper()
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = nil
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(text), err
}

const call = `{"jsonrpc":"2.0","id":12345678901234567890,"method":"eth_call","params":[]}`

func TestUpstream_EchoesIDsByteForByteAndRecordsRequests(t *testing.T) {
	t.Parallel()
	u := testkit.Upstream(t)
	u.On("eth_call", testkit.Result(json.RawMessage(`{ "a":1}`)))
	_, _, body, err := post(t, u.URL+"/v1/secret?x=1", call)
	if err != nil || body != `{"jsonrpc":"2.0","id":12345678901234567890,"result":{ "a":1}}` {
		t.Errorf("got %s (%v)", body, err)
	}
	if _, _, body, _ := post(t, u.URL, `{"method":"other"}`); body != `{"jsonrpc":"2.0","id":null,"result":"0x1"}` {
		t.Errorf("got %s, want the default", body)
	}
	if _, _, _, err := post(t, u.URL, `[]`); err != nil {
		t.Error(err)
	}
	got := u.Requests()
	require.Len(t, got, 3)
	require.Equal(t, u.Total(), 3)
	require.Equal(t, u.Count("eth_call"), 1)
	require.Equal(t, u.Count("other"), 1)
	require.Equal(t, u.Connections(), 3)
	expect.Equal(t, string(got[0].Body), call)
	expect.Equal(t, got[0].Path, "/v1/secret?x=1")
	expect.Equal(t, string(got[0].Params), "[]")
	u.Forget()
	if u.Total() != 0 {
		t.Error("the record is not empty")
	}
}

func TestUpstream_UsesUpItsQueuesFirst(t *testing.T) {
	t.Parallel()
	u := testkit.Upstream(t)
	u.Default(testkit.Result("default"))
	u.On("eth_call", testkit.Result("method"))
	u.NextOf("eth_call", testkit.Result("queued for the method"))
	u.Next(testkit.Error(-32000, "queued"))
	for _, want := range []string{`"queued"`, `"queued for the method"`, `"method"`} {
		if _, _, body, err := post(t, u.URL, call); err != nil || !strings.Contains(body, want) {
			t.Errorf("got %s (%v), want %s", body, err, want)
		}
	}
}

func TestUpstream_AnswersInEveryWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply  testkit.Reply
		status int
		holds  func(header http.Header, body string) bool
	}{
		"error with data": {
			testkit.ErrorWithData(3, "execution reverted", "0x08"), 200,
			contains(`"error":{"code":3,"message":"execution reverted","data":"0x08"}`),
		},
		"error with status": {testkit.ErrorWithStatus(500, -32000, "broken"), 500, contains(`"code":-32000`)},
		"wrong id":          {testkit.WrongID("0x1"), 200, contains(`"id":"another-id"`)},
		"raw": {
			testkit.Raw(200, "application/json", `{"id":$id}`), 200, contains(`{"id":12345678901234567890}`),
		},
		"html":   {testkit.HTML(502), 502, contains("<html>")},
		"status": {testkit.Status(500), 500, contains("Internal Server Error")},
		"too many": {testkit.TooMany(7 * time.Second), 429, func(h http.Header, _ string) bool {
			return h.Get("Retry-After") == "7"
		}},
		"redirect": {testkit.Redirect("http://elsewhere.invalid/"), 307, func(h http.Header, _ string) bool {
			return h.Get("Location") == "http://elsewhere.invalid/"
		}},
		"invalid JSON": {
			testkit.InvalidJSON(), 200, func(_ http.Header, b string) bool { return !json.Valid([]byte(b)) },
		},
		"large": {testkit.Large(3 << 20), 200, func(_ http.Header, b string) bool {
			return len(b) > 3<<20 && json.Valid([]byte(b))
		}},
		"drip": {testkit.Drip("0x1", time.Millisecond), 200, contains(`"result":"0x1"}`)},
		"header": {
			testkit.WithHeader("X-Up", "1", testkit.Result(1)), 200, func(h http.Header, _ string) bool {
				return h.Get("X-Up") == "1"
			},
		},
		"gzip": {testkit.Gzip("0x1"), 200, func(h http.Header, b string) bool {
			z, err := gzip.NewReader(bytes.NewReader([]byte(b)))
			if err != nil || h.Get("Content-Encoding") != "gzip" {
				return false
			}
			text, err := io.ReadAll(z)
			return err == nil && json.Valid(text)
		}},
		"result of": {
			testkit.ResultOf(func(r testkit.Request) any { return r.Method }), 200, contains(`"result":"eth_call"`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := testkit.Upstream(t)
			u.Next(c.reply)
			status, header, body, err := post(t, u.URL, call)
			require.NoError(t, err)
			expect.Equal(t, status, c.status)
			expect.True(t, c.holds(header, body), c, header, body)
		})
	}
}

func contains(want string) func(http.Header, string) bool {
	return func(_ http.Header, body string) bool { return strings.Contains(body, want) }
}

func TestUpstream_BreaksConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare  func(*testkit.UpstreamServer)
		want     error
		requests int
	}{
		"reset after the request was read": {
			func(u *testkit.UpstreamServer) { u.Next(testkit.Reset()) }, syscall.ECONNRESET, 1,
		},
		"reset before anything is read": {
			func(u *testkit.UpstreamServer) { u.ResetConnections(1) }, syscall.ECONNRESET, 0,
		},
		"truncated": {
			func(u *testkit.UpstreamServer) { u.Next(testkit.Truncated()) }, io.ErrUnexpectedEOF, 1,
		},
		"broken stream": {
			func(u *testkit.UpstreamServer) { u.Next(testkit.BreakAfter(1 << 20)) }, io.ErrUnexpectedEOF, 1,
		},
		"closed": {func(u *testkit.UpstreamServer) { u.Close() }, syscall.ECONNREFUSED, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := testkit.Upstream(t)
			c.prepare(u)
			_, _, body, err := post(t, u.URL, call)
			// A reset may reach the client while it is still writing.
			if !errors.Is(err, c.want) && (!errors.Is(c.want, syscall.ECONNRESET) || !errors.Is(err, syscall.EPIPE)) {
				t.Errorf("got %.100s and %v, want %v", body, err, c.want)
			}
			if u.Total() != c.requests {
				t.Errorf("the upstream saw %d requests, want %d", u.Total(), c.requests)
			}
		})
	}
}

func TestUpstream_HangsUntilReleased(t *testing.T) {
	t.Parallel()
	u := testkit.Upstream(t)
	u.Default(testkit.Hang(testkit.Result("late")))
	answered := make(chan string, 1)
	go func() {
		_, _, body, _ := post(t, u.URL, call)
		answered <- body
	}()
	testkit.Eventually(t, 10*time.Second, func() bool { return u.Count("eth_call") == 1 }, "the request arrives")
	select {
	case body := <-answered:
		t.Fatalf("it answered %s before it was released", body)
	default:
	}
	u.Release()
	if body := <-answered; !strings.Contains(body, "late") {
		t.Errorf("got %s, want the late answer", body)
	}
}

func TestClock_MovesOnlyWhenAdvanced(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := testkit.NewClock(start)
	for range 2 {
		if got := clock.Now(); !got.Equal(start) {
			t.Errorf("the clock shows %s, want its start", got)
		}
	}
	if got := clock.Advance(time.Hour); !got.Equal(start.Add(time.Hour)) || !clock.Now().Equal(got) {
		t.Errorf("after an hour it shows %s", got)
	}
}
