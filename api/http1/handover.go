package http1

import (
	"net"
	"sync"
	"sync/atomic"
)

// handOver is the listener from which net/http takes the connections that are not the lane's.
type handOver struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	open   atomic.Int64 // connections that were handed over and are not closed
}

func newHandOver(addr net.Addr) *handOver {
	return &handOver{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// give hands a connection over, or closes it when net/http takes none any more.
func (h *handOver) give(nc net.Conn, read []byte) {
	h.open.Add(1)
	c := &replayed{Conn: nc, read: read, closed: sync.OnceFunc(func() { h.open.Add(-1) })}
	select {
	case h.conns <- c:
	case <-h.closed:
		_ = c.Close()
	}
}

// Accept is as net.Listener says.
func (h *handOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close is as net.Listener says.
func (h *handOver) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr is the address of the listener that the connections came from.
func (h *handOver) Addr() net.Addr { return h.addr }

// replayed is a connection of which something was read already.
type replayed struct {
	net.Conn

	read   []byte
	closed func()
}

// Close closes the connection.
func (r *replayed) Close() error {
	r.closed()
	return r.Conn.Close()
}

// Read returns that first.
func (r *replayed) Read(p []byte) (int, error) {
	if len(r.read) > 0 {
		n := copy(p, r.read)
		r.read = r.read[n:]
		return n, nil
	}
	r.read = nil
	return r.Conn.Read(p)
}
