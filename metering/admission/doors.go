package admission

import (
	"net/http"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

const (
	newKeyRoute = "POST /keys"
	bindRoute   = "POST /keys/bind/start"
	adoptRoute  = "POST /agents/adopt"
	relayRoute  = "POST /rpc/{chain}"
)

// WithNextDoor adds the next step to a refusal of a door key's call: what to do, and where. It
// leaves the service's own failures (5xx), other keys' refusals and nil unchanged.
func WithNextDoor(c *Call, f *fault.Error) *fault.Error {
	s := c.Subject
	if f == nil || s == nil || (s.Door != account.DoorPublic && s.Door != account.DoorWallet) ||
		f.HTTP() >= http.StatusInternalServerError {
		return f
	}
	return f.With("next_door", nextDoor(c, f))
}

// perSecond returns the steady rate of a door key.
func perSecond(s *meter.Subject) string {
	p := plan.Must(plan.Door1)
	if s.Door == account.DoorWallet {
		p = plan.Must(plan.WalletBound)
	}
	return strconv.FormatInt(p.Rate.Limit, 10)
}

// nextDoor returns the next step: a wallet, an owner, waiting and until when, another key, or
// correcting the call.
func nextDoor(c *Call, f *fault.Error) map[string]string {
	wait := "wait " + seconds(f.RetryAfter) + " s, "
	switch f.Reason {
	case fault.RateWindow:
		return map[string]string{
			"door": "wait", "do": "Wait " + seconds(f.RetryAfter) + " s, then keep to " + perSecond(c.Subject) +
				" requests per second with this key.",
		}
	case fault.DoorKeyDay:
		return map[string]string{
			"door": "bind", "where": bindRoute,
			"do": "Bind this key to a wallet with a signature: " + plan.Must(plan.WalletBound).MonthlyQuota().String() +
				" units a month; or " + wait +
				"until 00:00 UTC, when this key has " + limit(f) + " units again.",
		}
	case fault.PlanQuota:
		return map[string]string{
			"door": "adopt", "where": adoptRoute,
			"do": "Give the claim code of this key to an owner, who adopts it into an account with a plan; or " + wait +
				"until the month ends, when this key has the units of a new one.",
		}
	case fault.KeyBudget:
		return anotherKey("or " + wait + "until the month ends, when this key's own cap has " + limit(f) +
			" units again.")
	case fault.ServiceCap:
		return anotherKey("or " + wait + "until the month ends, when the cap on " + c.Metered.Service + " has " +
			limit(f) + " units again.")
	case fault.ServiceOff:
		return anotherKey("or have " + c.Metered.Service + " switched on at the path in data.enable.")
	case fault.KeyInvalid:
		return map[string]string{"door": "new_key", "do": "Make a new key without sign-up.", "where": newKeyRoute}
	case fault.AccountSuspended:
		return sameKey(f.Reason.Entry().Steps[0], "/support/new?request_id="+c.RequestID.String())
	case fault.PlanLacksService:
		return sameKey("Read balances with eth_getBalance and eth_call through the relay.", relayRoute)
	case fault.MethodNotServed:
		docs, _ := f.Data["docs"].(string)
		return sameKey(f.Reason.Entry().Steps[0], docs)
	default: // the request itself: the same key takes it once it is corrected
		return sameKey(f.Reason.Entry().Steps[0], c.Route)
	}
}

func anotherKey(otherwise string) map[string]string {
	return map[string]string{
		"door": "new_key", "do": "Make another key without sign-up, " + otherwise, "where": newKeyRoute,
	}
}

func sameKey(do, where string) map[string]string {
	door := map[string]string{"door": "same_key", "do": do}
	if where != "" {
		door["where"] = where
	}
	return door
}

func limit(f *fault.Error) string {
	if f.Window == nil {
		return "its"
	}
	return strconv.FormatInt(f.Window.Limit, 10)
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
