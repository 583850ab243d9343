package http1_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/http1"
)

// breaking is a listener whose first connection panics when it is read, like a bug in the parser.
type breaking struct {
	net.Listener

	broke atomic.Bool
}

func (l *breaking) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil && l.broke.CompareAndSwap(false, true) {
		return brokenConn{c}, nil
	}
	return c, err
}

type brokenConn struct{ net.Conn }

func (brokenConn) Read([]byte) (int, error) { panic("of the test") }

// A connection is read in its own goroutine, where a panic would end the process.
func TestPanic_WhileReadingEndsThatConnectionOnly(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer // read after the server has ended
	std := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second, ErrorLog: log.New(&lines, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }),
	}
	server := http1.New(std, time.Now, "/rpc/")
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(&breaking{Listener: inner}) }()
	b := &bundle{address: inner.Addr().String()}
	b.dial(t).over()
	if got := b.dial(t).send(post("q")).answer(); got.body != "fine" {
		t.Errorf("the next connection gets %q", got.body)
	}
	if err := server.Shutdown(context.WithoutCancel(t.Context())); err != nil { // waits for every connection
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if !strings.Contains(lines.String(), "of the test") || !strings.Contains(lines.String(), "brokenConn.Read") {
		t.Errorf("the log does not tell of it: %s", &lines)
	}
}
