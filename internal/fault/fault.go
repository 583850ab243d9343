// Package fault owns the refusals of the gateway: one table keyed by reason that gives each its
// JSON-RPC style code, HTTP status, title, meaning and next steps, and the one error type that
// carries a reason to the door. Rules name reasons only; the doors map them to codes and statuses,
// and render them as the one object that envelope.go makes.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Reason says why a call was refused. The reason, not the code, decides the HTTP status: one code
// may have several reasons.
type Reason uint8

// Entry is what the table says about a reason.
type Entry struct {
	Reason  Reason
	Name    string // stable snake_case word, used in usage records and metrics
	Code    int    // error.code of the envelope
	HTTP    int    // status of the answer when the refusal is not inside a batch
	Title   string
	Meaning string
	Steps   []string // what to do next, in order
	Doorway string   // path that leads past the limit; empty when there is none
}

// Error is a refusal on its way to the door.
type Error struct {
	Reason Reason
	// Message is public and says what to do next.
	Message string
	// Data joins error.data of the envelope. Never a secret.
	Data map[string]any
	// RetryAfter is how long to wait; every HTTP 429 sets it.
	RetryAfter time.Duration
	// Window describes the limit that refused, for the RateLimit-* headers.
	Window *Window
	// Cause is for the log only; it never reaches the client.
	Cause error
}

// Window describes the limit that refused a call. Limit and Remaining are in the limit's own unit
// (requests or units).
type Window struct {
	Limit     int64
	Remaining int64
	Reset     time.Duration
}

// New makes a refusal. An empty format takes the table's meaning as its message, which says what to
// do next.
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

// Internal wraps an unexpected error: HTTP 500, -32603, a constant message; the cause goes to the
// log only.
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

// With returns a copy with one more entry in Data.
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

// Code is error.code of the envelope.
func (e *Error) Code() int { return e.Reason.Entry().Code }

// HTTP is the status of the answer.
func (e *Error) HTTP() int { return e.Reason.Entry().HTTP }

// Error is for logs: it names the reason and the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Reason, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Reason, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Entry looks the reason up in the table.
func (r Reason) Entry() Entry {
	if int(r) < len(table) && table[r].Code != 0 {
		return table[r]
	}
	return table[InternalFault]
}

// String is the reason's stable name.
func (r Reason) String() string { return r.Entry().Name }

// Named finds the reason with a stable name.
func Named(name string) (Reason, bool) {
	r, ok := byName[name]
	return r, ok
}

// Table lists every reason in the order of their declaration.
func Table() []Entry {
	all := make([]Entry, 0, len(table))
	for _, e := range table {
		if e.Code != 0 {
			all = append(all, e)
		}
	}
	return all
}

// Explain lists the entries that share a code; empty when the code is not one of ours.
func Explain(code int) []Entry {
	var found []Entry
	for _, e := range table {
		if e.Code == code && code != 0 {
			found = append(found, e)
		}
	}
	return found
}
