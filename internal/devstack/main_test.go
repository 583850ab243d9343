package devstack

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// parentMode makes the test binary start a stack in the given directory, print the database's URL,
// and wait to be killed. The value "temporary" requests a temporary stack.
const parentMode = "DEVSTACK_TEST_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentMode); dir != "" {
		stack, err := Start(context.Background(), Options{
			DataDir: dir, Temporary: dir == "temporary", Services: []Service{PostgreSQL, Redis},
		})
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(stack.DatabaseURL + "\n")
		panic(<-stack.Failed())
	}
	os.Exit(m.Run())
}

// begin starts a stack that is closed when the test ends.
func begin(t *testing.T, opts Options) *Stack {
	t.Helper()
	if opts.DataDir == "" {
		opts.DataDir = dataDir(t)
	}
	stack, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, stack) })
	return stack
}

func end(t *testing.T, stack *Stack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := stack.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// startParent runs the test binary as the parent of a stack and returns the stack's database URL.
func startParent(t *testing.T, dir string) (parent *exec.Cmd, url string) {
	t.Helper()
	parent = exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test binary
	parent.Env = append(os.Environ(), parentMode+"="+dir)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	url, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return parent, strings.TrimSpace(url)
}

// dataDir returns a directory that every user may traverse, unlike those of t.TempDir.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-test-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // PostgreSQL's user traverses it
		t.Fatal(err)
	}
	return dir
}

// refused starts a stack that must fail to start and returns the error.
func refused(t *testing.T, opts Options, programs finder) error {
	t.Helper()
	stack, err := start(t.Context(), opts, programs)
	if err == nil {
		end(t, stack)
		t.Fatal("the stack started, want an error")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is not one sentence: %q", err)
	}
	return err
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
}

func queryInt(t *testing.T, url, sql string) int {
	t.Helper()
	var n int
	if err := connect(t, url).QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// waitFor polls until the condition holds. It fails the test after half a minute.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within half a minute: %s", what)
		case <-tick.C:
		}
	}
}

// running reports whether a process with the id exists and has not exited.
func running(t *testing.T, pid int) bool {
	t.Helper()
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && commandLine(t.Context(), pid) != ""
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// recorder collects progress messages.
type recorder struct {
	mu   sync.Mutex
	said []string
}

func (r *recorder) report(msg string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, msg)
}

func (r *recorder) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.said, "\n")
}

func itoa(n int) string { return strconv.Itoa(n) }
