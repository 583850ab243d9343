// Package service owns what the service can do: one typed operation for each thing, defined once
// and reached through every door. It says who may use it, what it takes and gives, and runs it:
// identify, limit or meter, bind and check the input, run, record. It holds no rule of metering
// (admission, meter, fences) and none of transport (api, dashboard): a door brings a caller and raw
// arguments, and renders what comes back.
package service

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/admission"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// Access says who may use an operation.
type Access uint8

// Everybody, whoever holds any key, holders: whoever does or signed in, whoever manages an account:
// a key that the account made for itself, or a signed-in user. Users are people who signed in,
// owners those of them who own the account. Staff are users who answer the tickets of all accounts;
// to everybody else there is nothing.
const (
	Everybody Access = iota
	KeyHolders
	Holders
	Managers
	Users
	Owners
	Staff
)

// Route is where an operation stands on the HTTP door. Path has gin's and OpenAPI's common form,
// /keys/{id}. The zero Route is none.
type Route struct {
	Method string
	Path   string
	Status int // of success
}

// Meta says what an operation is, for every door.
type Meta struct {
	Name        string // snake_case, the tool's name where there is one
	Title       string // a few words
	Description string // what it is for, what it costs, what a repeat does
	Route       Route
	Access      Access
	// Reads says that it changes nothing. A suspended account may still look.
	Reads bool
	// ReadsToo says that it reads when its input asks for no change. A suspended account may look;
	// runs ask Call.mayChange before a change.
	ReadsToo bool
	// OfUser says that it changes nothing of the account, only where the user is signed in, or what
	// is said to support. Users of a suspended account may still, and its keys.
	OfUser bool
	// Service makes it metered: what it costs in the service, and how long an answer is kept that
	// run does not keep for another time; 0 keeps none.
	Service account.Service
	Units   plan.Units
	TTL     time.Duration
	// MaxBody bounds the body that an HTTP request of it may have, in bytes; 0 for 64 KiB.
	MaxBody int64
	// Computes says that it waits for nothing while it runs, so that it needs no deadline.
	Computes bool
	// PerNetwork bounds how often one network may use it and all others of which this is said,
	// together: nobody is known who could be bounded. With a valid key the key is bounded instead.
	PerNetwork bool
	// Pends says that its answer may have to wait for something outside: an output that says when
	// to ComeAgain is HTTP 202.
	Pends bool
	// Fails are the reasons with which it refuses beside those that its access and its input bring
	// along.
	Fails []fault.Reason
}

// Definition is an operation as doors see it.
type Definition interface {
	Meta() Meta
	// Input and Output are the schemas of what it takes and gives, as objects.
	Input() *huma.Schema
	Output() *huma.Schema
	// Serve runs it with raw arguments, which are asked for once the caller is known.
	Serve(ctx context.Context, caller *Caller, args Args) (Answer, *fault.Error)
}

// Answer is what a use gave: of a metered operation its JSON, of another its output.
type Answer struct {
	Output any
	JSON   []byte
	Hit    bool // it came from the cache and cost nothing
	// Later is when to ask again for what is not there yet; 0 when it is.
	Later time.Duration
	// Window is the rate window of who paid for a metered answer; a Limit of 0 is none.
	Window fault.Window
}

// MarshalJSON returns the answer as clients see it.
func (a Answer) MarshalJSON() ([]byte, error) {
	if a.JSON != nil {
		return a.JSON, nil
	}
	return json.Marshal(a.Output)
}

// Args gives the arguments of a call by name, as JSON values.
type Args func() (map[string]any, *fault.Error)

// Operation is an operation with its types.
type Operation[In, Out any] struct {
	meta   Meta
	house  *service
	in     *huma.Schema
	out    *huma.Schema
	fill   decoder
	counts *telemetry.Operation
	toll   admission.Call // of a metered one, before its caller is known
	run    func(context.Context, *Call, In) (Out, error)
}

// deadline bounds what a use of an operation may take.
const deadline = 15 * time.Second

