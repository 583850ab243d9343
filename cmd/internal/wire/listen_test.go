package wire

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestConnectionsBeyondTheBoundWaitForOneToEnd(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	l = bounded(l, 1, slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { _ = l.Close() })
	for range 2 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
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
	select {
	case c := <-second:
		_ = c.Close()
	case <-time.After(20 * time.Second):
		t.Fatal("the second is never taken")
	}
}

func TestABoundThatTheProcessCannotKeepIsTold(t *testing.T) {
	t.Parallel()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{16, 1 << 20} {
		var log bytes.Buffer
		bounded(nil, most, slog.New(slog.NewTextHandler(&log, nil)))
		if told := strings.Contains(log.String(), "MAX_CONNECTIONS"); told != (files.Max < uint64(most+spareFiles)) {
			t.Errorf("with %d files and %d connections the log says %q", files.Max, most, log.String())
		}
	}
}
