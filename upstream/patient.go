package upstream

import (
	"io"
	"time"

	"github.com/chainaccess/gateway/upstream/internal/plainhttp"
)

// owedFrom is the time from which on a stream's deadline is moved; less is not worth it.
const owedFrom = 100 * time.Millisecond

// patient gives the upstream of a streamed answer the time that is left of the call. What the reader of the answer takes for itself
// between two reads does not count: a slow client is no failure of the upstream, and cuts nothing off.
type patient struct {
	io.Reader

	body     plainhttp.Extender
	deadline time.Time // zero for none
	now      func() time.Time
	returned time.Time // when the last read ended
	owed     time.Duration
}

// stream gives what reads the rest of a under the call's deadline.
func (a *Answer) stream(deadline time.Time, now func() time.Time) io.Reader {
	body, ok := a.body.(plainhttp.Extender)
	if !ok || deadline.IsZero() {
		return a.Rest
	}
	body.Extend(deadline)
	return &patient{Reader: a.Rest, body: body, deadline: deadline, now: now, returned: now()}
}

// Read gives the upstream back the time that its reader took.
func (p *patient) Read(b []byte) (int, error) {
	if p.owed += p.now().Sub(p.returned); p.owed >= owedFrom {
		p.deadline, p.owed = p.deadline.Add(p.owed), 0
		p.body.Extend(p.deadline)
	}
	n, err := p.Reader.Read(b)
	p.returned = p.now()
	return n, err
}
