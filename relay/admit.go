package relay

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/plan"
)

const retryMeter = 2 * time.Second

// A refund is tried twice, each time on a connection of its own: one that hangs must not take the second try's time.
const (
	refundAttempts = 2
	refundTimeout  = 1500 * time.Millisecond // of one: to connect and be answered
)

// admit asks the meter to charge the call, or to let a cache hit through.
func (r *Relay) admit(ctx context.Context, c *call) *fault.Error {
	ctx, span := r.Tracer.Start(ctx, "admit")
	defer span.End()
	subject, a, err := r.Fences.Admit(ctx, c.subject, &c.metered)
	c.subject = subject
	if err != nil {
		f := fault.New(fault.MeterUnreachable, "")
		f.RetryAfter = retryMeter
		return f.Wrap(err)
	}
	if a.Refused != "" {
		return refusal(c, a)
	}
	c.receipt, c.charged, c.supply = a.Receipt, c.metered.Mode == meter.Charge, a.Supply
	return nil
}

// refuse counts a request that is wrong in itself. What outranks its own fault (a revoked key, a suspended account, the rate
// window) refuses instead; a meter that does not answer does not.
func (r *Relay) refuse(ctx context.Context, c *call, own *fault.Error) *fault.Error {
	ctx, span := r.Tracer.Start(ctx, "admit")
	defer span.End()
	c.metered.Mode, c.metered.Units, c.metered.Reason = meter.WindowOnly, 0, own.Reason.String()
	subject, a, err := r.Fences.Admit(ctx, c.subject, &c.metered)
	c.subject = subject
	if err == nil && a.Refused != "" {
		return refusal(c, a)
	}
	return own
}

// Refuse answers a request that could not even be split, after the meter has counted it.
func (r *Relay) Refuse(ctx context.Context, e *Envelope, index int, id []byte, own *fault.Error) *Reply {
	reply := r.newReply(e, index, id)
	reply.call.span = r.Tracer.Current(ctx)
	reply.refused(r.refuse(ctx, &reply.call, own))
	return reply
}

// refusal puts the meter's verdict into words.
func refusal(c *call, a meter.Admission) *fault.Error {
	reason, ok := fault.Named(a.Refused)
	if !ok {
		reason = fault.InternalFault
	}
	f := fault.New(reason, "")
	if f.HTTP() == http.StatusTooManyRequests {
		f.RetryAfter = a.Reset
		f.Window = &fault.Window{Limit: a.Limit, Remaining: a.Remaining, Reset: a.Reset}
		if reason != fault.RateWindow { // allowances are metered in thousandths of units
			f.Window.Limit, f.Window.Remaining = a.Limit/int64(plan.Unit), a.Remaining/int64(plan.Unit)
		}
	}
	switch reason {
	case fault.ServiceOff:
		f = f.With("blocked_by", string(a.Scope)).With("service", c.metered.Service).With("enable", enablePath(a.Scope, c.subject))
	case fault.ServiceCap:
		f = f.With("scope", string(a.Scope)).With("service", c.metered.Service)
	case fault.KeyBudget:
		f = f.With("scope", string(meter.ScopeKey))
	default: // the reason says it all
	}
	if len(a.Also) > 0 {
		f = f.With("also", others(a.Also))
	}
	return f
}

// others lists the fences that would have refused as well.
func others(also []meter.Refusal) []map[string]any {
	list := make([]map[string]any, 0, len(also))
	for _, o := range also {
		reason, ok := fault.Named(o.Reason)
		if !ok {
			continue
		}
		other := map[string]any{"code": reason.Entry().Code, "reason": o.Reason}
		if o.Scope != "" {
			other["scope"] = string(o.Scope)
		}
		list = append(list, other)
	}
	return list
}

// enablePath is where a service is switched on again: for the key, or for the account.
func enablePath(scope meter.Scope, s *meter.Subject) string {
	if scope == meter.ScopeKey {
		return "/keys/" + s.Key.String()
	}
	return "/settings"
}

// refund gives a charge back for a failure of the service's own, before the client is told. It gives the failure to tell: another
// one when the charge could not be given back. The meter refunds once per call.
func (r *Relay) refund(ctx context.Context, c *call, own *fault.Error) *fault.Error {
	if !c.charged {
		return own
	}
	ctx = context.WithoutCancel(ctx)
	name := c.envelope.RequestID.String() + ":" + strconv.Itoa(c.index)
	var err error
	for range refundAttempts { // guarded by name, so trying again is safe
		attempt, cancel := context.WithTimeout(ctx, refundTimeout)
		err = r.Meter.Refund(attempt, c.subject, &c.metered, c.receipt, name, own.Reason.String())
		cancel()
		if err == nil {
			c.charged = false
			r.Metrics.Refunded(true)
			return own
		}
	}
	r.Metrics.Refunded(false)
	r.Logger.Error("refund failed", "request_id", c.envelope.RequestID, "account_id", c.subject.Account, "units", c.metered.Units, "error", err)
	if own.Reason == fault.OutcomeUnknown { // its message says nothing of the charge
		return own
	}
	told := *own
	told.Message = "The call failed, and its charge of " + c.metered.Units.String() + " units could not be given back because the meter " +
		"did not answer. File a ticket at data.support to have it given back."
	return &told
}
