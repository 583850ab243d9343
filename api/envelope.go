package api

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
)

const jsonType = "application/json; charset=utf-8"

// challenge says how to send a key (RFC 6750, section 3). Every 401 carries it (RFC 9110, section
// 15.5.2).
var challenge = []string{`Bearer realm="gateway"`}

// limitHeaders sets the challenge of a 401, and Retry-After and the rate window of a refusal that
// has them.
func limitHeaders(h http.Header, f *fault.Error) {
	if f.HTTP() == http.StatusUnauthorized {
		h["Www-Authenticate"] = challenge
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(fault.WholeSeconds(f.RetryAfter), 10))
	}
	if w := f.Window; w != nil {
		// docs/interface.md spells these names in this way, which is not net/http's canonical form.
		h["RateLimit-Limit"] = []string{strconv.FormatInt(w.Limit, 10)}
		h["RateLimit-Remaining"] = []string{strconv.FormatInt(w.Remaining, 10)}
		h["RateLimit-Reset"] = []string{strconv.FormatInt(fault.WholeSeconds(w.Reset), 10)}
	}
}

// windowHeaders is how many headers tellWindow sets.
const windowHeaders = 3

// tellWindow sets headers with what is left of the caller's rate window, so that clients can pace
// themselves before they are refused. It stores the values in space, which must have room for
// windowHeaders values.
func tellWindow(h http.Header, w *fault.Window, space []string) {
	if w.Limit <= 0 {
		return
	}
	var digits [3 * 20]byte // three 64-bit numbers
	b := strconv.AppendInt(digits[:0], w.Limit, 10)
	first := len(b)
	b = strconv.AppendInt(b, w.Remaining, 10)
	second := len(b)
	text := string(strconv.AppendInt(b, fault.WholeSeconds(w.Reset), 10))
	space[0], space[1], space[2] = text[:first], text[first:second], text[second:]
	h["RateLimit-Limit"], h["RateLimit-Remaining"], h["RateLimit-Reset"] = space[0:1:1], space[1:2:2], space[2:3:3]
}

// refuse answers with the error envelope, on every route except the relay's.
func (s *server) refuse(c *gin.Context, f *fault.Error) {
	s.noteFault(c, f)
	WriteRefusal(c.Writer, f)
	c.Abort()
}

// WriteRefusal answers with the error envelope. The request id must already be set in the response
// headers.
func WriteRefusal(w http.ResponseWriter, f *fault.Error) {
	h := w.Header()
	limitHeaders(h, f)
	h.Set("Content-Type", jsonType)
	w.WriteHeader(f.HTTP())
	// An error means that the client has left.
	_, _ = w.Write(append(append([]byte(`{"error":`), f.Object(h.Get(requestIDHeader))...), '}'))
}

// noteFault counts a refusal of a request that never became a call, and logs it when it has a
// cause. Refusals without a cause are the client's fault; faults with one concern the operator. The
// relay counts and logs calls.
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
