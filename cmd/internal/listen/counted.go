package listen

import (
	"net"
	"sync"
	"sync/atomic"
)

// Counted is a listener that counts open connections.
type Counted struct {
	net.Listener
	open atomic.Int64
}

// Count returns listener with a count of its open connections.
func Count(listener net.Listener) *Counted { return &Counted{Listener: listener} }

// Accept waits for a connection and counts it.
func (l *Counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err //nolint:wrapcheck // net/http checks its type
	}
	l.open.Add(1)
	return &countedConn{Conn: c, closed: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
}

// Connections returns how many connections are open.
func (l *Counted) Connections() float64 { return float64(l.open.Load()) }

type countedConn struct {
	net.Conn
	closed func()
}

// Close closes the connection and decrements the count.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close() //nolint:wrapcheck // net/http checks its type
}
