package process_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

// parentMode makes the test binary act as a parent that starts a child, prints the child's process
// id and waits.
const parentMode = "PROCESS_TEST_PARENT_LOG"

func TestMain(m *testing.M) {
	if log := os.Getenv(parentMode); log != "" {
		p, err := process.Start(process.Spec{
			Name: "sleeper", Path: "/bin/sh", Args: []string{"-c", "exec sleep 1000"}, LogFile: log,
		})
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.WriteString(strconv.Itoa(p.PID()) + "\n")
		<-p.Exited()
	}
	os.Exit(m.Run())
}

func shell(t *testing.T, script string, spec process.Spec) *process.Process {
	t.Helper()
	spec.Name, spec.Path, spec.Args = "shell", "/bin/sh", []string{"-c", script}
	spec.LogFile = filepath.Join(t.TempDir(), "shell.log")
	p, err := process.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

// waitFor polls until the condition holds. It fails the test after ten seconds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within ten seconds: %s", what)
		case <-tick.C:
		}
	}
}

func TestStop_SendsTheFirstSignalAndWaits(t *testing.T) {
	t.Parallel()
	p := shell(t, `trap 'echo bye; exit 3' INT; echo ready; while :; do sleep 0.01; done`,
		process.Spec{Stop: []syscall.Signal{syscall.SIGINT}})
	waitFor(t, "the shell is ready", func() bool { return p.Tail(1) == "ready" })
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.Tail(1); got != "bye" {
		t.Errorf("the shell's last line is %q, want its farewell", got)
	}
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("the shell ended with %v, want its own exit code 3", p.Err())
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("stopping again: %v", err)
	}
}

func TestStop_KillsWhatIgnoresItsSignals(t *testing.T) {
	t.Parallel()
	p := shell(t, `trap '' INT TERM; echo ready; while :; do sleep 0.01; done`,
		process.Spec{Stop: []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, Grace: 20 * time.Millisecond})
	waitFor(t, "the shell is ready", func() bool { return p.Tail(1) == "ready" })
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.Err() == nil {
		t.Error("the shell ended by itself, want it killed")
	}
}

func TestStop_DoesNotOutliveItsContext(t *testing.T) {
	t.Parallel()
	p := shell(t, `trap '' INT; echo ready; while :; do sleep 0.01; done`,
		process.Spec{Stop: []syscall.Signal{syscall.SIGINT}, Grace: time.Hour})
	waitFor(t, "the shell is ready", func() bool { return p.Tail(1) == "ready" })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestTail_ShowsOnlyThisRun(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "x.log")
	for _, word := range []string{"first", "second"} {
		p, err := process.Start(process.Spec{
			Name: "echo", Path: "/bin/sh", Args: []string{"-c", "echo " + word}, LogFile: log,
		})
		if err != nil {
			t.Fatal(err)
		}
		<-p.Exited()
		if got := p.Tail(5); got != word {
			t.Errorf("tail is %q, want %q", got, word)
		}
	}
}

func TestStart_MissingProgramIsAnError(t *testing.T) {
	t.Parallel()
	_, err := process.Start(process.Spec{
		Name: "nothing", Path: "/nonexistent", LogFile: filepath.Join(t.TempDir(), "x.log"),
	})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "start nothing") {
		t.Errorf("got %v, want an error that names the program", err)
	}
}

func TestChild_IsInAGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	p := shell(t, `while :; do sleep 0.01; done`, process.Spec{})
	group, err := syscall.Getpgid(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	if group != p.PID() {
		t.Errorf("the child's group is %d, want %d: Ctrl-C in the terminal would reach it", group, p.PID())
	}
}
