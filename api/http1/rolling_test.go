package http1_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/http1"
	"github.com/chainaccess/gateway/internal/testkit"
)

var (
	rollingCalls = flag.Int64("rolling-calls", 1_000,
		"calls that a rolling restart is held to lose none of, for each way of calling")
	rollingRuns = flag.Int("rolling-runs", 1, "runs of the rolling restart")
)

// replica is one of two servers behind a proxy. It is stopped and restarted on the same address.
type replica struct {
	address  string
	listener net.Listener
	server   *http1.Server
	served   chan error
}

func (r *replica) start(t *testing.T) {
	t.Helper()
	std := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			<-time.After(time.Duration(len(body)%4) * time.Millisecond) // answers overtake each other
			_, _ = w.Write(body)
		}),
	}
	std.Protocols.SetHTTP1(true)
	std.Protocols.SetUnencryptedHTTP2(true)
	address := r.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := http1.Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	r.address, r.served = l.Addr().String(), make(chan error, 1)
	server, served := http1.New(std, time.Now, "/rpc/"), r.served
	server.IdleGrace = 200 * time.Millisecond
	r.server, r.listener = server, l
	go func() { served <- server.Serve(l) }()
}

func (r *replica) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if !http1.TurnAway(r.listener) {
		t.Error("the system does not turn away")
	}
	<-time.After(100 * time.Millisecond) // for connections made before, as in cmd/internal/wire
	if err := r.server.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-r.served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("serve: %v", err)
	}
}

// nginx tries the next replica when one refuses the connection, and never sends a POST twice.
const nginxConf = `daemon off; master_process off;
pid %[1]s/nginx.pid;
error_log %[1]s/nginx.log warn;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  keepalive_requests 1000000;
  upstream kept { server %[2]s max_fails=0; server %[3]s max_fails=0; keepalive 32; }
  upstream fresh { server %[2]s max_fails=0; server %[3]s max_fails=0; }
  proxy_http_version 1.1; proxy_set_header Connection "";
  server { listen %[4]s; location / { proxy_pass http://kept; } }
  server { listen %[5]s http2; location / { proxy_pass http://kept; } }
  server { listen %[6]s; location / { proxy_http_version 1.0; proxy_pass http://fresh; } }
}
`

// proxy is an nginx in front of two replicas: its addresses for HTTP/1.1, for HTTP/2, and one that
// opens a connection per call.
type proxy struct{ http1, http2, fresh string }

func startProxy(t *testing.T, replicas []*replica) proxy {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Fatal("nginx was not found: run scripts/bootstrap test")
		}
	}
	dir := t.TempDir()
	p := proxy{freeAddress(t), freeAddress(t), freeAddress(t)}
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Appendf(nil, nginxConf, dir, replicas[0].address, replicas[1].address, p.http1, p.http2, p.fresh)
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		t.Fatal(err)
	}
	nginx := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-p", dir, "-c", conf)
	nginx.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	nginx.Stderr = os.Stderr
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := os.ReadFile(filepath.Join(dir, "nginx.log"))
			t.Logf("nginx: %.4000s", said)
		}
		_ = nginx.Process.Kill()
		_ = nginx.Wait()
	})
	for _, address := range []string{p.http1, p.http2, p.fresh} {
		testkit.Eventually(t, 20*time.Second, func() bool {
			nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			if err == nil {
				_ = nc.Close()
			}
			return err == nil
		}, "nginx listens")
	}
	return p
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// way is how calls reach the replicas.
type way struct {
	name, url     string
	transport     *http.Transport
	calls, failed atomic.Int64
	first         sync.Once
}

func (w *way) call(t *testing.T, client *http.Client) {
	body := bytes.Repeat([]byte("x"), 1+rand.IntN(200))
	n := w.calls.Add(1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/rpc/x", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	resp, err := client.Do(req)
	if err == nil {
		var got []byte
		got, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Equal(got, body)) {
			err = fmt.Errorf("%d %.100s", resp.StatusCode, got)
		}
	}
	if err != nil {
		w.failed.Add(1)
		w.first.Do(func() { t.Errorf("%s: call %d failed: %v", w.name, n, err) })
	}
}

