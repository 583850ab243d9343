package devstack

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

const (
	// progressAfter is how long an operation may take before it is reported, progressEvery the
	// interval of further reports.
	progressAfter = time.Second
	progressEvery = 5 * time.Second
	// pollEvery is the interval at which a starting server is polled.
	pollEvery = 20 * time.Millisecond
	// startTimeout is how long a server may take until it is ready.
	startTimeout = 90 * time.Second
	// startAttempts bounds the starts of a server whose port another program takes first.
	startAttempts = 4
)

// progress reports slow operations, one sentence at a time.
type progress struct {
	mu     sync.Mutex
	report func(string)
}

func (p *progress) sayf(format string, args ...any) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report(fmt.Sprintf(format, args...))
}

// during runs fn and reports it when it takes longer than a second.
func (p *progress) during(doing string, fn func() error) error {
	begun := time.Now()
	done := make(chan struct{})
	var teller sync.WaitGroup
	teller.Go(func() {
		timer := time.NewTimer(progressAfter)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				p.sayf("%s (%d s)", doing, int(time.Since(begun).Seconds()))
				timer.Reset(progressEvery)
			}
		}
	})
	err := fn()
	close(done)
	teller.Wait()
	return err
}

// freePort returns a loopback port on which nothing listens at the moment.
func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("find a free port: the address is %s", l.Addr())
	}
	return addr.Port, nil
}

// attempt is one attempt to start a server: the program to run, and a function that returns nil
// once the server is ready.
type attempt struct {
	spec  process.Spec
	ready func(context.Context, *process.Process) error
}

// launch starts a server and waits until ready returns nil. It retries when another program took
// the server's port; begin chooses a new port each time. A server that does not become ready is
// killed.
func (s *starter) launch(ctx context.Context, begin func() (attempt, error)) (*process.Process, error) {
	for n := 1; ; n++ {
		try, err := begin()
		if err != nil {
			return nil, err
		}
		p, err := process.Start(try.spec)
		if err != nil {
			return nil, err
		}
		err = s.awaitReady(ctx, p, try.ready)
		if err == nil {
			return p, nil
		}
		if killErr := p.Kill(); killErr != nil {
			return nil, fmt.Errorf("%w (and %w)", err, killErr)
		}
		if n == startAttempts || ctx.Err() != nil || !portTaken(p) {
			return nil, err
		}
	}
}

// awaitReady polls ready until it returns nil, the child exits, or the timeout passes.
func (s *starter) awaitReady(ctx context.Context, p *process.Process,
	ready func(context.Context, *process.Process) error,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("no answer within %s", startTimeout))
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last error
	for {
		if last = ready(ctx, p); last == nil {
			return nil
		}
		select {
		case <-p.Exited():
			return fmt.Errorf("%s did not start: %s%s", p.Name(), lastWords(p), s.seeLog(p))
		case <-ctx.Done():
			return fmt.Errorf("%s did not start: %w (last answer: %s)%s", p.Name(), context.Cause(ctx), oneLine(last),
				s.seeLog(p))
		case <-tick.C:
		}
	}
}

// seeLog points to the log of a program that failed, unless the log is removed with the stack.
func (s *starter) seeLog(p *process.Process) string {
	if s.opts.Temporary {
		return ""
	}
	return " (the log is " + p.LogFile() + ")"
}

// lastWords returns the line of the log that says why a server exited.
func lastWords(p *process.Process) string {
	lines := strings.Split(p.Tail(20), "\n")
	for _, line := range lines {
		if strings.Contains(line, "FATAL") || strings.Contains(line, "Fatal") {
			return line
		}
	}
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return fmt.Sprint(p.Err())
}

// portTaken reports whether a server exited because its port was in use.
func portTaken(p *process.Process) bool {
	words := strings.ToLower(p.Tail(40))
	return strings.Contains(words, "address already in use") || strings.Contains(words, "port is already in use")
}

// oneLine returns the text of an error without line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
