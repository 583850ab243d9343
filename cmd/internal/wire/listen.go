package wire

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/chainaccess/gateway/api/http1"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/netlimit"
)

// Listen listens on an address of the API, in the way that a stop without lost calls needs.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return http1.Listen(ctx, address)
}

// spareFiles are the descriptors that a process needs beside its clients' connections: for
// upstreams, Redis, PostgreSQL.
const spareFiles = 4096

// Room is made when fewer than a roomPart of all connections are left, by closing as many idle
// ones, at most once in roomEvery.
const (
	roomPart  = 16
	roomEvery = 50 * time.Millisecond
)

// areaAddresses is how many times the bound of an IPv6 /64 is that of its /48: who has one of them
// has them all. An IPv4 /24 has many owners and no bound of its own.
const areaAddresses = 4

// connectionBounds are how many connections of clients there may be; 0 for as many as come.
type connectionBounds struct {
	all        int
	perAddress int // of an IPv4 address or an IPv6 /64
}

// boundsOf are those that cfg asks for. Behind proxies every connection is one of theirs, so
// addresses have no bound.
func boundsOf(cfg *config.Config) connectionBounds {
	b := connectionBounds{all: cfg.MaxConnections, perAddress: cfg.MaxConnectionsPerAddress}
	if cfg.TrustedProxies > 0 {
		b.perAddress = 0
	}
	return b
}

// connections is a listener that bounds the connections of clients: what is beyond the bound of all
// waits in the system's queue, what is beyond that of its address is closed at once.
type connections struct {
	net.Listener

	bounds    connectionBounds
	slots     chan struct{} // holds one for each open connection; nil without a bound of all
	closeIdle func(limit int) int
	madeRoom  time.Time // when room was made last; Accept's alone
	over      chan struct{}
	end       sync.Once

	refused, shed atomic.Int64

	mu sync.Mutex // guards of
	of map[netip.Prefix]int
}

// bounded bounds the connections that listener takes. closeIdle closes up to so many connections on
// which nothing is under way, the oldest first. A process that may not open that many files is told
// at its start.
func bounded(listener net.Listener, b connectionBounds, closeIdle func(limit int) int, log *slog.Logger) *connections {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && files.Max < uint64(b.all)+spareFiles {
		log.Warn("the process may open too few files for MAX_CONNECTIONS: raise the limit (ulimit -n) or lower the "+
			"variable",
			"files", files.Max, "max_connections", b.all, "files_needed", b.all+spareFiles)
	}
	l := &connections{
		Listener: listener, bounds: b, closeIdle: closeIdle, over: make(chan struct{}), of: map[netip.Prefix]int{},
	}
	if b.all > 0 {
		l.slots = make(chan struct{}, b.all)
	}
	return l
}

// Accept waits for a connection within the bounds.
func (l *connections) Accept() (net.Conn, error) {
	for {
		held := l.acquire()
		c, err := l.Listener.Accept()
		if err != nil {
			l.release(held, nil)
			return nil, err //nolint:wrapcheck // the server looks at what it is
		}
		networks, ok := l.enter(c.RemoteAddr())
		if ok {
			return &countedConn{Conn: c, closed: sync.OnceFunc(func() { l.release(held, networks) })}, nil
		}
		l.refused.Add(1)
		_ = c.Close()
		l.release(held, nil)
	}
}

// Close ends the listener, and Accept with it.
func (l *connections) Close() error {
	l.end.Do(func() { close(l.over) })
	return l.Listener.Close() //nolint:wrapcheck // the server looks at what it is
}

// acquire waits until there is room for another connection, and makes some by closing idle ones;
// false without a bound, and when the listener was closed, which Accept then says.
func (l *connections) acquire() (held bool) {
	if l.slots == nil {
		return false
	}
	for {
		if room := cap(l.slots) - len(l.slots); room*roomPart <= cap(l.slots) {
			l.makeRoom()
		}
		select {
		case l.slots <- struct{}{}:
			return true
		default:
		}
		timer := time.NewTimer(roomEvery)
		select {
		case l.slots <- struct{}{}:
			timer.Stop()
			return true
		case <-l.over:
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

func (l *connections) makeRoom() {
	if time.Since(l.madeRoom) < roomEvery {
		return
	}
	l.shed.Add(int64(l.closeIdle(max(1, cap(l.slots)/roomPart))))
	l.madeRoom = time.Now()
}

// enter counts a connection of a client; false when its network has as many as it may have.
func (l *connections) enter(client net.Addr) (networks []netip.Prefix, ok bool) {
	address, err := netip.ParseAddrPort(client.String())
	if l.bounds.perAddress == 0 || err != nil { // a unix socket has no address
		return nil, true
	}
	network := netlimit.NetworkOf(address.Addr())
	networks, limit := []netip.Prefix{network}, []int{l.bounds.perAddress}
	if network.Addr().Is6() {
		networks, limit = append(networks, netlimit.AreaOf(network)), append(limit, areaAddresses*l.bounds.perAddress)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range networks {
		if l.of[n] >= limit[i] {
			return nil, false
		}
	}
	for _, n := range networks {
		l.of[n]++
	}
	return networks, true
}

// release ends what acquire and enter began.
func (l *connections) release(held bool, networks []netip.Prefix) {
	l.mu.Lock()
	for _, n := range networks {
		if l.of[n]--; l.of[n] <= 0 {
			delete(l.of, n)
		}
	}
	l.mu.Unlock()
	if held {
		<-l.slots
	}
}

// busiest is how many connections the network has that has the most.
func (l *connections) busiest() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := 0
	for n, open := range l.of {
		if n == netlimit.NetworkOf(n.Addr()) {
			limit = max(limit, open)
		}
	}
	return float64(limit)
}

// watch serves figures of the bounds.
func (l *connections) watch(m *telemetry.Metrics) {
	m.Gauge("gateway_http_connections_limit",
		"Connections of clients that may be open (MAX_CONNECTIONS); 0 for no bound.", func() float64 {
			return float64(l.bounds.all)
		})
	m.Gauge("gateway_http_connections_address_limit", "Connections that one address may have open; 0 for no bound.",
		func() float64 { return float64(l.bounds.perAddress) })
	m.Gauge("gateway_http_connections_busiest_address",
		"Connections of the address that has the most; 0 without a bound.", l.busiest)
	m.Counter("gateway_http_connections_refused_total",
		"Connections closed at once because their address had as many as it may have.", func() float64 {
			return float64(l.refused.Load())
		})
	m.Counter("gateway_http_connections_shed_total", "Idle connections closed because MAX_CONNECTIONS was near.",
		func() float64 { return float64(l.shed.Load()) })
}
