// Package fault owns the refusals of the gateway: one table, keyed by reason, of JSON-RPC codes,
// HTTP statuses, titles, meanings and next steps, and the error type that carries a reason to the
// transport. Domain code names reasons only; the transports map them to codes and statuses and
// render them with Object.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Reason is why a call was refused. The HTTP status depends on the reason, not on the code: several
// reasons may share a code.
type Reason uint8

// Entry is the table's line for a reason.
type Entry struct {
	Reason  Reason
	Name    string // stable snake_case word, used in usage records and metrics
	Code    int    // error.code of the envelope
	HTTP    int    // status of the answer when the refusal is not inside a batch
	Title   string
	Meaning string
	Steps   []string // what to do next, in order
	Doorway string   // path to what lifts the limit; empty when there is none
}

// Error is a refusal, which the transport renders.
type Error struct {
	Reason Reason
	// Message is public and says what to do next.
	Message string
	// Data is merged into error.data of the envelope. It must not hold secrets.
	Data map[string]any
	// RetryAfter is how long the client should wait; every HTTP 429 sets it.
	RetryAfter time.Duration
	// Window describes the limit that refused, for the RateLimit-* headers.
	Window *Window
	// Cause is for the log only; it never reaches the client.
	Cause error
}

// Window describes the limit that refused a call. Limit and Remaining are in the limit's own
// measure (requests or units).
type Window struct {
	Limit     int64
	Remaining int64
	Reset     time.Duration
}

// New returns a refusal. With an empty format, the message is the table's meaning, which includes
// what to do next.
func New(r Reason, format string, args ...any) *Error {
	msg := r.Entry().Meaning
	switch {
	case format != "" && len(args) > 0:
		msg = fmt.Sprintf(format, args...)
	case format != "":
		msg = format
	}
	return &Error{Reason: r, Message: msg}
}

// Internal wraps an unexpected error: HTTP 500, -32603, and a constant message. The cause is only
// logged.
func Internal(cause error) *Error {
	e := New(InternalFault, "")
	e.Cause = cause
	return e
}

// From returns err as a refusal: itself when it is one, an internal fault otherwise, nil for nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Internal(err)
}

// With returns a copy with one more member in Data.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Data = maps.Clone(e.Data)
	if c.Data == nil {
		c.Data = make(map[string]any, 4)
	}
	c.Data[key] = value
	return &c
}

// Wrap returns a copy with a cause for the log.
func (e *Error) Wrap(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// Code returns error.code of the envelope.
func (e *Error) Code() int { return e.Reason.Entry().Code }

// HTTP returns the HTTP status.
func (e *Error) HTTP() int { return e.Reason.Entry().HTTP }

// Error returns the reason, the message and the cause, for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Reason, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Reason, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Entry returns the reason's line of the table; that of InternalFault for an unknown reason.
func (r Reason) Entry() Entry {
	if int(r) < len(table) && table[r].Code != 0 {
		return table[r]
	}
	return table[InternalFault]
}

// String returns the reason's stable name.
func (r Reason) String() string { return r.Entry().Name }

// Named returns the reason with a stable name.
func Named(name string) (Reason, bool) {
	r, ok := byName[name]
	return r, ok
}

// Table returns all entries in the order of their declaration.
func Table() []Entry {
	all := make([]Entry, 0, len(table))
	for _, e := range table {
		if e.Code != 0 {
			all = append(all, e)
		}
	}
	return all
}

// Explain returns the entries that share a code; none for an unknown code.
func Explain(code int) []Entry {
	var found []Entry
	for _, e := range table {
		if e.Code == code && code != 0 {
			found = append(found, e)
		}
	}
	return found
}
