// Package admission admits, refuses and refunds metered calls: what a call is charged, how a
// refusal reads and which next step it names, and the refund when the service itself failed. The
// relay and every metered operation use it.
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

// Gate admits calls. It owns none of its fields, and is safe for concurrent use.
type Gate struct {
	Limits  *limits.Limits
	Meter   *meter.Meter
	Logger  *slog.Logger
	Metrics *telemetry.Calls  // nil: refunds are not counted
	Tracer  *telemetry.Tracer // nil: nothing is traced
}

// Call is one call to admit.
type Call struct {
	RequestID uuid.UUID
	Index     int    // position in a batch
	Route     string // where to retry the call, for WithNextDoor
	Subject   *meter.Subject
	Metered   meter.Call
	// Receipt, Supply and Charged are set for an admitted call. Supply is the plan's, or that of
	// the packs that the call draws from.
	Receipt meter.Receipt
	Supply  plan.Supply
	Charged bool
	// Window is the caller's rate window after the call, admitted or refused for its own fault; a
	// Limit of 0 means none.
	Window fault.Window
}

// Admitted reports whether the meter admitted the call, even if it failed afterwards.
func (c *Call) Admitted() bool { return c.Receipt != meter.Receipt{} }

// Retry-After of a call that was not relayed: when the meter did not answer, and when its Redis may
// delete usage, which is checked once a minute.
const (
	retryMeter  = 2 * time.Second
	retryMended = time.Minute
)

// A refund is tried twice, each time with a timeout of its own: a connection that hangs must not
// take the second try's time.
const (
	refundAttempts = 2
	refundTimeout  = 1500 * time.Millisecond // of one try, connecting included
)

// Admit charges the call, or admits a cache hit. It sets the result in c, and returns nil when the
// call is admitted.
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
	if subject.Tier != "" { // a credential's supply is that of the tier that was paid for
		c.Supply = subject.Supply
	}
	return nil
}

// Refuse counts a request that is invalid and returns its error. A limit that outranks it (a
// revoked key, a suspended account, the rate window) is returned instead; a failure of the meter is
// not.
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

// windowOf returns the rate window after an admission.
func windowOf(a *meter.Admission) fault.Window {
	return fault.Window{Limit: a.Limit, Remaining: a.Remaining, Reset: a.Reset}
}

// Refund refunds a charge for the service's own failure, before the client is answered. It returns
// the error for the client: own, or one that says that the refund is made later or has failed
// because the meter does not answer. It is idempotent per call.
func (g *Gate) Refund(ctx context.Context, c *Call, own *fault.Error) *fault.Error {
	if !c.Charged {
		return own
	}
	ctx = context.WithoutCancel(ctx)
	name := c.RequestID.String() + ":" + strconv.Itoa(c.Index)
	var err error
	for range refundAttempts { // idempotent by name
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
