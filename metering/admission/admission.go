// Package admission owns a call's way through the meter: whether it is admitted and at what charge,
// how a refusal reads and what it says to do next, and how a charge is given back when the service
// itself failed. Whoever serves metered calls goes through it: the relay and every metered
// operation.
package admission

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// Gate admits calls. It owns nothing of what it works with, and is safe for concurrent use.
type Gate struct {
	Limits  *limits.Limits
	Meter   *meter.Meter
	Logger  *slog.Logger
	Metrics *telemetry.Calls  // nil: refunds are not counted
	Tracer  *telemetry.Tracer // nil: nothing is traced
}

// Call is what admission knows of one call.
type Call struct {
	RequestID uuid.UUID
	Index     int    // place in a batch
	Route     string // where the same call is sent again, as next doors name it
	Subject   *meter.Subject
	Metered   meter.Call
	// Of an admitted call. Supply is of the plan in force, or of the packs that the call draws
	// from.
	Receipt meter.Receipt
	Supply  plan.Supply
	Charged bool
	// Window is the caller's rate window after the call, admitted or refused for itself; a Limit of
	// 0 is none.
	Window fault.Window
}

// Admitted reports whether the meter let the call through, whatever became of it afterwards.
func (c *Call) Admitted() bool { return c.Receipt != meter.Receipt{} }

// After how long a call is to be sent again that was not relayed: when the meter did not answer,
// and when its Redis may delete usage, which is looked at once a minute.
const (
	retryMeter  = 2 * time.Second
	retryMended = time.Minute
)

// A refund is tried twice, each time on a connection of its own: one that hangs must not take the
// second try's time.
const (
	refundAttempts = 2
	refundTimeout  = 1500 * time.Millisecond // of one: to connect and be answered
)

// Admit asks the meter to charge the call, or to let a cache hit through. What came of it stands in
// c.
func (g *Gate) Admit(ctx context.Context, c *Call) *fault.Error {
	ctx, span := g.Tracer.Start(ctx, "admit")
	defer span.End()
	subject, a, err := g.Limits.AdmitOrLoad(ctx, c.Subject, &c.Metered)
	c.Subject = subject
	if err != nil {
		f := fault.New(fault.MeterUnreachable, "")
		f.RetryAfter = retryMeter
		if errors.Is(err, meter.ErrEvicts) {
			f = fault.New(fault.MeterUnreachable,
				"The meter might lose what it counts, so no call is relayed until its settings are mended. Retry in "+
					"a minute.")
			f.RetryAfter = retryMended
		}
		return f.Wrap(err)
	}
	if a.Refused != "" {
		return refusal(c, a)
	}
	c.Receipt, c.Charged, c.Supply, c.Window = a.Receipt, c.Metered.Mode == meter.Charge, a.Supply, windowOf(&a)
	if subject.Tier != "" { // a credential's units are a pack of the tier that they were bought for
		c.Supply = subject.Supply
	}
	return nil
}

// Refuse counts a request that is wrong in itself. What outranks its own fault (a revoked key, a
// suspended account, the rate window) refuses instead; a meter that does not answer does not.
func (g *Gate) Refuse(ctx context.Context, c *Call, own *fault.Error) *fault.Error {
	ctx, span := g.Tracer.Start(ctx, "admit")
	defer span.End()
	c.Metered.Mode, c.Metered.Units, c.Metered.Reason = meter.WindowOnly, 0, own.Reason.String()
	subject, a, err := g.Limits.AdmitOrLoad(ctx, c.Subject, &c.Metered)
	c.Subject = subject
	if err == nil && a.Refused != "" {
		return refusal(c, a)
	}
	c.Window = windowOf(&a)
	return own
}

// windowOf is the rate window as an admission leaves it.
func windowOf(a *meter.Admission) fault.Window {
	return fault.Window{Limit: a.Limit, Remaining: a.Remaining, Reset: a.Reset}
}

// Refund refunds a charge for a failure of the service's own, before the client is told. It gives
// the failure to tell: another one when the charge is given back later, because the meter does not
// answer now, or not at all. The meter refunds once per call.
func (g *Gate) Refund(ctx context.Context, c *Call, own *fault.Error) *fault.Error {
	if !c.Charged {
		return own
	}
	ctx = context.WithoutCancel(ctx)
	name := c.RequestID.String() + ":" + strconv.Itoa(c.Index)
	var err error
	for range refundAttempts { // guarded by name, so trying again is safe
		attempt, cancel := context.WithTimeout(ctx, refundTimeout)
		err = g.Meter.Refund(attempt, c.Subject, &c.Metered, c.Receipt, name, own.Reason.String())
		cancel()
		if err == nil {
			c.Charged = false
			g.Metrics.Refunded(true)
			return own
		}
	}
	told := *own
	lost := meter.FailedRefund(c.Subject, &c.Metered, c.Receipt, name, own.Reason.String())
	if kept := g.Limits.GiveBackLater(ctx, lost); kept != limits.KeptNowhere {
		c.Charged = false
		g.Logger.Warn("refund failed; will retry once the meter answers", "request_id", c.RequestID, "account_id",
			c.Subject.Account, "units", c.Metered.Units, "error", err)
		if own.Reason != fault.OutcomeUnknown { // its message says nothing of the charge
			told.Message = "The call failed. Its charge of " + c.Metered.Units.String() +
				" units is given back as soon as the meter answers."
			if kept == limits.KeptInProcess {
				told.Message += " When it is not back within an hour, file a ticket at data.support."
			}
		}
		return &told
	}
	g.Metrics.Refunded(false)
	g.Logger.Error("refund failed", "request_id", c.RequestID, "account_id", c.Subject.Account, "units",
		c.Metered.Units, "error", err)
	if own.Reason == fault.OutcomeUnknown {
		return own
	}
	told.Message = "The call failed, and its charge of " + c.Metered.Units.String() +
		" units could not be given back because the meter " +
		"did not answer. File a ticket at data.support to have it given back."
	return &told
}
