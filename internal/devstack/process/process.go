// Package process runs one child program for the development stack and for tests: in a process
// group of its own, with its output in a log file, and bound to the life of the parent, so that not
// even kill -9 leaves servers behind. It knows nothing about the programs it runs.
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

// Spec says what to run and how to end it.
type Spec struct {
	// Name is what messages call the program, for instance "PostgreSQL".
	Name string
	// Path is the program's file, Args what follows it on the command line.
	Path string
	Args []string
	// Dir is the working directory; it must be readable for the user of Credential.
	Dir string
	// Env is the whole environment; nil inherits the parent's.
	Env []string
	// LogFile receives standard output and standard error; it is appended to.
	LogFile string
	// Credential runs the program as another user; nil keeps the parent's.
	Credential *syscall.Credential
	// ParentDeath is the signal which the kernel sends when the parent dies (Linux only); 0 means
	// SIGKILL.
	ParentDeath syscall.Signal
	// Stop lists the signals that Stop sends, one after the other, each with Grace to take effect.
	// SIGKILL is always the last one and need not be listed.
	Stop []syscall.Signal
	// Grace is how long each signal of Stop has; 0 means ten seconds.
	Grace time.Duration
}

const (
	defaultGrace = 10 * time.Second
	// tailBytes bounds what Tail reads of a log file.
	tailBytes = 16 << 10
	// logLimitBytes is the size from which a log file is begun anew.
	logLimitBytes = 16 << 20
)

// Process is one running child. Its methods may be called from several goroutines.
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

	// The life of the child is ended by signals in a known order, not by a context.
	cmd := exec.Command(spec.Path, spec.Args...) //nolint:gosec,noctx // the development stack decides what runs
	cmd.Dir, cmd.Env = spec.Dir, spec.Env
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = attributes(spec)

	p := &Process{spec: spec, cmd: cmd, logPos: logPos, exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the parent-death signal when the thread that forked ends, so that thread
		// is kept for as long as the child lives.
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

// PID is the process id of the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Name is what messages call the child.
func (p *Process) Name() string { return p.spec.Name }

// Exited is closed when the child has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the child ended; it is nil while the child runs and after a clean end.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		return p.err
	default:
		return nil
	}
}

// Signal sends sig to the child's process group. A child that has ended is not an error.
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

// Kill ends the child at once and waits for its end.
func (p *Process) Kill() error {
	err := p.Signal(syscall.SIGKILL)
	if err == nil {
		<-p.exited
	}
	return err
}

// Stop asks the child to end with the signals of its spec, kills it when they do not help or ctx is
// over, and waits for its end. It may be called again.
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

// Tail returns the last lines which this run wrote to its log, at most n.
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

// LogFile is where the child's output goes.
func (p *Process) LogFile() string { return p.spec.LogFile }

// openLog opens the log for appending and gives the position of the next line. A log that has grown
// large is begun anew.
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