// direct reaches the replicas without a proxy: a connection goes to the first that accepts it.
func direct(replicas []*replica, protocols func(*http.Protocols)) *http.Transport {
	var turn atomic.Int64
	transport := through(protocols)
	addresses := []string{replicas[0].address, replicas[1].address}
	transport.DialContext = func(ctx context.Context, network, _ string) (nc net.Conn, err error) {
		at := turn.Add(1)
		for i := range 2 {
			if nc, err = (&net.Dialer{}).DialContext(ctx, network, addresses[(int(at)+i)%2]); err == nil {
				return nc, nil
			}
		}
		return nil, err
	}
	return transport
}

// through reaches them by the requested address.
func through(protocols func(*http.Protocols)) *http.Transport {
	transport := &http.Transport{MaxIdleConnsPerHost: 32, Protocols: new(http.Protocols)}
	protocols(transport.Protocols)
	return transport
}

func plainHTTP(p *http.Protocols)  { p.SetHTTP1(true) }
func priorHTTP2(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }

// caller makes one call after another; ended counts them.
type caller struct {
	way   *way
	ended atomic.Int64
}

func (c *caller) run(t *testing.T, enough <-chan struct{}) {
	client := &http.Client{Transport: c.way.transport, Timeout: time.Minute}
	for {
		select {
		case <-enough:
			return
		case <-time.After(time.Duration(rand.IntN(10)) * time.Millisecond):
			c.way.call(t, client)
			c.ended.Add(1)
		}
	}
}

// outlive waits until the calls in flight have ended, including those that were turned away at
// first.
func outlive(t *testing.T, callers []*caller) {
	t.Helper()
	for _, c := range callers {
		before := c.ended.Load()
		testkit.Eventually(t, 2*time.Minute, func() bool { return c.ended.Load() >= before+2 }, "a call %s ends",
			c.way.name)
	}
}

func TestRollingRestarts_LoseNoCall(t *testing.T) {
	t.Parallel()
	for run := range *rollingRuns {
		rollOver(t, run)
	}
}

func rollOver(t *testing.T, run int) {
	t.Helper()
	replicas := []*replica{{}, {}}
	for _, r := range replicas {
		r.start(t)
	}
	p := startProxy(t, replicas)
	ways := []*way{
		{name: "HTTP/1.1 through nginx", url: "http://" + p.http1, transport: through(plainHTTP)},
		{name: "HTTP/2 through nginx", url: "http://" + p.http2, transport: through(priorHTTP2)},
		{name: "nginx without kept connections", url: "http://" + p.fresh, transport: through(plainHTTP)},
		{name: "HTTP/1.1 directly", url: "http://replicas", transport: direct(replicas, plainHTTP)},
		{name: "HTTP/2 directly", url: "http://replicas", transport: direct(replicas, priorHTTP2)},
	}
	var (
		calling sync.WaitGroup
		callers []*caller
		enough  = make(chan struct{})
	)
	for _, w := range ways {
		for range 8 {
			c := &caller{way: w}
			callers = append(callers, c)
			calling.Go(func() { c.run(t, enough) })
		}
	}
	restarts := 0
	for ; restarts < 4 || slices.ContainsFunc(ways, func(w *way) bool {
		return w.calls.Load() < *rollingCalls
	}); restarts++ {
		r := replicas[restarts%2]
		r.stop(t)
		r.start(t)
		outlive(t, callers)
	}
	close(enough)
	calling.Wait()
	for _, w := range ways {
		w.transport.CloseIdleConnections()
		t.Logf("run %d, %d restarts, %s: %d calls, %d failed", run+1, restarts, w.name, w.calls.Load(), w.failed.Load())
	}
	for _, r := range replicas {
		r.stop(t)
	}
}
