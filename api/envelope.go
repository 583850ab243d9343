package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/telemetry"
)

const jsonType = "application/json; charset=utf-8"

// errorObject renders the error member of the envelope (interface document 1, section 2).
func errorObject(f *fault.Error, requestID string) []byte {
	data := make(map[string]any, len(f.Data)+3)
	maps.Copy(data, f.Data)
	data["request_id"] = requestID
	data["support"] = "/support/new?request_id=" + requestID
	if f.RetryAfter > 0 {
		data["retry_after"] = wholeSeconds(f.RetryAfter)
	}
	body, err := json.Marshal(struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	}{f.Code(), f.Message, data})
	if err != nil { // a refusal's data are words and numbers
		panic(err)
	}
	return body
}

// limitHeaders tells when to come back. Every 429 has them.
func limitHeaders(h http.Header, f *fault.Error) {
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(wholeSeconds(f.RetryAfter), 10))
	}
	if w := f.Window; w != nil {
		// Written as the interface spells them, which is not net/http's canonical form.
		h["RateLimit-Limit"] = []string{strconv.FormatInt(w.Limit, 10)}
		h["RateLimit-Remaining"] = []string{strconv.FormatInt(w.Remaining, 10)}
		h["RateLimit-Reset"] = []string{strconv.FormatInt(wholeSeconds(w.Reset), 10)}
	}
}

func wholeSeconds(d time.Duration) int64 { return int64(max(1, (d+time.Second-1)/time.Second)) }

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
	_, _ = w.Write(append(append([]byte(`{"error":`), errorObject(f, h.Get(requestIDHeader))...), '}'))
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
