package listen

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api"
	"github.com/chainaccess/gateway/api/http1"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
)

func listen(t *testing.T, family, address string) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), family, address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveBounded serves "ok" within the bounds, as the gateway does.
func serveBounded(t *testing.T, family, address string, b Bounds) (net.Addr, *Connections) {
	t.Helper()
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	server := http1.New(api.NewServer(ok, time.Minute, slog.New(slog.DiscardHandler)), time.Now, api.BusyPaths()...)
	l := Bound(listen(t, family, address), b, server.CloseOldestIdle, slog.New(slog.DiscardHandler))
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		served.Wait()
	})
	return l.Addr(), l
}

// dial connects from one of this machine's addresses, which include all of 127.0.0.0/8.
func dial(t *testing.T, from string, to net.Addr) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(t.Context(), to.Network(),
		to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a request and returns the status of the answer; 0 when the connection closed.
func ask(t *testing.T, c net.Conn) int {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, "GET /rpc/x HTTP/1.1\r\nHost: a.example\r\n\r\n"); err != nil {
		return 0
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// ended reports whether the server closed an idle connection.
func ended(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func nothingIdle(int) int { return 0 }

func TestConnections_BeyondTheBoundWaitForOneToEnd(t *testing.T) {
	t.Parallel()
	l := Bound(listen(t, "tcp4", "127.0.0.1:0"), Bounds{all: 1}, nothingIdle, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = l.Close() })
	for range 2 {
		dial(t, "127.0.0.1", l.Addr())
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			second <- c
		}
	}()
	select {
	case <-second:
		t.Fatal("the second was taken beside the first")
	case <-time.After(100 * time.Millisecond):
	}
	_ = first.Close()
	_ = first.Close() // which frees its slot only once
	select {
	case c := <-second:
		_ = c.Close()
	case <-time.After(20 * time.Second):
		t.Fatal("the second is never taken")
	}
}

func TestConnections_BoundThatTheProcessCannotKeepIsReported(t *testing.T) {
	t.Parallel()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{16, 1 << 20} {
		var log bytes.Buffer
		Bound(nil, Bounds{all: limit}, nothingIdle, slog.New(slog.NewTextHandler(&log, nil)))
		if told := strings.Contains(log.String(), "MAX_CONNECTIONS"); told != (files.Max < uint64(limit+spareFiles)) {
			t.Errorf("with %d files and %d connections the log says %q", files.Max, limit, log.String())
		}
	}
}

func TestBoundsOf_AddressesHaveNoneBehindProxies(t *testing.T) {
	t.Parallel()
	for proxies, want := range map[int]Bounds{0: {16, 4}, 1: {16, 0}} {
		if got := BoundsOf(&config.Config{
			MaxConnections: 16, MaxConnectionsPerAddress: 4, TrustedProxies: proxies,
		}); got != want {
			t.Errorf("behind %d proxies the bounds are %+v, want %+v", proxies, got, want)
		}
	}
}

// An address that opens as many connections as it can leaves room for others.
func TestConnections_OfOneAddressLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	const all, perAddress = 64, 8
	address, l := serveBounded(t, "tcp4", "127.0.0.1:0", Bounds{all, perAddress})
	attacker := make([]net.Conn, 0, 4*all)
	for range 4 * all {
		attacker = append(attacker, dial(t, "127.0.0.66", address))
	}
	open := func() (n int) {
		for _, c := range attacker {
			if !ended(c) {
				n++
			}
		}
		return n
	}
	testkit.Eventually(t, 20*time.Second, func() bool {
		return open() == perAddress
	}, "the address keeps as many connections as it may have")
	if busiest := l.busiest(); busiest != perAddress {
		t.Errorf("the busiest address is said to have %v connections, want %d", busiest, perAddress)
	}
	if refused := l.refused.Load(); refused != 4*all-perAddress {
		t.Errorf("%d connections were refused, want %d", refused, 4*all-perAddress)
	}
	for _, from := range []string{"127.0.0.1", "127.0.0.67", "127.0.1.66"} {
		if status := ask(t, dial(t, from, address)); status != http.StatusOK {
			t.Errorf("from %s: status %d", from, status)
		}
	}
	// Closed connections free the bound of the address itself.
	for _, c := range attacker {
		_ = c.Close()
	}
	testkit.Eventually(t, 20*time.Second, func() bool { return l.busiest() <= 1 }, "its connections are forgotten")
	if status := ask(t, dial(t, "127.0.0.66", address)); status != http.StatusOK {
		t.Errorf("later the address is answered %d", status)
	}
}

func TestConnections_OfOneIPv6NetworkAreBoundTogether(t *testing.T) {
	t.Parallel()
	address, l := serveBounded(t, "tcp6", "[::1]:0", Bounds{64, 2})
	for range 5 {
		dial(t, "::1", address)
	}
	testkit.Eventually(t, 20*time.Second, func() bool {
		return l.refused.Load() == 3 && l.busiest() == 2
	}, "two of five are taken")
}

// When few connections are free, the oldest idle ones are closed: nobody waits behind connections
// that are only held open.
func TestConnections_OldestIdleMakeRoom(t *testing.T) {
	t.Parallel()
	const all = 32
	address, l := serveBounded(t, "tcp4", "127.0.0.1:0", Bounds{all: all})
	held := make([]net.Conn, 0, all)
	for range all {
		c := dial(t, "127.0.0.1", address)
		if status := ask(t, c); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		held = append(held, c)
	}
	for range all { // as many again, from another address
		if status := ask(t, dial(t, "127.0.0.2", address)); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	if l.shed.Load() < all-all/roomPart {
		t.Errorf("%d idle connections were closed, want some thirty", l.shed.Load())
	}
	var closed int
	for _, c := range held {
		if ended(c) {
			closed++
		}
	}
	if closed < all-4 {
		t.Errorf("%d of the %d oldest were closed", closed, all)
	}
}
