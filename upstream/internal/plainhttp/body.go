package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http/httputil"
)

// body is an answer on its way. It gives the connection back at its end.
type body struct {
	c     *conn
	ctx   context.Context //nolint:containedctx // of the call that is being answered
	stop  func() bool     // nil before listen
	r     io.ReadCloser
	reuse bool
	ended bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.r.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.end(true)
	default:
		err = reason(b.ctx, err)
		b.end(false)
	}
	return n, err
}

// Close ends the call; a connection on which the answer goes on is closed.
func (b *body) Close() error {
	if !b.ended {
		b.end(false)
	}
	return nil
}

func (b *body) end(whole bool) {
	b.ended = true
	if b.unlisten() && whole && b.reuse && b.c.br.Buffered() == 0 {
		b.c.t.put(b.c)
		return
	}
	b.c.close()
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
