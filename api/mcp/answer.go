package mcp

import (
	"net/http"
	"strconv"

	"github.com/chainaccess/gateway/internal/assets"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/service/operation"
)

// exchange is one message and its answer.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	caller *operation.Caller
	note   func(*fault.Error)
	id     []byte // the client's id, byte for byte; nil when there is none
}

var (
	jsonType = []string{"application/json"} // without a charset, because clients compare it
	noStore  = []string{"no-store"}
	hitValue = []string{"hit"}

	gzipValue = []string{"gzip"}
)

// refuse answers something that is not a message, or not one for this endpoint, with the HTTP
// status of the refusal.
func (x *exchange) refuse(f *fault.Error) { x.fault(f.HTTP(), f) }

// fail answers a message with a protocol error and status 200.
func (x *exchange) fail(f *fault.Error) { x.fault(http.StatusOK, f) }

func (x *exchange) fault(status int, f *fault.Error) {
	x.note(f)
	x.send(status, x.object(f), x.opening("error", 0), closing)
}

// give answers a message with its result. It does not modify result.
func (x *exchange) give(result []byte) {
	x.send(http.StatusOK, result, x.opening("result", 0), closing)
}

// giveList answers with a precompressed value, or with the plain one to clients that do not accept
// gzip.
func (x *exchange) giveList(list *deflated) {
	if assets.AcceptsGzip(x.r.Header) {
		if zipped := list.between(x.opening("result", 0), closing); zipped != nil {
			x.w.Header()["Content-Encoding"] = gzipValue
			x.send(http.StatusOK, zipped, nil, nil)
			return
		}
	}
	x.give(list.plain)
}

func (x *exchange) object(f *fault.Error) []byte { return f.Object(x.caller.RequestID.String()) }

// opening returns the answer up to the value of its result or error, with capacity for more bytes.
func (x *exchange) opening(member string, more int) []byte {
	b := append(make([]byte, 0, len(x.id)+64+more), `{"jsonrpc":"2.0","id":`...)
	if x.id == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, x.id...)
	}
	return append(append(append(b, `,"`...), member...), `":`...)
}

var closing = []byte("}")

// send writes an answer, value between opening and closing, and returns how many bytes were sent.
func (x *exchange) send(status int, value, opening, closing []byte) (written int) {
	h := x.w.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, noStore
	h["Content-Length"] = []string{strconv.Itoa(len(opening) + len(value) + len(closing))}
	if len(value) < small {
		opening, value, closing = append(append(opening, value...), closing...), nil, nil
	}
	x.w.WriteHeader(status)
	for _, part := range [...][]byte{opening, value, closing} {
		if len(part) == 0 {
			continue
		}
		n, err := x.w.Write(part)
		if written += n; err != nil {
			return written // the client left
		}
	}
	return written
}

// small is the size in bytes below which a value is copied into one write with what surrounds it.
const small = 8 << 10

// accepted answers a message that expects no answer.
func (x *exchange) accepted() { x.w.WriteHeader(http.StatusAccepted) }

// outcome is what a tool returned: a JSON object or a refusal.
type outcome struct {
	object  []byte
	refusal *fault.Error
	hit     bool
	meta    string            // further members of the result, after a comma
	done    func(written int) // for a relayed call: called with the number of bytes sent
}

// result answers with a call's outcome as a CallToolResult, and returns how many bytes were sent.
// The object is repeated as text for clients that do not read structured content. A refusal is the
// error object of the HTTP envelope, as text only, because clients would validate structured
// content against the tool's schema.
func (x *exchange) result(o *outcome) int {
	const content, structured = `{"content":[{"type":"text","text":`, `}],"structuredContent":`
	if o.refusal != nil {
		text := escape(x.object(o.refusal))
		b := append(x.opening("result", 2*len(text)+len(content)+len(o.meta)), content...)
		return x.send(http.StatusOK, nil,
			append(jsonrpc.AppendString(b, text), `}],"isError":true`+o.meta+`}}`...), nil)
	}
	if o.hit {
		x.w.Header()["X-Service-Cache"] = hitValue
	}
	b := append(x.opening("result", len(o.object)+len(o.object)/4+len(content)+len(structured)), content...)
	b = append(jsonrpc.AppendString(b, o.object), structured...)
	return x.send(http.StatusOK, o.object, b, []byte(`,"isError":false`+o.meta+`}}`))
}
