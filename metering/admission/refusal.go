package admission

import (
	"net/http"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
)

// refusal converts the meter's verdict to the error that the client sees.
func refusal(c *Call, a meter.Admission) *fault.Error {
	reason, ok := fault.Named(a.Refused)
	if !ok {
		reason = fault.InternalFault
	}
	if c.Subject.Door == account.DoorCredential {
		if unpaid := unpaid(reason); unpaid != nil {
			return unpaid
		}
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
		f = f.With("blocked_by", string(a.Scope)).With("service", c.Metered.Service).With("enable",
			enablePath(a.Scope, c.Subject))
	case fault.ServiceCap:
		f = f.With("scope", string(a.Scope)).With("service", c.Metered.Service)
	case fault.KeyBudget:
		f = f.With("scope", string(meter.ScopeKey))
	default: // nothing to add
	}
	if len(a.Also) > 0 {
		f = f.With("also", others(a.Also))
	}
	return f
}

// unpaid returns the refusal of a pay-per-call credential, or nil when it is the same for every
// kind of key.
func unpaid(reason fault.Reason) *fault.Error {
	switch reason {
	case fault.KeyInvalid:
		return x402.Unpaid(x402.Unknown)
	case fault.PlanQuota:
		return x402.Unpaid(x402.Spent)
	case fault.PaymentRequired:
		return x402.Unpaid(x402.Expired)
	default:
		return nil
	}
}

// others lists the other limits that would have refused.
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

// enablePath returns the path where a service is switched on, for the key or the account.
func enablePath(scope meter.Scope, s *meter.Subject) string {
	if scope == meter.ScopeKey {
		return "/keys/" + s.Key.String()
	}
	return "/settings"
}
