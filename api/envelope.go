package api

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/telemetry"
)

const jsonType = "application/json; charset=utf-8"

// challenge says how to send a key (RFC 6750, section 3), which every 401 does (RFC 9110, section 15.5.2).
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

// refuse answers a route other than the relay with the error envelope.
func (s *server) refuse(c *gin.Context, f *fault.Error) {
	s.noteFault(c, f)
	WriteRefusal(c.Writer, f)
	c.Abort()
}

// WriteRefusal answers with the error envelope. The request's id stands in the answer's headers already.
func WriteRefusal(w http.ResponseWriter, f *fault.Error) {
	h := w.Header()
	limitHeaders(h, f)
	h.Set("Content-Type", jsonType)
	w.WriteHeader(f.HTTP())
	// A client that went away is told nothing.
	_, _ = w.Write(append(append([]byte(`{"error":`), f.Object(h.Get(requestIDHeader))...), '}'))
}

// noteFault counts a refusal of what never became a call, and writes what has a cause to the log: refusals are the client's business,
// faults with a cause are the operator's. Calls are counted and logged by the relay.
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
	level("request failed", "request_id", c.Writer.Header().Get(requestIDHeader), "route", c.FullPath(), "reason", f.Reason.String(), "cause", f.Cause,
		"left_out", leftOut)
}
