package tickets

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// refusalsOf is the look-back for the refusals in a ticket's evidence.
const refusalsOf = 24 * time.Hour

// evidence collects what is known about a ticket's subject (docs/decisions/0068): the call, if one
// is named, the refusals of the last day, the limits in force and the state of the chain. For a key
// that sees only its agent's or its own usage, it contains no more than that.
func (h *handlers) evidence(ctx context.Context, c *operation.Call, request uuid.UUID) (ticket.Evidence, error) {
	now := h.Now()
	e := ticket.Evidence{GatheredAt: now.UTC()}
	key := c.Key
	if request != uuid.Nil {
		call, caller, err := h.reportedCall(ctx, c, request)
		if err != nil {
			return e, err
		}
		e.Call, key = call, caller
		e.Chain = h.chainCondition(call.Chain)
	}
	window, _, err := h.Usage.Window(ctx, c, now.Add(-refusalsOf))
	if err != nil {
		return e, err
	}
	if window.Keys == nil && c.Scope() != (supportdb.Scope{}) {
		window.Keys = []account.KeyID{c.Key.ID}
	}
	refusals, err := h.Store.SumRefusals(ctx, &window)
	if err != nil {
		return e, operation.ToFault(err, "usage")
	}
	e.Refusals = refusals
	e.Fences = ticket.FencesThen{
		Plan: c.Account.Plan, Status: string(c.Account.Status), Account: limitList(c.Account.Services),
	}
	if !key.ID.IsZero() {
		e.Fences.Key = keyLimits(&key)
	}
	return e, nil
}

// reportedCall finds a call of the caller by its request id, with the key that made it. The key is
// zero if it no longer belongs to the account. Of a batch it returns the first call that was
// refused. Calls of other accounts are not found. A key that sees only its agent's or its own usage
// finds only those calls.
func (h *handlers) reportedCall(ctx context.Context, c *operation.Call,
	request uuid.UUID,
) (*ticket.ReportedCall, accountdb.Key, error) {
	calls, err := h.Store.FindCalls(ctx, request)
	if err != nil {
		return nil, accountdb.Key{}, operation.ToFault(err, "call")
	}
	var found *usagedb.Call
	for i := range calls {
		of := &calls[i]
		if of.Account == c.Account.ID &&
			(found == nil || ticket.CodeOf(found.Outcome) == 0 && ticket.CodeOf(of.Outcome) != 0) {
			found = of
		}
	}
	if found == nil {
		return nil, accountdb.Key{}, noCall()
	}
	key, err := h.Store.LoadKeyOf(ctx, c.Account.ID, found.Key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, key, operation.ToFault(err, "key")
	}
	if scope := c.Scope(); scope != (supportdb.Scope{}) && scope.UUID != key.Agent.UUID &&
		scope.UUID != found.Key.UUID {
		return nil, key, noCall()
	}
	return &ticket.ReportedCall{
		RequestID: request.String(), At: found.StartedAt, Place: found.Index, Batch: len(calls), Chain: found.Chain,
		Service: found.Service, Method: found.Method, Class: found.Class, Tier: found.Tier, Outcome: found.Outcome,
		Code: ticket.CodeOf(found.Outcome), HTTPStatus: found.HTTPStatus, Units: found.Units, Attempts: found.Attempts,
		Millis: found.Duration.Milliseconds(),
	}, key, nil
}

func noCall() *fault.Error {
	return fault.New(fault.NotYours,
		"No call of yours has this request_id. A call is recorded some seconds after its answer and kept for as long "+
			"as the terms say; of many that are refused in a minute, the first few and the newest are. A ticket can "+
			"be filed without it.")
}

// chainCondition returns the state of a chain, or nil if the chain is not served here.
func (h *handlers) chainCondition(id chain.ID) *ticket.ChainCondition {
	if h.Pool == nil {
		return nil
	}
	on, served := h.Pool.Chain(id)
	if !served {
		return nil
	}
	stands := on.Condition()
	now := &ticket.ChainCondition{
		Chain: id, State: ticket.ChainUp, Head: stands.Head, MeasuredAt: operation.NullTime(stands.MeasuredAt),
		Usable: stands.Usable, Upstreams: stands.Upstreams,
	}
	switch {
	case stands.MeasuredAt.IsZero():
		now.State = ticket.ChainUnknown
	case stands.Usable == 0:
		now.State = ticket.ChainDown
	case stands.Usable < stands.Upstreams:
		now.State = ticket.ChainDegraded
	}
	return now
}

func keyLimits(k *accountdb.Key) *ticket.KeyFences {
	of := &ticket.KeyFences{
		Prefix: k.Prefix, Door: string(k.Door), Status: string(k.Status), Cap: operation.NullUnits(k.MonthlyCap),
		FenceList: limitList(k.Services),
	}
	if k.Daily != account.Unlimited {
		of.Daily = &k.Daily
	}
	return of
}

func limitList(f account.ServiceLimits) ticket.FenceList {
	list := ticket.FenceList{Off: []string{}, Caps: map[string]plan.Units{}}
	for _, s := range f.Off {
		list.Off = append(list.Off, string(s))
	}
	for s, units := range f.Caps {
		list.Caps[string(s)] = units
	}
	return list
}
