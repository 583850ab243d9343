package http1

import (
	"net"
	"sync"
	"sync/atomic"
)

// handOver is the listener from which net/http accepts the connections that the fast path does not
// serve.
type handOver struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	// open counts connections that were handed over and are still open. unread counts those whose
	// first bytes, which the fast path had read, net/http has not read yet.
	open, unread atomic.Int64
}

func newHandOver(addr net.Addr) *handOver {
	return &handOver{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// give hands over a connection that the caller has counted in open and unread, or closes it when
// net/http takes none any more.
func (h *handOver) give(nc net.Conn, read []byte) {
	c := &replayed{Conn: nc, read: read}
	c.taken = sync.OnceFunc(func() { h.unread.Add(-1) })
	c.closed = sync.OnceFunc(func() { h.open.Add(-1) })
	if len(read) == 0 {
		c.taken()
	}
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (h *handOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handOver) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr returns the address of the listener that accepted the connections.
func (h *handOver) Addr() net.Addr { return h.addr }

// replayed is a connection whose first bytes were already read.
type replayed struct {
	net.Conn

	read          []byte
	taken, closed func() // either may be called again
}

// Close closes the connection.
func (r *replayed) Close() error {
	r.taken()
	r.closed()
	return r.Conn.Close()
}

// Read returns the bytes that were already read first.
func (r *replayed) Read(p []byte) (int, error) {
	if len(r.read) > 0 {
		n := copy(p, r.read)
		if r.read = r.read[n:]; len(r.read) == 0 {
			r.taken()
		}
		return n, nil
	}
	r.read = nil
	return r.Conn.Read(p)
}