// define makes an operation and enters it into the registry. A mistake in it is one of the
// program, so it panics.
func define[In, Out any](h *service, meta Meta, run func(context.Context, *Call, In) (Out, error)) *Operation[In, Out] {
	if meta.Name == "" || meta.Title == "" || meta.Description == "" || h.named[meta.Name] {
		panic(fmt.Sprintf("capability %q lacks a name of its own, a title or a description", meta.Name))
	}
	op := &Operation[In, Out]{meta: meta, house: h, run: run}
	if meta.Metered() {
		op.toll = admission.Call{
			Route: meta.Route.Method + " " + meta.Route.Path,
			Metered: meter.Call{
				Units: meta.Units, Service: string(meta.Service), Method: meta.Name, Class: classOf(meta.Service),
			},
		}
	}
	op.fill, op.counts = decoderOf(reflect.TypeFor[In]()), h.Metrics.Of(meta.Name)
	op.in, op.out = h.schema(reflect.TypeFor[In]()), h.schema(reflect.TypeFor[Out]())
	h.named[meta.Name] = true
	h.all = append(h.all, op)
	return op
}

// Meta says what it is.
func (o *Operation[In, Out]) Meta() Meta { return o.meta }

// Input is the schema of what it takes.
func (o *Operation[In, Out]) Input() *huma.Schema { return o.in }

// Output is the schema of what it gives.
func (o *Operation[In, Out]) Output() *huma.Schema { return o.out }

// Invoke runs it for a door that has the input typed. The input goes through the same checks as any
// other.
func (o *Operation[In, Out]) Invoke(ctx context.Context, caller *Caller, in In) (out Out, refusal *fault.Error) {
	args := func() (map[string]any, *fault.Error) {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, fault.Internal(fmt.Errorf("input of %s: %w", o.meta.Name, err))
		}
		args := map[string]any{}
		if err := json.Unmarshal(text, &args); err != nil {
			return nil, fault.Internal(fmt.Errorf("input of %s: %w", o.meta.Name, err))
		}
		return args, nil
	}
	if !o.meta.Metered() {
		return o.serve(ctx, caller, args)
	}
	answer, refusal := o.serveMetered(ctx, caller, args)
	if refusal != nil {
		return out, refusal
	}
	if err := json.Unmarshal(answer.JSON, &out); err != nil {
		return out, fault.Internal(fmt.Errorf("answer of %s: %w", o.meta.Name, err))
	}
	return out, nil
}

// Serve is Invoke with raw arguments.
func (o *Operation[In, Out]) Serve(ctx context.Context, caller *Caller, args Args) (Answer, *fault.Error) {
	if o.meta.Metered() {
		return o.serveMetered(ctx, caller, args)
	}
	out, refusal := o.serve(ctx, caller, args)
	answer := Answer{Output: out}
	if waits, ok := answer.Output.(interface{ ComeAgain() time.Duration }); ok && o.meta.Pends {
		answer.Later = waits.ComeAgain()
	}
	return answer, refusal
}

func (o *Operation[In, Out]) serve(ctx context.Context, caller *Caller, args Args) (out Out, refusal *fault.Error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	call := &Call{Caller: caller, house: o.house, started: o.house.Now()}
	defer func() { o.house.record(call, &o.meta, o.counts, refusal) }()
	defer func() {
		if cause := recover(); cause != nil { // before it is recorded, so that the record tells of it
			refusal = o.panicked(call, cause)
		}
	}()
	if refusal = o.house.identify(ctx, call, &o.meta); refusal != nil {
		return out, refusal
	}
	in, refusal := o.input(args)
	if refusal != nil {
		return out, call.withDoor(refusal)
	}
	out, err := o.run(ctx, call, *in)
	return out, call.withDoor(fault.From(err))
}

// panicked logs a panic, and is what its caller is told.
func (o *Operation[In, Out]) panicked(call *Call, cause any) *fault.Error {
	o.house.Logger.Error("panic", "request_id", call.RequestID, "capability", o.meta.Name, "cause", cause, "stack",
		string(debug.Stack()))
	return fault.New(fault.InternalFault, "")
}
