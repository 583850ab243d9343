package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http/httputil"
)

// body is an answer's body. Close returns the connection to the pool if the body was read to its
// end.
type body struct {
	c     *conn
	ctx   context.Context //nolint:containedctx // of the call in flight
	stop  func() bool     // nil before listen
	r     io.ReadCloser
	reuse bool
	alone bool // the connection has answered no other call
	whole bool // read to its end
	ended bool // the connection no longer belongs to the body
}

func (b *body) Read(p []byte) (int, error) {
	if b.ended || b.whole {
		return 0, io.EOF
	}
	n, err := b.r.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.whole = true
	default:
		err = reason(b.ctx, err)
		b.end()
	}
	return n, err
}

// Close ends the call. It closes the connection if the answer is unfinished or extra bytes have
// arrived.
func (b *body) Close() error {
	if !b.ended {
		b.end()
	}
	return nil
}

// EndConnection marks the connection to be closed with the body.
func (b *body) EndConnection() { b.reuse = false }

// Alone reports whether the connection has answered no other call.
func (b *body) Alone() bool { return b.alone }

func (b *body) end() {
	b.ended = true
	more := b.whole && b.c.br.Buffered() > 0
	if b.unlisten() && b.whole && b.reuse && !more {
		b.c.t.put(b.c)
		return
	}
	b.c.close()
	if more {
		b.c.t.o.Unasked()
	}
}

// chunked reads a chunked body and the trailer after it.
type chunked struct {
	io.Reader
	br *bufio.Reader
}

func newChunked(br *bufio.Reader) io.ReadCloser {
	return io.NopCloser(&chunked{httputil.NewChunkedReader(br), br})
}

const maxTrailer = 4 << 10

func (c *chunked) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	for read := 0; read < maxTrailer; {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return n, unexpected(err)
		}
		if read += len(line); len(trim(line)) == 0 {
			return n, io.EOF
		}
	}
	return n, errHead
}
