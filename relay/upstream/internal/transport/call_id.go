package transport

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
)

// Every request to an upstream has its own id, and only an answer with that id is accepted.
// Otherwise an extra or late response on a kept-alive connection would be taken for the answer to
// the next request, which may be another customer's.
//
// An id is a whole number of 16 digits below 2^53. Every node and provider echoes such a number
// byte for byte (common clients use the time in microseconds, which has as many digits), and a
// client that reads numbers as floats keeps it exact. Its 52 random bits come from the runtime's
// ChaCha8, which the operating system seeds, so that ids cannot be predicted from other ids.
const (
	idDigits = 16
	firstID  = 1_000_000_000_000_000
	lastID   = 1<<53 - 1
	idPrefix = `{"jsonrpc":"2.0","id":`

	methodPrefix = `,"method":"`
)

// appendID appends a new id.
func appendID(b []byte) []byte {
	//nolint:gosec // ChaCha8 with a random key; a call takes nanoseconds
	return strconv.AppendUint(b, firstID+rand.Uint64N(lastID-firstID+1), 10)
}

// EncodeRequest renders a request under a new id. params is a JSON array; nil for none.
func EncodeRequest(method, params []byte) []byte {
	if params == nil {
		params = []byte("[]")
	}
	b := make([]byte, 0, len(method)+len(params)+64)
	b = appendID(append(b, idPrefix...))
	b = append(b, methodPrefix...)
	b = append(b, method...)
	b = append(b, `","params":`...)
	b = append(b, params...)
	return append(b, '}')
}

// Renumber returns the same request with a new id, for the next upstream. It copies the body,
// because the first upstream's attempt may still be reading it.
func Renumber(body []byte) []byte {
	b := bytes.Clone(body)
	appendID(b[:len(idPrefix)])
	return b
}

// MethodOf returns the method of a request that EncodeRequest rendered.
func MethodOf(body []byte) []byte {
	const before = len(idPrefix) + idDigits + len(methodPrefix)
	if len(body) < before {
		return nil
	}
	method, _, _ := bytes.Cut(body[before:], []byte{'"'})
	return method
}

// IDOf returns the id of a request that EncodeRequest rendered.
func IDOf(body []byte) []byte { return body[len(idPrefix) : len(idPrefix)+idDigits] }

// LateIDs are the methods whose answers from an upstream exceed PeekBytes before their id: nodes
// that write the id last do so with long results. Such an answer is sent on while its id is
// unknown, so its call uses a connection that has answered no other call and cannot deliver another
// customer's answer. The first such answer of a method costs its call a second request. Methods are
// those of the catalog. The zero value is ready to use.
type LateIDs struct {
	methods atomic.Pointer[map[string]struct{}]
}

// Has reports whether the method is one of them.
func (l *LateIDs) Has(method []byte) bool {
	known := l.methods.Load()
	if known == nil {
		return false
	}
	_, late := (*known)[string(method)]
	return late
}

// Note adds a method.
func (l *LateIDs) Note(method []byte) {
	for {
		known := l.methods.Load()
		more := map[string]struct{}{string(method): {}}
		if known != nil {
			maps.Copy(more, *known)
		}
		if l.methods.CompareAndSwap(known, &more) {
			return
		}
	}
}
