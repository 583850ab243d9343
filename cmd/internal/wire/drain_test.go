package wire_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestDrain_ProcessSaysSoWhileItStillTakesCalls(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	b := setup(t, func(cfg *config.Config) { cfg.DrainDelay = 5 * time.Second })
	key := b.newKey(t)
	b.serve.stop()
	testkit.Eventually(t, patience, func() bool {
		status, answer := b.ask(t, http.MethodGet, "/readyz", "", "")
		if status == 0 {
			t.Fatalf("no answer while draining: %s", answer)
		}
		return status == http.StatusServiceUnavailable && strings.Contains(answer, `"process":"draining"`)
	}, "the API says that it drains")
	b.call(t, key, "eth_getCode", `["0x0000000000000000000000000000000000000001","latest"]`, http.StatusOK,
		`"result":"0x6001"`)
	if err := b.serve.end(t); err != nil {
		t.Errorf("serve: %v", err)
	}
}

// A client or a proxy learns from an answer that its kept-alive connection closes, and never by
// losing a call on it.
func TestDrain_EndsKeptConnectionsWithAnAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at, err := url.Parse(b.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	answers := bufio.NewReader(conn)
	for stopped, calls := false, 0; ; calls++ {
		if _, err := io.WriteString(conn, "GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n"); err != nil {
			t.Fatalf("call %d: %v", calls, err)
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("call %d was lost: %v", calls, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.Close {
			break
		}
		if !stopped {
			b.serve.stop()
			stopped = true
		}
	}
	if err := b.serve.end(t); err != nil {
		t.Errorf("serve: %v", err)
	}
}

// ending is the result of a call for its client.
type ending struct {
	status int
	answer string
}

func (b *bench) begin(t *testing.T, key, method, params string) <-chan ending {
	t.Helper()
	ended := make(chan ending, 1)
	go func() {
		status, answer := b.ask(t, http.MethodPost, "/rpc/base_mainnet", key,
			`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":`+params+`}`)
		ended <- ending{status, answer}
	}()
	testkit.Eventually(t, patience, func() bool {
		return b.upstreams[0].Count(method)+b.upstreams[1].Count(method) == 1
	}, "%s is under way", method)
	return ended
}

func TestDrain_CallsThatOutliveItAreRefundedOrSettled(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	b := setup(t, func(cfg *config.Config) { cfg.DrainTimeout = 100 * time.Millisecond })
	key := b.newKey(t)
	for _, u := range b.upstreams {
		u.On("eth_call", testkit.Hang(testkit.Result("0xfeed")))
		u.On("eth_sendRawTransaction", testkit.Hang(testkit.Result("0xbeef")))
	}
	read := b.begin(t, key, "eth_call", `[{},"latest"]`)
	write := b.begin(t, key, "eth_sendRawTransaction", `["0x02f86b010780"]`)
	b.serve.stop()
	if got := <-read; got.status != http.StatusBadGateway || !strings.Contains(got.answer, "-32022") {
		t.Errorf("the read was answered %d %s, want the service's own failure", got.status, got.answer)
	}
	// A submission that was sent continues: its connection is closed, then its upstream answers.
	if got := <-write; got.status != 0 {
		t.Errorf("the write was answered %d %s, want its connection closed", got.status, got.answer)
	}
	for _, u := range b.upstreams {
		u.Release()
	}
	err := b.serve.end(t)
	in := expect.In(t, "serve")
	require.Error(in, err)
	expect.Contains(in, err.Error(), "DRAIN_TIMEOUT")
	expect.NotContains(in, err.Error(), "did not end")
	// Records are written before the API stops, so there is nothing to wait for.
	records := sums(t, b.cfg.DatabaseURL, callsQuery)
	if got, want := records["base_mainnet eth_call upstream_failed balanced"], (figures{1, 0}); got != want {
		t.Errorf("records are %v, want one of a read given back", records)
	}
	got := records["base_mainnet eth_sendRawTransaction ok balanced"]
	in = expect.In(t, "one of a write that is charged")
	expect.Equal(in, got.requests, 1)
	expect.NotEqual(in, got.units, 0)
	expect.Len(in, records, 2)
	var usage map[string]figures
	testkit.Eventually(t, patience, func() bool {
		usage = sums(t, b.cfg.DatabaseURL, usageQuery)
		return usage["base_mainnet eth_call upstream_failed balanced"].requests > 0
	}, "usage has the read: %v", &usage)
	var units int64
	for line, f := range usage {
		if strings.Contains(line, "eth_call") {
			units += f.units
		}
	}
	if units != 0 {
		t.Errorf("usage is %v, want reads of 0 units together", usage)
	}
}
