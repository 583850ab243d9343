package rules

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"
)

// UnknownError is an error of an upstream that no rule knows, with how often it came. Its message
// is free of credentials.
type UnknownError struct {
	Upstream string    `json:"upstream"`
	Method   string    `json:"method"` // of the first such call
	Code     int       `json:"code"`
	Message  string    `json:"message"` // of the first, cut
	Count    int64     `json:"count"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

const (
	// MaxUnknown is the maximum number of kinds of an upstream between two reports.
	MaxUnknown        = 64
	maxUnknownMessage = 300
)

// UnknownErrors collects an endpoint's unknown errors by kind until they are reported. It is safe
// for concurrent use.
type UnknownErrors struct {
	mu   sync.Mutex // guards seen
	seen map[ErrorKind]*UnknownError
}

// ErrorKind is what errors have in common that differ in numbers and hashes only.
type ErrorKind struct {
	Code  int
	Shape string
}

// values matches what differs between errors of one kind: hex and decimal numbers, and names in
// quotes.
var values = regexp.MustCompile(`0x[0-9a-f]+|[0-9a-f]{16,}|[0-9]+|"[^"]*"|'[^']*'`)

// KindOf returns the kind of an error.
func KindOf(code int, message string) ErrorKind {
	return ErrorKind{code, values.ReplaceAllString(strings.ToLower(message), "#")}
}

// Note counts an error. object must be free of credentials.
func (u *UnknownErrors) Note(now time.Time, method, object []byte) {
	code, message := readError(object)
	message = strings.ToValidUTF8(message[:min(len(message), maxUnknownMessage)], "")
	kind := KindOf(code, message)
	u.mu.Lock()
	defer u.mu.Unlock()
	known := u.seen[kind]
	if known == nil {
		if len(u.seen) >= MaxUnknown {
			return
		}
		known = &UnknownError{Method: string(method), Code: code, Message: message, First: now.UTC()}
		if u.seen == nil {
			u.seen = make(map[ErrorKind]*UnknownError)
		}
		u.seen[kind] = known
	}
	known.Count++
	known.Last = now.UTC()
}

// Take returns what was counted since the last call.
func (u *UnknownErrors) Take() map[ErrorKind]*UnknownError {
	u.mu.Lock()
	defer u.mu.Unlock()
	seen := u.seen
	u.seen = nil
	return seen
}

// Restore adds counts back that could not be reported.
func (u *UnknownErrors) Restore(taken map[ErrorKind]*UnknownError) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for kind, t := range taken {
		if known := u.seen[kind]; known != nil {
			known.Count, known.First = known.Count+t.Count, t.First
		} else if len(u.seen) < MaxUnknown {
			if u.seen == nil {
				u.seen = make(map[ErrorKind]*UnknownError)
			}
			u.seen[kind] = t
		}
	}
}

func readError(object []byte) (code int, message string) {
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(object, &e) // it was judged, so it is well-formed
	return e.Code, e.Message
}

// Code returns the code of an error object.
func Code(object []byte) int {
	code, _ := readError(object)
	return code
}
