package api

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
)

const jsonType = "application/json; charset=utf-8"

// challenge says how to send a key (RFC 6750, section 3), which every 401 does (RFC 9110, section
// 15.5.2).
var challenge = []string{`Bearer realm="gateway"`}

// limitHeaders tells when to come back, which every 429 does, and what to come with.
func limitHeaders(h http.Header, f *fault.Error) {
	if f.HTTP() == http.StatusUnauthorized {
		h["Www-Authenticate"] = challenge
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(fault.WholeSeconds(f.RetryAfter), 10))
	}
	if w := f.Window; w != nil {
		// Written as the interface spells them, which is not net/http's canonical form.
		h["RateLimit-Limit"] = []string{strconv.FormatInt(w.Limit, 10)}
		h["RateLimit-Remaining"] = []string{strconv.FormatInt(w.Remaining, 10)}
		h["RateLimit-Reset"] = []string{strconv.FormatInt(fault.WholeSeconds(w.Reset), 10)}
	}
}

// windowHeaders is how many headers tellWindow sets.
const windowHeaders = 3

// tellWindow says on an answer what is left of its caller's rate window, so that clients pace
// themselves before anything is refused. The values are written into space, which has room for
// windowHeaders of them.
func tellWindow(h http.Header, w *fault.Window, space []string) {
	if w.Limit <= 0 {
		return
	}
	var digits [3 * 20]byte // of three 64-bit numbers
	b := strconv.AppendInt(digits[:0], w.Limit, 10)
	first := len(b)
	b = strconv.AppendInt(b, w.Remaining, 10)
	second := len(b)
	text := string(strconv.AppendInt(b, fault.WholeSeconds(w.Reset), 10))
	space[0], space[1], space[2] = text[:first], text[first:second], text[second:]
	h["RateLimit-Limit"], h["RateLimit-Remaining"], h["RateLimit-Reset"] = space[0:1:1], space[1:2:2], space[2:3:3]
}

// refuse answers a route other than the relay with the error envelope.
func (s *server) refuse(c *gin.Context, f *fault.Error) {
	s.noteFault(c, f)
	WriteRefusal(c.Writer, f)
	c.Abort()
}

// WriteRefusal answers with the error envelope. The request's id stands in the answer's headers
// already.
func WriteRefusal(w http.ResponseWriter, f *fault.Error) {
	h := w.Header()
	limitHeaders(h, f)
	h.Set("Content-Type", jsonType)
	w.WriteHeader(f.HTTP())
	// A client that went away is told nothing.
	_, _ = w.Write(append(append([]byte(`{"error":`), f.Object(h.Get(requestIDHeader))...), '}'))
}

// noteFault counts a refusal of what never became a call, and writes what has a cause to the log:
// refusals are the client's business, faults with a cause are the operator's. Calls are counted and
// logged by the relay.
func (s *server) noteFault(c *gin.Context, f *fault.Error) {
	s.Metrics.Refused(f.Reason)
	if kept, traced := c.Get(spanKey); traced {
		if span, ok := kept.(*telemetry.Span); ok {
			span.Set("gateway.reason", f.Reason.String())
		}
	}
	if f.Cause == nil {
		return
	}
	leftOut, ok := s.complaints.Let(f.Reason)
	if !ok {
		return
	}
	level := s.Logger.Warn
	if f.Reason == fault.InternalFault {
		level = s.Logger.Error
	}
	level("request failed", "request_id", c.Writer.Header().Get(requestIDHeader), "route", c.FullPath(), "reason",
		f.Reason.String(), "cause", f.Cause, "left_out", leftOut)
}
