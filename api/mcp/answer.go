package mcp

import (
	"net/http"
	"strconv"

	"github.com/chainaccess/gateway/internal/assets"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/service"
)

// exchange is one message on its way, and the answer to it.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	caller *service.Caller
	note   func(*fault.Error)
	id     []byte // the client's, byte for byte; nil when there is none
}

var (
	jsonType = []string{"application/json"} // without a charset: clients compare it
	noStore  = []string{"no-store"}
	hitValue = []string{"hit"}

	gzipValue = []string{"gzip"}
)

// refuse answers what is no message, or none that this endpoint takes, with the refusal's own
// status.
func (x *exchange) refuse(f *fault.Error) { x.fault(f.HTTP(), f) }

// fail answers a message with an error of the protocol. The exchange itself went well.
func (x *exchange) fail(f *fault.Error) { x.fault(http.StatusOK, f) }

func (x *exchange) fault(status int, f *fault.Error) {
	x.note(f)
	x.send(status, x.object(f), x.opening("error", 0), closing)
}

// give answers a message with its result, which may be shared.
func (x *exchange) give(result []byte) {
	x.send(http.StatusOK, result, x.opening("result", 0), closing)
}

// giveList answers with a value that is compressed already where the client takes that.
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

// opening is an answer up to the value of its result or its error, with room for more.
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

// send writes an answer, value between its opening and its closing, and gives how many bytes went
// out.
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
			return written // the client went away, and is told nothing
		}
	}
	return written
}

// small are values, in bytes, that are copied into one write with what surrounds them.
const small = 8 << 10

// accepted answers what asks for no answer.
func (x *exchange) accepted() { x.w.WriteHeader(http.StatusAccepted) }

// outcome is what a tool gave: a JSON object, or a refusal.
type outcome struct {
	object  []byte
	refusal *fault.Error
	hit     bool
	meta    string            // what the result says besides, behind a comma
	done    func(written int) // of a relayed call: called once the answer of so many bytes went out
}

// result returns a call's outcome as the protocol has it (CallToolResult), and how many bytes went
// out. The object stands in it as text too, for clients that know no structured content; a refusal
// is the error object of the HTTP envelope as text, without structured content, which clients would
// hold against the schema.
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
