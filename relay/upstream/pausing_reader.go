package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream/internal/plainhttp"
)

// owedFrom is the time from which on a stream's deadline is moved; less is not worth it.
const owedFrom = 100 * time.Millisecond

// slowReader is the sum of pauses from which on the reader of a stream has made its upstream wait:
// nodes give up on a client to which they cannot write (geth after 30 seconds in all, others
// sooner).
const slowReader = 5 * time.Second

// ErrSlowReader is in the error of a stream that the upstream ended after its reader had made it
// wait. It is nobody's failure but the reader's.
var ErrSlowReader = errors.New("the upstream did not wait for a slow reader")

// pausingReader gives the upstream of a streamed answer the time that is left of the call. What the
// reader of the answer takes for itself between two reads does not count: a slow client is no
// failure of the upstream, and cuts nothing off.
type pausingReader struct {
	io.Reader

	body     plainhttp.Extender // nil when there is no deadline to move
	deadline time.Time
	now      func() time.Time
	returned time.Time     // when the last read ended
	owed     time.Duration // of the pauses since the deadline was moved
	paused   time.Duration // all of them
}

// stream returns what reads the rest of a under the call's deadline, which may be zero for none.
func (a *Answer) stream(deadline time.Time, now func() time.Time) *pausingReader {
	p := &pausingReader{Reader: a.Rest, deadline: deadline, now: now, returned: now()}
	if body, ok := a.body.(plainhttp.Extender); ok && !deadline.IsZero() {
		body.Extend(deadline)
		p.body = body
	}
	return p
}

// Read returns the upstream back the time that its reader took.
func (p *pausingReader) Read(b []byte) (int, error) {
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

// explain puts ErrSlowReader into the error of a stream that ended early after its reader had made
// the upstream wait. What is wrong with the content is not explained so, nor an upstream that let
// its own time pass: the deadline stands still while the reader does.
func (p *pausingReader) explain(err error) error {
	if p.paused < slowReader || errors.Is(err, ErrTooLarge) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, jsonrpc.ErrSyntax) || errors.Is(err, jsonrpc.ErrNotResponse) ||
		errors.Is(err, jsonrpc.ErrTooDeep) ||
		errors.Is(err, errWrongID) || errors.Is(err, errNoID) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrSlowReader, err)
}
