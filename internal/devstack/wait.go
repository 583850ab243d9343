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
	// progressAfter is how long something may take in silence, progressEvery how often it is told
	// of afterwards.
	progressAfter = time.Second
	progressEvery = 5 * time.Second
	// pollEvery is how often a starting server is asked whether it answers.
	pollEvery = 20 * time.Millisecond
	// startTimeout is how long a server may take until it answers.
	startTimeout = 90 * time.Second
	// startAttempts is how often a server is started when another program takes its port first.
	startAttempts = 4
)

// progress tells what takes long, one sentence at a time.
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

// during runs fn and tells what is going on when it takes longer than a second.
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

// freePort returns a loopback port that nothing listens on at this moment.
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

// attempt is one try to start a server: what to run, and what answers nil as soon as the server
// does.
type attempt struct {
	spec  process.Spec
	ready func(context.Context, *process.Process) error
}

// launch starts a server and waits until ready answers nil. It is started again when another
// program took its port between the choice and the start; begin chooses a new one each time. A
// server that does not come up is killed.
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

// awaitReady polls ready until it answers nil, the child ends, or the time is over.
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

// seeLog points to the log of a program that failed, unless that goes away with the stack.
func (s *starter) seeLog(p *process.Process) string {
	if s.opts.Temporary {
		return ""
	}
	return " (the log is " + p.LogFile() + ")"
}

// lastWords picks the line of the log that says why a server ended.
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

// portTaken holds when a server ended because its port was in use.
func portTaken(p *process.Process) bool {
	words := strings.ToLower(p.Tail(40))
	return strings.Contains(words, "address already in use") || strings.Contains(words, "port is already in use")
}

// oneLine is the text of an error without its line breaks.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
