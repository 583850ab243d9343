package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
	"github.com/chainaccess/gateway/relay/upstream/internal/plainhttp"
)

// owedFrom is the pause from which on a stream's deadline is moved; moving it for less is not worth
// it.
const owedFrom = 100 * time.Millisecond

// slowReader is the total pause from which on a stream's reader is to blame for the upstream's end:
// nodes give up on a client to which they cannot write (geth after 30 seconds in all, others
// sooner).
const slowReader = 5 * time.Second

// ErrSlowReader is in the error of a stream that the upstream ended after its reader had paused too
// long. It does not count against the upstream.
var ErrSlowReader = errors.New("the upstream did not wait for a slow reader")

// PausingReader limits the upstream of a streamed answer to the time that is left of the call. The
// reader's pauses between two reads do not count: a slow client is no failure of the upstream, and
// does not cut the answer off.
type PausingReader struct {
	io.Reader

	body     plainhttp.Extender // nil if there is no deadline to move
	deadline time.Time
	now      func() time.Time
	returned time.Time     // when the last read ended
	owed     time.Duration // sum of the pauses since the deadline was moved
	paused   time.Duration // sum of all pauses
}

// Stream returns a reader of the rest of a under the call's deadline, zero for none.
func (a *Answer) Stream(deadline time.Time, now func() time.Time) *PausingReader {
	p := &PausingReader{Reader: a.Rest, deadline: deadline, now: now, returned: now()}
	if body, ok := a.body.(plainhttp.Extender); ok && !deadline.IsZero() {
		body.Extend(deadline)
		p.body = body
	}
	return p
}

// Read moves the deadline by the time that the reader paused, then reads.
func (p *PausingReader) Read(b []byte) (int, error) {
	pause := p.now().Sub(p.returned)
	p.paused += pause
	if p.owed += pause; p.owed >= owedFrom && p.body != nil {
		p.deadline, p.owed = p.deadline.Add(p.owed), 0
		p.body.Extend(p.deadline)
	}
	n, err := p.Reader.Read(b)
	p.returned = p.now()
	return n, err
}

// Explain wraps the error of a stream with ErrSlowReader if its reader had paused too long. It does
// not for invalid content, nor for a timeout: the deadline does not run while the reader pauses.
func (p *PausingReader) Explain(err error) error {
	if p.paused < slowReader || errors.Is(err, ErrTooLarge) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, jsonrpc.ErrSyntax) || errors.Is(err, jsonrpc.ErrNotResponse) ||
		errors.Is(err, jsonrpc.ErrTooDeep) ||
		errors.Is(err, logrange.ErrNotOfRange) || errors.Is(err, errWrongID) || errors.Is(err, errNoID) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrSlowReader, err)
}
