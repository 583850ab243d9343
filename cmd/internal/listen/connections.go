// Package listen bounds and counts the connections of the API, and ends listening for a shutdown.
package listen

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

// Listen listens on an address of the API in the way that TurnAway needs.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return http1.Listen(ctx, address)
}

// spareFiles is how many file descriptors a process needs in addition to its clients' connections:
// for upstreams, Redis and PostgreSQL.
const spareFiles = 4096

// When no more than 1/roomPart of all connections are free, as many idle ones are closed, at most
// once per roomEvery.
const (
	roomPart  = 16
	roomEvery = 50 * time.Millisecond
)

// areaAddresses is the bound of an IPv6 /48 as a multiple of that of a /64, because the owner of
// one /64 usually owns the whole /48. An IPv4 /24 has many owners and no bound of its own.
const areaAddresses = 4

// Bounds are the maximum numbers of client connections; 0 for no maximum.
type Bounds struct {
	all        int
	perAddress int // per IPv4 address or IPv6 /64
}

// BoundsOf returns the bounds that cfg sets. Behind proxies every connection comes from a proxy, so
// addresses have no bound.
func BoundsOf(cfg *config.Config) Bounds {
	b := Bounds{all: cfg.MaxConnections, perAddress: cfg.MaxConnectionsPerAddress}
	if cfg.TrustedProxies > 0 {
		b.perAddress = 0
	}
	return b
}

// Connections is a listener that bounds the connections of clients. Connections over the total
// bound wait in the kernel's queue. Those over the bound of their address are closed at once.
type Connections struct {
	net.Listener

	bounds    Bounds
	slots     chan struct{} // one element per open connection; nil without a total bound
	closeIdle func(limit int) int
	madeRoom  time.Time // last time that room was made; used by Accept only
	over      chan struct{}
	end       sync.Once

	refused, shed atomic.Int64

	mu sync.Mutex // guards of
	of map[netip.Prefix]int
}

// Bound bounds the connections that listener accepts. closeIdle closes up to limit idle
// connections, the oldest first, and returns how many. Bound logs a warning if the process may
// not open enough files.
func Bound(listener net.Listener, b Bounds, closeIdle func(limit int) int, log *slog.Logger) *Connections {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && files.Max < uint64(b.all)+spareFiles {
		log.Warn("the process may open too few files for MAX_CONNECTIONS: raise the limit (ulimit -n) or lower the "+
			"variable",
			"files", files.Max, "max_connections", b.all, "files_needed", b.all+spareFiles)
	}
	l := &Connections{
		Listener: listener, bounds: b, closeIdle: closeIdle, over: make(chan struct{}), of: map[netip.Prefix]int{},
	}
	if b.all > 0 {
		l.slots = make(chan struct{}, b.all)
	}
	return l
}

// Accept waits for a connection within the bounds.
func (l *Connections) Accept() (net.Conn, error) {
	for {
		held := l.acquire()
		c, err := l.Listener.Accept()
		if err != nil {
			l.release(held, nil)
			return nil, err //nolint:wrapcheck // the server checks its type
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

// Close closes the listener, which ends Accept.
func (l *Connections) Close() error {
	l.end.Do(func() { close(l.over) })
	return l.Listener.Close() //nolint:wrapcheck // the server checks its type
}

// acquire waits for a free slot, and closes idle connections if few are free. It returns false
// without a total bound, and after Close, which Accept then reports.
func (l *Connections) acquire() (held bool) {
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

func (l *Connections) makeRoom() {
	if time.Since(l.madeRoom) < roomEvery {
		return
	}
	l.shed.Add(int64(l.closeIdle(max(1, cap(l.slots)/roomPart))))
	l.madeRoom = time.Now()
}

// enter counts a connection for its networks; ok is false when one of them is at its bound.
func (l *Connections) enter(client net.Addr) (networks []netip.Prefix, ok bool) {
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

// release undoes acquire and enter.
func (l *Connections) release(held bool, networks []netip.Prefix) {
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

// busiest returns the number of connections of the address that has the most.
func (l *Connections) busiest() float64 {
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

// Watch registers the metrics of the bounds.
func (l *Connections) Watch(m *telemetry.Metrics) {
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
