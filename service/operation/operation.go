// Package operation defines what an operation is and runs operations, for the packages of service
// that each define those of a noun. An operation declares who may use it, its input and its output.
// Running it means: identify the caller, limit or meter, bind and check the input, run, record. The
// package contains no rules of metering (metering/admission, metering/meter, metering/limits) and
// no transport (api and its subpackages). A transport provides a caller with raw arguments, and
// renders the result.
package operation

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

// Access is who may use an operation.
type Access uint8

// Everybody includes callers without a key. KeyHolders have any API key. Holders have any key or
// signed in. Managers manage an account: by a key that the account made for itself, or by signing
// in. Users signed in. Owners are users who own the account. Staff are users who answer the tickets
// of all accounts; for everybody else these operations do not exist.
const (
	Everybody Access = iota
	KeyHolders
	Holders
	Managers
	Users
	Owners
	Staff
)

// Route is the HTTP route of an operation. Path has the common syntax of gin and OpenAPI, for
// example /keys/{id}. The zero Route means no route.
type Route struct {
	Method string
	Path   string
	Status int // of success
}

// Meta describes an operation to every transport.
type Meta struct {
	Name        string // snake_case; also the name of its tool
	Title       string // a few words
	Description string // purpose, cost and the effect of a repeat
	Route       Route
	Access      Access
	// Reads marks an operation that changes nothing. Suspended accounts may use it.
	Reads bool
	// ReadsToo marks an operation that only reads when its input asks for no change. Suspended
	// accounts may use it to read; its run calls Call.mayChange before a change.
	ReadsToo bool
	// OfUser marks an operation that changes nothing of the account, only the user's sessions or
	// support tickets. Users and keys of a suspended account may use it.
	OfUser bool
	// Service makes the operation metered. Units is its cost. TTL is how long responses are cached
	// unless the run overrides it; 0 disables caching.
	Service account.Service
	Units   plan.Units
	TTL     time.Duration
	// MaxBody bounds the body of an HTTP request, in bytes; 0 means 64 KiB.
	MaxBody int64
	// Computes marks an operation that waits for nothing while it runs, so that it needs no
	// deadline.
	Computes bool
	// PerNetwork limits the rate per network, shared by all operations with this flag, because
	// their caller is unknown. With a valid key the limit is per key.
	PerNetwork bool
	// Pends marks an operation whose result may not be available yet. An output with a ComeAgain
	// delay is sent as HTTP 202.
	Pends bool
	// Fails are the reasons with which it refuses, in addition to those that follow from its access
	// and its input.
	Fails []fault.Reason
}

// Definition is an operation as transports see it.
type Definition interface {
	Meta() Meta
	// Input and Output are the object schemas of its input and output.
	Input() *huma.Schema
	Output() *huma.Schema
	// Serve runs it with raw arguments. args is called after the caller was identified.
	Serve(ctx context.Context, caller *Caller, args Args) (Answer, *fault.Error)
}

// Answer is the result of a use: JSON for a metered operation, Output for others.
type Answer struct {
	Output any
	JSON   []byte
	Hit    bool // from the cache, free of charge
	// Later is when to retry if the result is not available yet; 0 if it is.
	Later time.Duration
	// Window is the rate window of the account that paid for a metered answer. Its Limit is 0 if
	// there is none.
	Window fault.Window
}

// MarshalJSON returns the answer as clients see it.
func (a Answer) MarshalJSON() ([]byte, error) {
	if a.JSON != nil {
		return a.JSON, nil
	}
	return json.Marshal(a.Output)
}

// Args returns the arguments of a call by name, as JSON values.
type Args func() (map[string]any, *fault.Error)

// Nothing is an empty input or output.
type Nothing struct{}

// Operation is an operation with its types.
type Operation[In, Out any] struct {
	meta   Meta
	runner *Runner
	in     *huma.Schema
	out    *huma.Schema
	fill   decoder
	counts *telemetry.Operation
	toll   admission.Call // of a metered operation, before the caller is known
	run    func(context.Context, *Call, In) (Out, error)
}

// Deadline bounds the duration of a use.
const Deadline = 15 * time.Second

// MaxParallel is how many reads of one response run concurrently. It leaves connections to other
// requests.
const MaxParallel = 3

// Define creates an operation and registers it. It panics if the definition is incomplete.
func Define[In, Out any](h *Runner, meta Meta, run func(context.Context, *Call, In) (Out, error)) *Operation[In, Out] {
	if meta.Name == "" || meta.Title == "" || meta.Description == "" || h.named[meta.Name] != nil {
		panic(fmt.Sprintf("operation %q lacks a name of its own, a title or a description", meta.Name))
	}
	op := &Operation[In, Out]{meta: meta, runner: h, run: run}
	if meta.Metered() {
		op.toll = admission.Call{
			Route: meta.Route.Method + " " + meta.Route.Path,
			Metered: meter.Call{
				Units: meta.Units, Service: string(meta.Service), Method: meta.Name, Class: classOf(meta.Service),
			},
		}
	}
	op.fill, op.counts = decoderOf(reflect.TypeFor[In]()), h.deps.Metrics.Of(meta.Name)
	op.in, op.out = h.schema(reflect.TypeFor[In]()), h.schema(reflect.TypeFor[Out]())
	ListChains(op.in, h.deps.Pool.Known(), meta.Metered()) // the toolbox reads no other Solana cluster
	h.named[meta.Name] = op
	h.all = append(h.all, op)
	return op
}

// Meta returns the description of the operation.
func (o *Operation[In, Out]) Meta() Meta { return o.meta }

// Input returns the schema of the input.
func (o *Operation[In, Out]) Input() *huma.Schema { return o.in }

// Output returns the schema of the output.
func (o *Operation[In, Out]) Output() *huma.Schema { return o.out }

// Invoke runs the operation with a typed input. The input passes the same checks as raw arguments.
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

// Serve runs the operation with raw arguments.
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
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	call := &Call{Caller: caller, runner: o.runner, Started: o.runner.deps.Now()}
	defer func() { o.runner.record(call, &o.meta, o.counts, refusal) }()
	defer func() {
		if cause := recover(); cause != nil { // runs before record, so that the panic is recorded
			refusal = o.panicked(call, cause)
		}
	}()
	if refusal = o.runner.identify(ctx, call, &o.meta); refusal != nil {
		return out, refusal
	}
	in, refusal := o.input(args)
	if refusal != nil {
		return out, call.withDoor(refusal)
	}
	out, err := o.run(ctx, call, *in)
	return out, call.withDoor(fault.From(err))
}

// panicked logs a panic and returns the refusal for its caller.
func (o *Operation[In, Out]) panicked(call *Call, cause any) *fault.Error {
	o.runner.deps.Logger.Error("panic", "request_id", call.RequestID, "capability", o.meta.Name, "cause", cause,
		"stack",
		string(debug.Stack()))
	return fault.New(fault.InternalFault, "")
}
