package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/assets"
	"github.com/chainaccess/gateway/relay"
)

const (
	pieceBytes = 64 << 10 // written to a client at a time
	// The limit of one answer, also for a client that keeps reading.
	longestAnswer = 30 * time.Minute
)

// stream writes an answer that continues in reply.Rest. When the upstream breaks off, the answer is
// aborted and refunded. When the client leaves or stops reading, the call is charged.
func (s *server) stream(c *gin.Context, reply *relay.Reply, beginning []byte) {
	out := s.outgoing(c)
	defer out.release()
	c.Writer.WriteHeader(http.StatusOK)
	_, err := out.Write(beginning)
	var upstreamErr error
	chunk := make([]byte, 32<<10)
	for err == nil && upstreamErr == nil {
		var got int
		if got, upstreamErr = reply.Rest.Read(chunk); got > 0 {
			_, err = out.Write(chunk[:got])
		}
	}
	whole := errors.Is(upstreamErr, io.EOF)
	if err == nil && whole {
		if _, err = out.Write([]byte{'}'}); err == nil {
			err = out.end()
		}
	}
	ctx := c.Request.Context()
	switch {
	case err == nil && whole:
		reply.Close(http.StatusOK, out.client.written)
		return
	case clientLeft(ctx), err != nil && !stopping(ctx):
		reply.Left()
	default:
		reply.Broken(ctx, errors.Join(err, upstreamErr))
	}
	reply.Close(http.StatusOK, out.client.written)
	panic(http.ErrAbortHandler) // the client must see that the answer is incomplete
}

// outgoing is a body of unknown length that is being sent, compressed when the client accepts gzip
// and a compressor is free.
type outgoing struct {
	io.Writer

	client *client
	zipper *zipper // nil when uncompressed
}

// outgoing must be called before the status is written. The caller must release the result.
func (s *server) outgoing(c *gin.Context) *outgoing {
	o := &outgoing{client: s.client(c)}
	o.Writer = o.client
	if assets.AcceptsGzip(c.Request.Header) {
		if o.zipper = newZipper(o.client); o.zipper != nil {
			o.Writer = o.zipper
			c.Writer.Header()["Content-Encoding"] = gzipValue
		}
	}
	return o
}

// end marks the body as complete.
func (o *outgoing) end() error {
	if o.zipper == nil {
		return nil
	}
	return o.zipper.Close()
}

func (o *outgoing) release() {
	if o.zipper != nil {
		o.zipper.release()
	}
}

// stopping reports whether a call ended because this process stops.
func stopping(ctx context.Context) bool { return errors.Is(context.Cause(ctx), relay.ErrStopping) }

// clientLeft reports whether a call ended because its client left, and not because this process
// stops.
func clientLeft(ctx context.Context) bool {
	return ctx.Err() != nil && !stopping(ctx)
}

// client writes a long answer in pieces. The answer may take up to longestAnswer, as long as the
// client accepts each piece in time. client counts the bytes.
type client struct {
	w       io.Writer
	control *http.ResponseController
	now     func() time.Time
	stall   time.Duration // how long a piece may take
	moved   time.Time     // when the write deadline was set
	last    time.Time     // when the answer must be over
	written int64
}

func (s *server) client(c *gin.Context) *client {
	return &client{
		w: c.Writer, control: http.NewResponseController(c.Writer), now: s.Now, stall: s.ClientStall,
		last: s.Now().Add(longestAnswer),
	}
}

// Write sends p to the client. It renews the write deadline only once a quarter of it has passed.
func (c *client) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		now := c.now()
		if now.After(c.last) {
			return n, os.ErrDeadlineExceeded
		}
		if now.Sub(c.moved) >= c.stall/4 {
			deadline := now.Add(c.stall)
			if deadline.After(c.last) {
				deadline = c.last
			}
			if err := c.control.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return n, err
			}
			c.moved = now
		}
		var m int
		m, err = c.w.Write(p[n:min(len(p), n+pieceBytes)])
		n += m
	}
	c.written += int64(n)
	return n, err
}
