package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
)

// wholeBatch is the approximate size in bytes up to which a batch is assembled before it is sent. A
// larger batch is streamed, so that it is not held in memory twice.
const wholeBatch = 256 << 10

// replyQueue holds the replies of a batch that are being sent. Each is closed exactly once, also
// after a panic, because replies hold memory.
type replyQueue struct {
	replies []*relay.Reply
	closed  int
}

// close closes the next reply; written is how many of its bytes were sent.
func (o *replyQueue) close(written int) {
	reply := o.replies[o.closed]
	o.closed++
	reply.Close(http.StatusOK, int64(written))
}

func (o *replyQueue) closeRest() {
	for o.closed < len(o.replies) {
		o.close(0)
	}
}

func (s *server) writeBatch(c *gin.Context, replies []*relay.Reply) {
	out := &replyQueue{replies: replies}
	defer out.closeRest()
	h, allHit, size := c.Writer.Header(), true, 0
	var window fault.Window
	var lowest upstream.Agreement
	for _, reply := range replies {
		if w := reply.Window(); w.Limit > 0 && (window.Limit == 0 || w.Remaining < window.Remaining ||
			w.Remaining == window.Remaining && w.Reset > window.Reset) {
			window = w // the items ran in parallel: the one counted last has the fewest left
		}
		if v := reply.Verified(); v.Asked > 0 && (lowest.Asked == 0 || v.Agreed < lowest.Agreed ||
			v.Agreed == lowest.Agreed && v.Asked > lowest.Asked) {
			lowest = v
		}
		allHit = allHit && reply.Hit
		size += len(reply.Result) + len(reply.Error)
	}
	if allHit {
		h["X-Service-Cache"] = hitValue
	}
	if lowest.Asked > 0 {
		h[verifiedHeader] = []string{agreed(lowest)}
	}
	tellWindow(h, &window, make([]string, windowHeaders))
	h.Set("Server-Timing", serverTiming(slowest(replies), allHit))
	h["Content-Type"] = jsonTypeValue
	if size <= wholeBatch {
		s.sendBatch(c, out)
	} else {
		s.streamBatch(c, out)
	}
}

// sendBatch sends a batch in one piece.
func (s *server) sendBatch(c *gin.Context, out *replyQueue) {
	id := c.Writer.Header().Get(requestIDHeader)
	body := []byte{}
	sizes := make([]int, len(out.replies))
	for i, reply := range out.replies {
		body = append(body, separator(i))
		before := len(body)
		body = appendReply(body, reply, id)
		sizes[i] = len(body) - before
	}
	s.send(c, http.StatusOK, append(body, ']'), make([]string, 1))
	for _, size := range sizes {
		out.close(size)
	}
}

// streamBatch sends a batch reply by reply and releases the memory of each reply once it is sent.
func (s *server) streamBatch(c *gin.Context, out *replyQueue) {
	to := s.outgoing(c)
	defer to.release()
	c.Writer.WriteHeader(http.StatusOK)
	id := c.Writer.Header().Get(requestIDHeader)
	var err error
	var head []byte // not sent yet
	write := func(b []byte) {
		if err == nil {
			_, err = to.Write(b)
		}
	}
	for i, reply := range out.replies {
		head = append(head, separator(i))
		before := len(head)
		if reply.Fault != nil || reply.Error != nil || len(reply.Result) < pieceBytes {
			head = appendReply(head, reply, id)
			out.close(len(head) - before)
		} else {
			head = append(appendOpening(head, reply.ID), `"result":`...)
			size := len(head) - before + len(reply.Result) + 1
			write(head)
			write(reply.Result)
			out.close(size)
			head = append(head[:0], '}')
		}
		if len(head) >= pieceBytes {
			write(head)
			head = head[:0]
		}
	}
	if write(append(head, ']')); err == nil {
		err = to.end()
	}
	if err != nil { // the calls were made anyway
		panic(http.ErrAbortHandler)
	}
}

// separator returns the byte that precedes item i.
func separator(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}

// Bounds of the errors that answer one batch: a body of a few megabytes may hold hundreds of
// thousands of requests. A larger batch is refused with one error. What a caller without a valid
// key sends costs it nothing, so its answer and what is read for it are bounded more tightly.
const (
	maxRefusedIDs   = 2 * relay.MaxBatch
	maxStrangerIDs  = 250
	maxStrangerBody = 64 << 10 // bytes, not compressed
)

// idsOfStranger reads the body of a caller without a valid key, for its ids; nil if it is too large
// or compressed.
func (s *server) idsOfStranger(r *http.Request, buffer *requestBody) []byte {
	if r.ContentLength < 0 || r.ContentLength > maxStrangerBody || r.Header.Get("Content-Encoding") != "" {
		return nil
	}
	body, _ := s.readBody(r, buffer) // without ids the refusal is the same
	return body
}

// refuseRPC answers a body whose caller is not identified. Nothing is metered.
func (s *server) refuseRPC(c *gin.Context, f *fault.Error, body []byte) {
	s.noteFault(c, f)
	limitHeaders(c.Writer.Header(), f)
	if ids := jsonrpc.BatchIDs(body, maxStrangerIDs); ids != nil {
		_, err := s.writeErrors(c, ids, f)
		abortOn(err)
		return
	}
	c.Data(f.HTTP(), jsonType, appendFault(nil, singleID(body), f, c.Writer.Header().Get(requestIDHeader)))
}

// writeRefused answers a body that was refused as a whole. Clients match the answers of a batch to
// its requests, so a batch whose ids are readable gets one error per id.
func (s *server) writeRefused(c *gin.Context, reply *relay.Reply, body []byte) {
	ids := jsonrpc.BatchIDs(body, maxRefusedIDs)
	if ids == nil {
		s.writeSingle(c, reply)
		return
	}
	f, h := reply.Fault, c.Writer.Header()
	limitHeaders(h, f)
	if f.Window == nil {
		window := reply.Window()
		tellWindow(h, &window, make([]string, windowHeaders))
	}
	h.Set("Server-Timing", serverTiming(reply.Timing, false))
	written, err := s.writeErrors(c, ids, f)
	reply.Close(f.HTTP(), written)
	abortOn(err)
}

// abortOn ends the connection after a failed write: the client must see that the answer is
// incomplete.
func abortOn(err error) {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// writeErrors sends f once for each id, in the status of f, and returns how many bytes were sent.
func (s *server) writeErrors(c *gin.Context, ids [][]byte, f *fault.Error) (written int64, err error) {
	h := c.Writer.Header()
	object := f.Object(h.Get(requestIDHeader))
	h["Content-Type"] = jsonTypeValue
	out := s.outgoing(c)
	defer out.release()
	c.Writer.WriteHeader(f.HTTP())
	piece := make([]byte, 0, min(len(ids)*(len(object)+64), pieceBytes))
	for i, id := range ids {
		piece = append(appendOpening(append(piece, separator(i)), id), `"error":`...)
		piece = append(append(piece, object...), '}')
		if len(piece) >= pieceBytes && err == nil {
			_, err = out.Write(piece)
			piece = piece[:0]
		}
	}
	if err == nil {
		_, err = out.Write(append(piece, ']'))
	}
	if err == nil {
		err = out.end()
	}
	return out.client.written, err
}
