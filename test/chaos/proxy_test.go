package chaos_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy is a TCP proxy between the API processes and Redis. While it swallows replies, it drops
// some of them and closes their connections: Redis has run the commands, and the gateway does not
// learn it.
type proxy struct {
	addr     string
	target   string
	listener net.Listener
	swallow  atomic.Bool
	lost     atomic.Int64 // replies that were swallowed
	wg       sync.WaitGroup

	mu     sync.Mutex // guards what follows
	random *rand.Rand
	conns  map[net.Conn]struct{}
}

// refundKey occurs in every refund request and in no other one.
var refundKey = []byte(":rf:") //nolint:gochecknoglobals // a constant

// One of how many replies is swallowed. The rate for refunds differs because they are rare.
const (
	swallowOneOf        = 25
	swallowOneRefundsOf = 2
)

func startProxy(t *testing.T, target string, seed uint64) *proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		addr: l.Addr().String(), target: target, listener: l, conns: map[net.Conn]struct{}{},
		random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // a fault, no secret
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target) //nolint:noctx // a proxy of a test
		if err != nil {
			_ = client.Close()
			continue
		}
		p.hold(client, server)
		var refund atomic.Bool // the request in flight is a refund
		p.wg.Go(func() {
			defer p.end(client, server)
			p.requests(server, client, &refund)
		})
		p.wg.Go(func() {
			defer p.end(client, server)
			p.replies(client, server, &refund)
		})
	}
}

func (p *proxy) requests(server io.Writer, client io.Reader, refund *atomic.Bool) {
	buffer := make([]byte, 256<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		refund.Store(bytes.Contains(buffer[:n], refundKey))
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) replies(client io.Writer, server io.Reader, refund *atomic.Bool) {
	buffer := make([]byte, 256<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || p.swallows(refund.Load()) {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) swallows(refund bool) bool {
	if !p.swallow.Load() {
		return false
	}
	one := swallowOneOf
	if refund {
		one = swallowOneRefundsOf
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.random.IntN(one) != 0 {
		return false
	}
	p.lost.Add(1)
	return true
}

func (p *proxy) hold(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
}

func (p *proxy) end(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}
