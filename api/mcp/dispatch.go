package mcp

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/jsonrpc"
)

// dispatch answers a message. A message without an id is a notification and has no answer.
func (d *Door) dispatch(x *exchange, m *jsonrpc.Message) {
	method := string(m.Method)
	switch {
	case m.Answer, m.ID == nil && strings.HasPrefix(method, "notifications/"):
		x.accepted() // there is no session that waits for it
	case m.ID == nil:
		x.refuse(fault.New(fault.NotARequest,
			"The message %.64q has no id, so nobody waits for its answer. Send an id with requests.", method))
	case method == "ping":
		x.give([]byte("{}"))
	case method == "initialize", method == "tools/list":
		if refusal := d.greetings.admit(x.caller.Network); refusal != nil {
			limitHeaders(x.w.Header(), refusal)
			x.refuse(refusal)
			return
		}
		if method == "initialize" {
			d.initialize(x, m.Params)
		} else {
			d.listTools(x, m.Params)
		}
	case method == "tools/call":
		d.callTool(x, m.Params)
	default:
		x.fail(fault.New(fault.MethodNotServed,
			"This server has tools, and answers initialize, ping, tools/list and tools/call. It does not know %.64q.",
			method))
	}
}

// listTools returns all tools at once; the list is built at the start.
func (d *Door) listTools(x *exchange, params []byte) {
	var cursor []byte
	jsonrpc.Members(params, func(name, val []byte) bool {
		if string(name) == "cursor" {
			cursor = val
		}
		return true
	})
	if cursor != nil && string(cursor) != "null" {
		x.fail(fault.New(fault.FieldRefused, "tools/list has one page, so no cursor of its leads on. Ask without one."))
		return
	}
	x.giveList(d.list)
}

// callTool runs a tool. A violation of the protocol is a protocol error; any other failure is a
// result, which the model sees.
func (d *Door) callTool(x *exchange, params []byte) {
	var name string
	var arguments []byte
	var twice string
	seen := map[string]bool{}
	jsonrpc.Members(params, func(member, val []byte) bool {
		switch m := string(member); m {
		case "name":
			_ = json.Unmarshal(val, &name) // a name that is not a string matches no tool
		case "arguments":
			arguments = val
		default:
			return true
		}
		if seen[string(member)] { // parsers disagree on which of two members is used
			twice = string(member)
		}
		seen[string(member)] = true
		return true
	})
	t := d.tools[name]
	switch {
	case twice != "":
		x.fail(fault.New(fault.FieldRefused, "%s stands twice in params. Send it once.", twice))
		return
	case t == nil:
		x.fail(fault.New(fault.FieldRefused,
			"No tool is called %.64q. Ask tools/list for those that there are; tools of earlier versions have gone.",
			name))
		return
	case len(arguments) > 0 && string(arguments) != "null" && arguments[0] != '{':
		x.fail(fault.New(fault.FieldRefused, "The arguments of %s must be an object, {\"name\": value}.", name))
		return
	}
	o := d.run(x, t, arguments)
	if o.refusal != nil {
		o.refusal = d.doorInTools(o.refusal)
	}
	if o.done == nil {
		if o.refusal != nil {
			x.note(o.refusal)
		}
		x.result(&o)
		return
	}
	written := 0
	defer func() { o.done(written) }()
	written = x.result(&o)
}

// run runs the tool. It turns a panic into the internal fault, so that the client gets an answer.
func (d *Door) run(x *exchange, t *tool, arguments []byte) (o outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			d.Logger.Error("panic", "request_id", x.caller.RequestID, "tool", t.name, "cause", cause, "stack",
				string(debug.Stack()))
			o = outcome{refusal: fault.New(fault.InternalFault, "")}
		}
	}()
	if t.relays {
		o = d.relayCall(x, arguments)
		o.object = escape(o.object) // escapes change no value
	} else {
		o = t.serve(x.r.Context(), x, arguments)
		if len(t.strangers) > 0 {
			o.object = show(o.object)
		}
	}
	o.meta = t.strangersMeta()
	return o
}

// serve runs the operation that the arguments choose. The arguments are read only once the caller
// is identified.
func (t *tool) serve(ctx context.Context, x *exchange, arguments []byte) outcome {
	w, wrong := t.choose(arguments)
	answer, refusal := w.of.Serve(ctx, x.caller, func() (map[string]any, *fault.Error) {
		if wrong != nil {
			return nil, wrong
		}
		var args map[string]any
		args, wrong = t.read(w, arguments)
		return args, wrong
	})
	if refusal != nil {
		if wrong == nil { // errors about the tool's own parameters already use its names
			refusal = w.inOurWords(refusal)
		}
		return outcome{refusal: refusal}
	}
	object := answer.JSON
	if object == nil {
		var err error
		if object, err = json.Marshal(answer.Output); err != nil {
			return outcome{refusal: fault.Internal(err)}
		}
	}
	return outcome{object: object, hit: answer.Hit}
}
