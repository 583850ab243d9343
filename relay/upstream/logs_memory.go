package upstream

import (
	"errors"
	"io"
	"net"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// body is an answer that is copied into memory. Its bytes count against maxBytes, and its memory
// against Memory, until the call's answer is released.
type body struct {
	of    *logRead
	bytes []byte
	held  int
}

func (b *body) readAll(answer *Answer) (*fault.Error, error) {
	if f := b.grow(len(answer.Result)); f != nil {
		return f, nil
	}
	if f := b.count(len(answer.Result)); f != nil {
		return f, nil
	}
	b.bytes = append(b.bytes, answer.Result...)
	for answer.Rest != nil {
		if len(b.bytes) == cap(b.bytes) {
			if f := b.grow(max(len(b.bytes), transport.PeekBytes)); f != nil {
				return f, nil
			}
		}
		n, err := answer.Rest.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		if f := b.count(n); f != nil {
			return f, nil
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case errors.Is(err, ErrTooLarge):
			return b.of.tooManyBytes(), nil
		case err != nil:
			return nil, err
		}
	}
	return nil, nil
}

// maxBytes returns the most bytes of all parts.
func (l *logRead) maxBytes() int64 { return min(l.r.MaxAnswer, maxSplitBytes) }

// count refuses bytes beyond maxBytes.
func (b *body) count(n int) *fault.Error {
	if b.of.bytes.Add(int64(n)) > b.of.maxBytes() {
		return b.of.tooManyBytes()
	}
	return nil
}

// grow makes room for more bytes.
func (b *body) grow(more int) *fault.Error {
	if m := b.of.r.Memory; m != nil {
		if !m.Take(more) {
			f := fault.New(fault.UpstreamFailed,
				"The gateway holds as many answers as it has memory for. Retry in a second, or ask for fewer blocks. "+
					"Nothing was charged.")
			f.RetryAfter = atLimit
			return f
		}
		b.of.held.Add(int64(more))
	}
	b.held += more
	b.bytes = append(make([]byte, 0, cap(b.bytes)+more), b.bytes...)
	return nil
}

// trim returns the memory that a complete answer does not fill: what a buffer that doubles leaves
// free, for as long as the call is held.
func (b *body) trim() {
	left := b.held - len(b.bytes)
	if left < transport.PeekBytes {
		return
	}
	b.bytes = append(make([]byte, 0, len(b.bytes)), b.bytes...)
	b.held -= left
	if m := b.of.r.Memory; m != nil {
		m.Give(left)
		b.of.held.Add(int64(-left))
	}
}

// drop returns the memory of an unusable answer.
func (b *body) drop() {
	b.of.bytes.Add(int64(-len(b.bytes)))
	if m := b.of.r.Memory; m != nil {
		m.Give(b.held)
		b.of.held.Add(int64(-b.held))
	}
}

func (l *logRead) giveBack() {
	if held := l.held.Swap(0); l.r.Memory != nil && held > 0 {
		l.r.Memory.Give(int(held))
	}
}

// merged returns the answer of all parts, which streams if it is long. It holds the parts' memory
// until it is released.
func (l *logRead) merged(parts []logrange.Part) *Answer {
	pieces := net.Buffers(logrange.Merge(parts))
	total := 0
	for _, piece := range pieces {
		total += len(piece)
	}
	result := make([]byte, min(total, transport.PeekBytes))
	_, _ = io.ReadFull(&pieces, result) // it has so many
	a := &Answer{Result: result}
	a.OnRelease(l.giveBack)
	if total > transport.PeekBytes {
		a.Rest = &pieces
	}
	return a
}
