package mcp

import (
	"net/http"
	"strconv"

	"github.com/chainaccess/gateway/capability"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/jsonrpc"
)

// exchange is one message on its way, and the answer to it.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	caller *capability.Caller
	id     []byte // the client's, byte for byte; nil when there is none
}

var (
	jsonType = []string{"application/json"} // without a charset: clients compare it
	noStore  = []string{"no-store"}
	hitValue = []string{"hit"}
)

// refuse answers what is no message, or none that this endpoint takes, with the refusal's own status.
func (x *exchange) refuse(f *fault.Error) { x.send(f.HTTP(), "error", x.object(f)) }

// fail answers a message with an error of the protocol. The exchange itself went well.
func (x *exchange) fail(f *fault.Error) { x.send(http.StatusOK, "error", x.object(f)) }

// give answers a message with its result.
func (x *exchange) give(result []byte) { x.send(http.StatusOK, "result", result) }

func (x *exchange) object(f *fault.Error) []byte { return f.Object(x.caller.RequestID.String()) }

// send writes the answer and gives how many bytes it has.
func (x *exchange) send(status int, member string, value []byte) int {
	b := make([]byte, 0, len(value)+len(x.id)+64)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if x.id == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, x.id...)
	}
	b = append(append(b, `,"`...), member...)
	b = append(append(b, `":`...), value...)
	b = append(b, '}')
	h := x.w.Header()
	h["Content-Type"], h["Cache-Control"], h["Content-Length"] = jsonType, noStore, []string{strconv.Itoa(len(b))}
	x.w.WriteHeader(status)
	_, _ = x.w.Write(b) // a client that went away is told nothing
	return len(b)
}

// accepted answers what asks for no answer.
func (x *exchange) accepted() { x.w.WriteHeader(http.StatusAccepted) }

// outcome is what a tool gave: a JSON object, or a refusal.
type outcome struct {
	object  []byte
	refusal *fault.Error
	hit     bool
	done    func(written int) // nil, or called once the answer of so many bytes went out
}

// result gives a call's outcome as the protocol has it (CallToolResult). The object stands in it as text too, for clients that know no structured
// content; a refusal is the error object of the HTTP envelope as text, without structured content, which clients would hold against the schema.
func (x *exchange) result(o *outcome) []byte {
	const opening, isError = `{"content":[{"type":"text","text":`, `}],"isError":true}`
	if o.refusal != nil {
		text := x.object(o.refusal)
		b := make([]byte, 0, 2*len(text)+len(opening)+len(isError))
		return append(jsonrpc.AppendString(append(b, opening...), text), isError...)
	}
	b := make([]byte, 0, 3*len(o.object)+128)
	b = jsonrpc.AppendString(append(b, opening...), o.object)
	b = append(append(b, `}],"structuredContent":`...), o.object...)
	return append(b, `,"isError":false}`...)
}
