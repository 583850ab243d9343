package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/relay"
)

const (
	pieceBytes = 64 << 10 // that a client takes in one go
	// A client may take as long as it goes on reading, but no longer than this.
	longestAnswer = 30 * time.Minute
)

// stream writes an answer that goes on in reply.Rest. When the upstream breaks off, so does this answer, and it is given back.
func (s *server) stream(c *gin.Context, reply *relay.Reply, beginning []byte) {
	client := s.client(c)
	var body io.Writer = client
	var z *zipper
	if acceptsGzip(c.Request.Header) {
		if z = newZipper(client); z != nil {
			defer z.release()
			body = z
			c.Writer.Header()["Content-Encoding"] = gzipValue
		}
	}
	c.Writer.WriteHeader(http.StatusOK)
	_, err := body.Write(beginning)
	chunk := make([]byte, 32<<10)
	for err == nil {
		got, upstreamErr := reply.Rest.Read(chunk)
		if got > 0 {
			_, err = body.Write(chunk[:got])
		}
		if errors.Is(upstreamErr, io.EOF) {
			if err == nil {
				_, err = body.Write([]byte{'}'})
			}
			if err == nil && z != nil {
				err = z.Close()
			}
			if err != nil {
				break
			}
			reply.Close(http.StatusOK, client.written)
			return
		}
		if upstreamErr != nil {
			if !clientLeft(c.Request.Context()) {
				reply.Broken(c.Request.Context(), upstreamErr)
			}
			break
		}
	}
	reply.Close(http.StatusOK, client.written)
	panic(http.ErrAbortHandler) // the client must see that the answer is not whole
}

// clientLeft is whether a call is over because its client went away, and not because this process stops.
func clientLeft(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), relay.ErrStopping)
}

// client writes a long answer piece by piece: it may take long, as long as each piece is taken in time. It counts the bytes.
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
		w: c.Writer, control: http.NewResponseController(c.Writer), now: s.Now, stall: s.ClientStall, last: s.Now().Add(longestAnswer),
	}
}

// Write gives p to the client. The deadline is moved when a quarter of it is over, which is seldom.
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
