// Package admission owns a call's way through the meter: whether it is admitted and at what charge, how a refusal reads and what it says to do
// next, and how a charge is given back when the service itself failed. Whoever serves metered calls goes through it: the relay and every
// metered capability.
package admission

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/fences"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/telemetry"
)

// Desk admits calls. It owns nothing of what it works with, and is safe for concurrent use.
type Desk struct {
	Fences  *fences.Fences
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
	// Of an admitted call. Supply is of the plan in force, or of the packs that the call draws from.
	Receipt meter.Receipt
	Supply  plan.Supply
	Charged bool
}

const retryMeter = 2 * time.Second

// A refund is tried twice, each time on a connection of its own: one that hangs must not take the second try's time.
const (
	refundAttempts = 2
	refundTimeout  = 1500 * time.Millisecond // of one: to connect and be answered
)

// Admit asks the meter to charge the call, or to let a cache hit through. What came of it stands in c.
func (d *Desk) Admit(ctx context.Context, c *Call) *fault.Error {
	ctx, span := d.Tracer.Start(ctx, "admit")
	defer span.End()
	subject, a, err := d.Fences.Admit(ctx, c.Subject, &c.Metered)
	c.Subject = subject
	if err != nil {
		f := fault.New(fault.MeterUnreachable, "")
		f.RetryAfter = retryMeter
		return f.Wrap(err)
	}
	if a.Refused != "" {
		return refusal(c, a)
	}
	c.Receipt, c.Charged, c.Supply = a.Receipt, c.Metered.Mode == meter.Charge, a.Supply
	if subject.Tier != "" { // a credential's units are a pack of the tier that they were bought for
		c.Supply = subject.Supply
	}
	return nil
}

// Refuse counts a request that is wrong in itself. What outranks its own fault (a revoked key, a suspended account, the rate
// window) refuses instead; a meter that does not answer does not.
func (d *Desk) Refuse(ctx context.Context, c *Call, own *fault.Error) *fault.Error {
	ctx, span := d.Tracer.Start(ctx, "admit")
	defer span.End()
	c.Metered.Mode, c.Metered.Units, c.Metered.Reason = meter.WindowOnly, 0, own.Reason.String()
	subject, a, err := d.Fences.Admit(ctx, c.Subject, &c.Metered)
	c.Subject = subject
	if err == nil && a.Refused != "" {
		return refusal(c, a)
	}
	return own
}

// Refund gives a charge back for a failure of the service's own, before the client is told. It gives the failure to tell: another
// one when the charge could not be given back. The meter refunds once per call.
func (d *Desk) Refund(ctx context.Context, c *Call, own *fault.Error) *fault.Error {
	if !c.Charged {
		return own
	}
	ctx = context.WithoutCancel(ctx)
	name := c.RequestID.String() + ":" + strconv.Itoa(c.Index)
	var err error
	for range refundAttempts { // guarded by name, so trying again is safe
		attempt, cancel := context.WithTimeout(ctx, refundTimeout)
		err = d.Meter.Refund(attempt, c.Subject, &c.Metered, c.Receipt, name, own.Reason.String())
		cancel()
		if err == nil {
			c.Charged = false
			d.Metrics.Refunded(true)
			return own
		}
	}
	d.Metrics.Refunded(false)
	d.Logger.Error("refund failed", "request_id", c.RequestID, "account_id", c.Subject.Account, "units", c.Metered.Units, "error", err)
	if own.Reason == fault.OutcomeUnknown { // its message says nothing of the charge
		return own
	}
	told := *own
	told.Message = "The call failed, and its charge of " + c.Metered.Units.String() + " units could not be given back because the meter " +
		"did not answer. File a ticket at data.support to have it given back."
	return &told
}
