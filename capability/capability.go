// Package capability owns what the service can do: one typed operation for each thing, defined once and reached through every door. It says who
// may use it, what it takes and gives, and runs it: identify, limit, bind and check the input, run, record, in that order. It holds no rule of
// metering (meter, fences) and none of transport (api, dashboard): a door brings a caller and raw arguments, and renders what comes back.
package capability

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chainaccess/gateway/fault"
)

// Access says who may use a capability.
type Access uint8

// Everybody, whoever holds any key, whoever manages an account: a key that the account made for itself, or a signed-in user. Users are
// people who signed in, owners those of them who own the account.
const (
	Everybody Access = iota
	KeyHolders
	Managers
	Users
	Owners
)

// Route is where a capability stands on the HTTP door. Path has gin's and OpenAPI's common form, /keys/{id}. The zero Route is none.
type Route struct {
	Method string
	Path   string
	Status int // of success
}

// Meta says what a capability is, for every door.
type Meta struct {
	Name        string // snake_case, the tool's name where there is one
	Title       string // a few words
	Description string // what it is for, what it costs, what a repeat does
	Route       Route
	Access      Access
	// Reads says that it changes nothing. A suspended account may still look.
	Reads bool
	// ReadsToo says that it reads when its input asks for no change. A suspended account may look; runs ask Call.mayChange before a change.
	ReadsToo bool
	// OfUser says that it changes nothing of the account, only where the user is signed in. Users of a suspended account may still.
	OfUser bool
	// Fails are the reasons with which it refuses beside those that its access and its input bring along.
	Fails []fault.Reason
}

// Capability is an operation as doors see it.
type Capability interface {
	Meta() Meta
	// Input and Output are the schemas of what it takes and gives, as objects.
	Input() *huma.Schema
	Output() *huma.Schema
	// Serve runs it with raw arguments, which are asked for once the caller is known.
	Serve(ctx context.Context, caller *Caller, args Args) (any, *fault.Error)
}

// Args gives the arguments of a call by name, as JSON values.
type Args func() (map[string]any, *fault.Error)

// Op is a capability with its types.
type Op[In, Out any] struct {
	meta  Meta
	house *house
	in    *huma.Schema
	out   *huma.Schema
	run   func(context.Context, *Call, In) (Out, error)
}

// deadline bounds what a use of a capability may take.
const deadline = 15 * time.Second

// define makes a capability and enters it into the catalogue. A mistake in it is one of the program, so it panics.
func define[In, Out any](h *house, meta Meta, run func(context.Context, *Call, In) (Out, error)) *Op[In, Out] {
	if meta.Name == "" || meta.Title == "" || meta.Description == "" || h.named[meta.Name] {
		panic(fmt.Sprintf("capability %q lacks a name of its own, a title or a description", meta.Name))
	}
	op := &Op[In, Out]{meta: meta, house: h, run: run}
	op.in, op.out = h.schema(reflect.TypeFor[In]()), h.schema(reflect.TypeFor[Out]())
	h.named[meta.Name] = true
	h.all = append(h.all, op)
	return op
}

// Meta says what it is.
func (o *Op[In, Out]) Meta() Meta { return o.meta }

// Input is the schema of what it takes.
func (o *Op[In, Out]) Input() *huma.Schema { return o.in }

// Output is the schema of what it gives.
func (o *Op[In, Out]) Output() *huma.Schema { return o.out }

// Invoke runs it for a door that has the input typed. The input goes through the same checks as any other.
func (o *Op[In, Out]) Invoke(ctx context.Context, caller *Caller, in In) (Out, *fault.Error) {
	return o.serve(ctx, caller, func() (map[string]any, *fault.Error) {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, fault.Internal(fmt.Errorf("input of %s: %w", o.meta.Name, err))
		}
		args := map[string]any{}
		if err := json.Unmarshal(text, &args); err != nil {
			return nil, fault.Internal(fmt.Errorf("input of %s: %w", o.meta.Name, err))
		}
		return args, nil
	})
}

// Serve is Invoke with raw arguments.
func (o *Op[In, Out]) Serve(ctx context.Context, caller *Caller, args Args) (any, *fault.Error) {
	return o.serve(ctx, caller, args)
}

func (o *Op[In, Out]) serve(ctx context.Context, caller *Caller, args Args) (out Out, refusal *fault.Error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	call := &Call{Caller: caller, house: o.house, started: o.house.Now()}
	defer func() { o.house.record(call, &o.meta, refusal) }()
	if refusal = o.house.identify(ctx, call, &o.meta); refusal != nil {
		return out, refusal
	}
	given, refusal := args()
	if refusal != nil {
		return out, call.withDoor(refusal)
	}
	var in In
	if refusal = o.house.bind(o.in, given, &in); refusal != nil {
		return out, call.withDoor(refusal)
	}
	out, err := o.run(ctx, call, in)
	return out, call.withDoor(fault.From(err))
}
