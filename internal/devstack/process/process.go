// Package process runs one child program for the development stack and for tests: in its own
// process group, with its output in a log file, and tied to the life of the parent, so that even
// kill -9 leaves no servers running. It knows nothing about the programs that it runs.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Spec describes a program to run and how to stop it.
type Spec struct {
	// Name is the program's name in messages, for example "PostgreSQL".
	Name string
	// Path is the program's file; Args are its arguments, without the program's name.
	Path string
	Args []string
	// Dir is the working directory. The user of Credential must be able to read it.
	Dir string
	// Env is the whole environment; nil inherits the parent's.
	Env []string
	// LogFile is a file to which standard output and standard error are appended.
	LogFile string
	// Credential runs the program as another user; nil keeps the parent's.
	Credential *syscall.Credential
	// ParentDeath is the signal that the kernel sends to the child when the parent dies (Linux
	// only); 0 means SIGKILL.
	ParentDeath syscall.Signal
	// Stop lists the signals that Stop sends in turn, each with Grace to take effect. SIGKILL
	// always follows and need not be listed.
	Stop []syscall.Signal
	// Grace is the time for each signal of Stop; 0 means ten seconds.
	Grace time.Duration
}

const (
	defaultGrace = 10 * time.Second
	// tailBytes bounds what Tail reads of a log file.
	tailBytes = 16 << 10
	// logLimitBytes is the size above which a log file is truncated at the start.
	logLimitBytes = 16 << 20
)

// Process is one running child. It is safe for concurrent use.
type Process struct {
	spec   Spec
	cmd    *exec.Cmd
	logPos int64 // where this run's lines begin in the log file
	exited chan struct{}
	err    error // set before exited is closed
}

// Start runs the program of spec. The caller owns the process and must call Stop or Kill.
func Start(spec Spec) (*Process, error) {
	logFile, logPos, err := openLog(spec.LogFile)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	defer func() { _ = logFile.Close() }()

	// The child is stopped by signals in a known order, not by a context.
	cmd := exec.Command(spec.Path, spec.Args...) //nolint:gosec,noctx // the development stack decides what runs
	cmd.Dir, cmd.Env = spec.Dir, spec.Env
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = attributes(spec)

	p := &Process{spec: spec, cmd: cmd, logPos: logPos, exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the parent-death signal when the thread that forked ends, so that thread
		// is kept until the child exits.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.exited)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return p, nil
}

// PID returns the child's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Name returns the child's name in messages.
func (p *Process) Name() string { return p.spec.Name }

// Exited returns a channel that is closed when the child has exited.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns the child's exit error; nil while it runs and after exit code 0.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		return p.err
	default:
		return nil
	}
}

// Signal sends sig to the child's process group. It returns nil when the child has already exited.
func (p *Process) Signal(sig syscall.Signal) error {
	select {
	case <-p.exited:
		return nil
	default:
	}
	if err := syscall.Kill(-p.PID(), sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to %s: %w", sig, p.spec.Name, err)
	}
	return nil
}

// Kill sends SIGKILL to the child and waits until it has exited.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.exited
	}
	return err
}

// Stop sends the signals of the spec in turn, then SIGKILL when they had no effect or ctx has
// ended, and waits until the child has exited. It may be called again.
func (p *Process) Stop(ctx context.Context) error {
	grace := p.spec.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	for _, sig := range p.spec.Stop {
		if err := p.Signal(sig); err != nil {
			return err
		}
		timer := time.NewTimer(grace)
		select {
		case <-p.exited:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return p.Kill()
		case <-timer.C:
		}
	}
	return p.Kill()
}

// Tail returns at most the last n lines that this run wrote to its log.
func (p *Process) Tail(n int) string {
	f, err := os.Open(p.spec.LogFile)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(p.logPos, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// LogFile returns the path of the child's log.
func (p *Process) LogFile() string { return p.spec.LogFile }

// openLog opens the log for appending and returns the position of the next line. It truncates a log
// that exceeds logLimitBytes.
func openLog(path string) (*os.File, int64, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > logLimitBytes {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600) //nolint:gosec // the path is the development stack's own
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}
