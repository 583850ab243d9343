package meter_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/meter"
)

// proxy is a TCP proxy between a meter and its Redis. It records what is sent, and can swallow
// replies: the server has then run the command, and the client never learns of it.
type proxy struct {
	listener net.Listener
	target   string
	// swallow is how many more replies are swallowed, each with its connection; negative for
	// endless silence
	swallow atomic.Int64
	wg      sync.WaitGroup

	mu    sync.Mutex // guards the rest
	sent  bytes.Buffer
	conns []net.Conn
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
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
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.wg.Go(func() {
			_, _ = io.Copy(io.MultiWriter(p, server), client)
			_ = server.Close()
		})
		p.wg.Go(func() { p.replies(client, server) })
	}
}

// Write records what a client sends, before the server gets it.
func (p *proxy) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent.Write(b)
}

func (p *proxy) replies(client, server net.Conn) {
	defer func() { _ = client.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		switch left := p.swallow.Load(); {
		case left < 0:
			continue // the client waits until it gives up
		case left > 0:
			p.swallow.Add(-1)
			return // the client sees a connection that ends
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// count returns how often text was sent.
func (p *proxy) count(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Count(p.sent.Bytes(), []byte(text))
}

// proxies are in front of all nodes of a Redis; the meter knows only them.
type proxies []*proxy

// swallow sets how many replies of each node are swallowed from now on.
func (p proxies) swallow(n int64) {
	for _, one := range p {
		one.swallow.Store(n)
	}
}

func (p proxies) count(text string) int {
	n := 0
	for _, one := range p {
		n += one.count(text)
	}
	return n
}

// onBothBehindProxies runs a test with one server and with a cluster whose nodes announce their
// proxies' addresses. m connects through the proxies.
func onBothBehindProxies(t *testing.T, test func(t *testing.T, b *bundle, m *meter.Meter, p proxies)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := testkit.Redis(t)
		b := connect(t, server.URL)
		p := startProxy(t, server.Addr)
		test(t, b, openMeter(b.ctx, t, "redis://"+p.listener.Addr().String()+"/0"), proxies{p})
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := testkit.RedisCluster(t)
		b := connect(t, cluster.URL)
		if err := b.meter.Ping(b.ctx); err != nil { // it has learned the nodes' own addresses
			t.Fatal(err)
		}
		var all proxies
		front := map[*testkit.RedisServer]string{}
		for _, n := range cluster.Nodes {
			p := startProxy(t, n.Addr)
			all = append(all, p)
			front[n] = p.listener.Addr().String()
			_, port, err := net.SplitHostPort(front[n])
			if err != nil {
				t.Fatal(err)
			}
			n.Do(t, "config", "set", "cluster-announce-port", port)
		}
		testkit.Eventually(t, testTimeout, func() bool {
			for _, n := range cluster.Nodes {
				shape := fmt.Sprint(n.Do(t, "cluster", "slots"))
				for _, addr := range front {
					if !strings.Contains(shape, strings.Replace(addr, ":", " ", 1)+" ") {
						return false
					}
				}
			}
			return true
		}, "every node announces all by their proxies")
		m := openMeter(b.ctx, t, cluster.AddressOf(func(n *testkit.RedisServer) string { return front[n] }))
		test(t, b, m, all)
	})
}

func TestAdmit_LostReplyIsAnErrorAndNeverSentAgain(t *testing.T) {
	t.Parallel()
	for name, swallow := range map[string]int64{"connection ends": 1, "silence": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothBehindProxies(t, func(t *testing.T, b *bundle, m *meter.Meter, p proxies) {
				c := b.client(t, limits(noWindow, 1<<50, 1<<50))
				r, err := m.Admit(b.ctx, c.Subject, charge(7)) // the connection is warm from here on
				if err != nil || !r.Admitted {
					t.Fatalf("%+v, %v", r, err)
				}
				sent := p.count("evalsha")
				if sent != 1 {
					t.Fatalf("the proxies saw %d scripts for one call", sent)
				}

				p.swallow(swallow)
				if a, err := m.Admit(b.ctx, c.Subject, charge(7)); err == nil {
					t.Errorf("the meter said %+v of a lost reply", a)
				}
				p.swallow(0)
				if got := p.count("evalsha") - sent; got != 1 {
					t.Errorf("a script whose reply was lost was sent %d times, want once", got)
				}
				if got := p.count("\r\neval\r\n"); got != 0 {
					t.Errorf("the script's source was sent %d times", got)
				}
				if day := b.usedDay(t, c); day != 14 {
					t.Errorf("the day stands at %d, want 14: one charge answered, one lost", day)
				}

				// A lost refund may be made again: it is guarded.
				p.swallow(swallow)
				if err := m.Refund(b.ctx, c.Subject, charge(7), r.Receipt, "request", "upstream_timeout"); err == nil {
					t.Error("a refund whose reply was lost was said to be made")
				}
				p.swallow(0)
				if err := m.Refund(b.ctx, c.Subject, charge(7), r.Receipt, "request", "upstream_timeout"); err != nil {
					t.Errorf("the refund again: %v", err)
				}
				b.wantUsage(t, c, usage{"ok": {2, 14}, "refund": {-1, -7}, "upstream_timeout": {requests: 1}})
			})
		})
	}
}

// Whole pipelines are lost: every call in them is answered or an error, and each is charged at most
// once.
func TestAdmit_LostRepliesUnderLoadChargeAtMostOnce(t *testing.T) {
	t.Parallel()
	onBothBehindProxies(t, func(t *testing.T, b *bundle, m *meter.Meter, p proxies) {
		clients := make([]*client, 8)
		for i := range clients {
			clients[i] = b.client(t, limits(noWindow, 1<<50, 1<<50))
		}
		const callers, calls = 32, 100
		var answered, lost atomic.Int64
		done := make(chan struct{})
		var trouble sync.WaitGroup
		trouble.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					for _, one := range p {
						one.swallow.CompareAndSwap(0, 1)
					}
					_ = b.rdb.Ping(b.ctx).Err() // some time passes
				}
			}
		})
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for range calls {
					if a, err := m.Admit(b.ctx, clients[i%len(clients)].Subject, charge(1)); err != nil {
						lost.Add(1)
					} else if a.Admitted {
						answered.Add(1)
					}
				}
			})
		}
		wg.Wait()
		close(done)
		trouble.Wait()
		p.swallow(0)
		charged := int64(0)
		for _, c := range clients {
			day := b.usedDay(t, c)
			want := usage{}
			if day > 0 {
				want["ok"] = figures{day, day}
			}
			b.wantUsage(t, c, want)
			charged += day
		}
		expect.Between(t, charged, answered.Load(), answered.Load()+lost.Load())
		expect.NotEqual(t, lost.Load(), 0)
		expect.Equal(t, answered.Load()+lost.Load(), callers*calls)
		if sent := int64(p.count("evalsha")); sent > callers*calls {
			t.Errorf("%d scripts sent for %d calls", sent, callers*calls)
		}
	})
}
