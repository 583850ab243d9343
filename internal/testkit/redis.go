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

// redisDeadline is how long a Redis of a test may take to start or stop.
const redisDeadline = 20 * time.Second

// RedisServer is a Redis process of one test's own. Its methods are for the test's goroutine.
type RedisServer struct {
	// URL and Addr stay the same when the server is killed and started again.
	URL     string // redis://127.0.0.1:port/0
	Addr    string // 127.0.0.1:port
	TLSAddr string // the same server by TLS, when it has WithTLS

	program string
	dir     string
	port    int
	busPort int // of a cluster's node; 0 when it is none
	tlsPort int // 0 without TLS
	args    []string
	config  string // of a sentinel: its file, which it writes to; it takes none of the options
	process *process.Process

	ownClock bool
}

// RedisOption changes how a Redis of a test runs.
type RedisOption func(*RedisServer)

// WithAppendOnly has the server keep what it acknowledged over Kill and Start: every write reaches
// the append-only file before the answer. Without it, a server forgets everything when it stops.
func WithAppendOnly() RedisOption {
	return func(r *RedisServer) { r.args = append(r.args, "--appendonly", "yes", "--appendfsync", "always") }
}

// WithRedisArgs adds options to the server's command line, for instance "--requirepass", "secret".
func WithRedisArgs(args ...string) RedisOption {
	return func(r *RedisServer) { r.args = append(r.args, args...) }
}

// Redis starts a Redis process for the test alone, which takes some ten milliseconds, and kills it
// when the test ends. It evicts nothing, as production's does.
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

// launch runs the server on ports that are free, until the test ends.
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

// Start runs the server again on the same port, after Kill or Stop.
func (r *RedisServer) Start(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(redisDeadline)
	for !r.start(t) {
		if time.Now().After(deadline) {
			t.Fatalf("redis-server did not start again on %s: %s", r.Addr, r.process.Tail(5))
		}
	}
}

// Kill ends the server as kill -9 does; connections are reset. What was not in the append-only file
// is lost.
func (r *RedisServer) Kill(t testing.TB) {
	t.Helper()
	if err := r.process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.sweepClock()
}

// Stop ends the server in order.
func (r *RedisServer) Stop(t testing.TB) {
	t.Helper()
	if err := r.process.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Restart stops the server in order and runs it again on the same port.
func (r *RedisServer) Restart(t testing.TB) {
	t.Helper()
	r.Stop(t)
	r.Start(t)
}

// Pause stops the server's clock: it accepts connections and answers nothing until Resume.
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

// start runs the server and waits until it answers; it gives false when the process ended instead,
// its port being taken.
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
		// nodes announce that port to who speaks TLS
		args = append(args, "--tls-port", strconv.Itoa(r.tlsPort), "--tls-cluster", "yes")
	}
	return args
}

// freePort returns a loopback port that nothing listens on at this moment.
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

// ClosedAddress returns a loopback address on which nothing listens: connections to it are refused.
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
