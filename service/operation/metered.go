package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/metering/admission"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
)

// Metered reports whether a use costs units and belongs to a service.
func (m *Meta) Metered() bool { return m.Service != "" }

// checker is an input with rules that its schema cannot express. check may also normalize the
// input. The normalized input is the cache key.
type checker interface{ Check() *fault.Error }

// chained is an input with a chain.
type chained interface{ OnChain() chain.ID }

// use is one use of a metered operation.
type use struct {
	*Call

	toll       admission.Call
	hit        bool
	clientGone bool // the client left before the response
}

// VisitorLimit is the rate limit, per network, of metered operations on public pages. They need no
// key and cost nobody anything.
var VisitorLimit = account.RateWindow{Limit: 30, Per: time.Minute}

// serveMetered handles a metered use: identify, bind and check, look up the cache, admit, run, and
// refund if the run failed. With warm caches it reads no PostgreSQL.
func (o *Operation[In, Out]) serveMetered(ctx context.Context, caller *Caller,
	args Args,
) (answer Answer, refusal *fault.Error) {
	h := o.runner
	u := &use{Call: &Call{Caller: caller, runner: h, Started: h.deps.Now(), kept: o.meta.TTL}, toll: o.toll}
	u.toll.RequestID = caller.RequestID
	defer func() { h.recordUse(u, &o.meta, o.counts, refusal, len(answer.JSON)) }()
	if refusal = h.enter(ctx, u); refusal != nil {
		return answer, refusal
	}
	in, refusal := o.input(args)
	if named, ok := any(in).(chained); ok && refusal == nil {
		refusal = o.onChain(u, named.OnChain())
	}
	if refusal != nil {
		return answer, h.refuseUse(ctx, u, refusal)
	}
	var key cache.Key
	if o.meta.TTL > 0 {
		key = o.cacheKey(in, u)
		answer.JSON, u.hit = h.lookUp(ctx, key)
	}
	if refusal = h.admitUse(ctx, u); refusal != nil {
		return Answer{}, refusal
	}
	answer.Window = u.toll.Window
	if u.hit {
		answer.Hit = true
		return answer, nil
	}
	answer.JSON, refusal = o.make(ctx, u, in, key)
	faultpoint.Hit(faultpoint.SettleDue)
	if refusal != nil {
		return Answer{}, h.giveBack(ctx, u, refusal)
	}
	return answer, nil
}

// input binds and checks the arguments of a call.
func (o *Operation[In, Out]) input(args Args) (*In, *fault.Error) {
	given, refusal := args()
	if refusal == nil {
		refusal = o.knowsChain(given)
	}
	if refusal != nil {
		return nil, refusal
	}
	in, refusal := o.bind(given)
	if c, ok := any(in).(checker); ok && refusal == nil {
		refusal = c.Check()
	}
	return in, refusal
}

// enter identifies who pays: the holder of a key, or nobody for a visitor of a public page.
func (r *Runner) enter(ctx context.Context, u *use) (refusal *fault.Error) {
	switch {
	case !u.Visitor && u.Bearer == "":
		return u.NoKey()
	case !u.Visitor:
		u.toll.Subject, refusal = r.deps.Limits.Identify(ctx, u.Bearer, u.Network)
		return refusal
	}
	if u.toll.Metered.Service == string(account.Data) {
		return fault.New(fault.KeyInvalid,
			"This needs the key of an account on a paid plan. Send it as Authorization: Bearer <API_KEY>.")
	}
	return r.Limit(ctx, "toolbox:"+u.Network.String(), VisitorLimit)
}

func (r *Runner) admitUse(ctx context.Context, u *use) *fault.Error {
	if u.toll.Subject == nil {
		return nil
	}
	if u.hit {
		u.toll.Metered.Mode, u.toll.Metered.Units = meter.Hit, 0
	}
	return admission.WithNextDoor(&u.toll, r.gate.Admit(ctx, &u.toll))
}

// refuseUse counts a request that is invalid in itself.
func (r *Runner) refuseUse(ctx context.Context, u *use, own *fault.Error) *fault.Error {
	if u.toll.Subject == nil {
		return own
	}
	return admission.WithNextDoor(&u.toll, r.gate.Refuse(ctx, &u.toll, own))
}

// giveBack refunds the charge of a use that failed for any reason: only an answer is paid for. As
// on the relay, a client that left is not refunded, because its request was running.
func (r *Runner) giveBack(ctx context.Context, u *use, own *fault.Error) *fault.Error {
	if errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), relay.ErrStopping) {
		u.clientGone = true
		return own
	}
	if u.toll.Subject == nil {
		return own
	}
	return admission.WithNextDoor(&u.toll, r.gate.Refund(ctx, &u.toll, own))
}

// useResult is the result of a shared run.
type useResult struct {
	body    []byte
	refusal *fault.Error
}

// make runs the operation. Concurrent identical uses share one run if the response may be cached.
// Each of them is admitted, charged and refunded separately.
func (o *Operation[In, Out]) make(ctx context.Context, u *use, in *In, key cache.Key) ([]byte, *fault.Error) {
	if o.meta.TTL <= 0 {
		l := o.runOnce(ctx, u, in)
		return l.body, l.refusal
	}
	f, leads := o.runner.flights.Join(key)
	if !leads {
		if l, ok := f.Wait(ctx, Deadline); ok {
			return l.body, l.refusal
		}
		return nil, fault.New(fault.UpstreamTimeout, "").Wrap(ctx.Err())
	}
	shared, end := f.Start(ctx)
	defer end()
	l := o.runOnce(shared, u, in)
	if l.refusal == nil && u.kept > 0 {
		l.body = o.runner.deps.Answers.Put(key, l.body, u.kept)
	}
	f.Finish(func() useResult { return l })
	return l.body, l.refusal
}

// runOnce runs the operation and returns its response as JSON. A panic becomes an internal error,
// which is refunded like any other.
func (o *Operation[In, Out]) runOnce(ctx context.Context, u *use, in *In) (l useResult) {
	if !o.meta.Computes {
		limited, cancel := context.WithTimeout(ctx, Deadline)
		defer cancel()
		ctx = limited
	}
	defer func() {
		if cause := recover(); cause != nil {
			l = useResult{refusal: o.panicked(u.Call, cause)}
		}
	}()
	out, err := o.run(ctx, u.Call, *in)
	if err == nil {
		l.body, err = json.Marshal(out)
	}
	if err != nil {
		l.refusal = failure(ctx, err)
	}
	return l
}

// failure converts an error of a run into a refusal.
func failure(ctx context.Context, err error) *fault.Error {
	if _, told := errors.AsType[*fault.Error](err); !told && ctx.Err() != nil {
		return fault.New(fault.UpstreamTimeout, "").Wrap(err)
	}
	return fault.From(err)
}

func (r *Runner) lookUp(ctx context.Context, key cache.Key) ([]byte, bool) {
	body, tier := r.deps.Answers.Get(ctx, key)
	return body, tier != cache.Nowhere
}

// cacheKey returns the cache key of an input. It includes the chain's id and generation, so that a
// chain that was reconfigured or reorganised gets new entries.
func (o *Operation[In, Out]) cacheKey(in *In, u *use) cache.Key {
	text, err := json.Marshal(in)
	if err != nil { // what the schema accepts can be marshalled
		panic(fmt.Sprintf("input of %s: %v", o.meta.Name, err))
	}
	var on [32]byte
	return cache.NewKey([]byte("capability"), []byte(o.meta.Name),
		o.runner.appendChain(on[:0], chain.ID(u.toll.Metered.Chain)), text)
}
