package testkit

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/internal/devstack/process"
)

// redisDeadline bounds the start and the stop of a test's Redis.
const redisDeadline = 20 * time.Second

// RedisServer is a Redis process for one test. Its methods must be called from the test's
// goroutine.
type RedisServer struct {
	// URL and Addr stay the same when the server is killed and restarted.
	URL     string // redis://127.0.0.1:port/0
	Addr    string // 127.0.0.1:port
	TLSAddr string // the same server's TLS address, with WithTLS

	program string
	dir     string
	port    int
	busPort int // of a cluster node; else 0
	tlsPort int // 0 without TLS
	args    []string
	config  string // a sentinel's file, which the sentinel rewrites; a sentinel takes no other options
	process *process.Process

	ownClock bool
}

// RedisOption configures a test's Redis.
type RedisOption func(*RedisServer)

// WithAppendOnly makes acknowledged writes survive Kill and Start: every write is synced to the
// append-only file before the reply. Without it, a server loses its data when it stops.
func WithAppendOnly() RedisOption {
	return func(r *RedisServer) { r.args = append(r.args, "--appendonly", "yes", "--appendfsync", "always") }
}

// WithRedisArgs adds options to the server's command line, for example "--requirepass", "secret".
func WithRedisArgs(args ...string) RedisOption {
	return func(r *RedisServer) { r.args = append(r.args, args...) }
}

// Redis starts a Redis process for one test, which takes about ten milliseconds, and kills it when
// the test ends. It evicts nothing, as in production.
func Redis(t testing.TB, options ...RedisOption) *RedisServer {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server was not found: run scripts/bootstrap test")
	}
	r := &RedisServer{program: program, dir: t.TempDir()}
	for _, option := range options {
		option(r)
	}
	r.launch(t)
	return r
}

// launch runs the server on free ports until the test ends.
func (r *RedisServer) launch(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if r.process != nil {
			_ = r.process.Kill()
			r.sweepClock()
		}
	})
	// Another program may take a port between the choice and the start.
	for range 5 {
		r.port = freePort(t)
		if r.busPort != 0 {
			r.busPort = freePort(t)
		}
		if r.tlsPort != 0 {
			r.tlsPort = freePort(t)
			r.TLSAddr = net.JoinHostPort("127.0.0.1", strconv.Itoa(r.tlsPort))
		}
		r.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port))
		r.URL = "redis://" + r.Addr + "/0"
		if r.start(t) {
			return
		}
	}
	t.Fatalf("redis-server did not start: %s", r.process.Tail(5))
}

// Start restarts the server on the same port after Kill or Stop.
func (r *RedisServer) Start(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(redisDeadline)
	for !r.start(t) {
		if time.Now().After(deadline) {
			t.Fatalf("redis-server did not start again on %s: %s", r.Addr, r.process.Tail(5))
		}
	}
}

// Kill kills the server with SIGKILL; connections are reset. What is not in the append-only file is
// lost.
func (r *RedisServer) Kill(t testing.TB) {
	t.Helper()
	if err := r.process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.sweepClock()
}

// Stop shuts the server down cleanly.
func (r *RedisServer) Stop(t testing.TB) {
	t.Helper()
	if err := r.process.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Restart shuts the server down cleanly and restarts it on the same port.
func (r *RedisServer) Restart(t testing.TB) {
	t.Helper()
	r.Stop(t)
	r.Start(t)
}

// Pause stops the process with SIGSTOP: it answers nothing until Resume, although connections are
// accepted.
func (r *RedisServer) Pause(t testing.TB) {
	t.Helper()
	if err := r.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Resume ends a Pause.
func (r *RedisServer) Resume(t testing.TB) {
	t.Helper()
	if err := r.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// start runs the server and waits until it answers. It returns false when the process exited
// because its port was taken.
func (r *RedisServer) start(t testing.TB) bool {
	t.Helper()
	p, err := process.Start(process.Spec{
		Name: "redis-server", Path: r.program, Args: r.commandLine(), Dir: r.dir,
		LogFile: filepath.Join(r.dir, "redis.log"), Env: r.environment(t), Stop: []syscall.Signal{syscall.SIGTERM},
		Grace: redisDeadline,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.process = p
	ctx, cancel := context.WithTimeout(t.Context(), redisDeadline)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := devstack.RedisReady(ctx, r.Addr, p.PID())
		if err == nil {
			return true
		}
		select {
		case <-p.Exited():
			return false
		case <-ctx.Done():
			_ = p.Kill()
			t.Fatalf("redis-server does not answer: %v", err)
		case <-tick.C:
		}
	}
}

func (r *RedisServer) commandLine() []string {
	if r.config != "" {
		return []string{r.config, "--sentinel", "--port", strconv.Itoa(r.port), "--dir", r.dir}
	}
	args := append([]string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(r.port), "--dir", r.dir, "--daemonize", "no",
		"--save", "", "--maxmemory-policy", "noeviction",
	}, r.args...)
	if r.busPort != 0 {
		args = append(args, "--cluster-port", strconv.Itoa(r.busPort))
	}
	if r.tlsPort != 0 {
		// with TLS, nodes announce the TLS port
		args = append(args, "--tls-port", strconv.Itoa(r.tlsPort), "--tls-cluster", "yes")
	}
	return args
}

// freePort returns a loopback port on which nothing listens at the moment.
func freePort(t testing.TB) int {
	t.Helper()
	l := listen(t)
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("the listener's address is %s, want a TCP address", l.Addr())
	}
	return addr.Port
}

// ClosedAddress returns a loopback address that refuses connections.
func ClosedAddress(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
