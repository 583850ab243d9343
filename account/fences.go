package account

import (
	"time"

	"github.com/chainaccess/gateway/plan"
)

// Status is whether an account or a key may call.
type Status string

// Accounts are active or suspended, keys active or revoked.
const (
	Active    Status = "active"
	Suspended Status = "suspended"
	Revoked   Status = "revoked"
)

// Door says how a key was obtained.
type Door string

// The doors. A key made by an account has door DoorAccount.
const (
	DoorPublic  Door = "public"
	DoorWallet  Door = "wallet_bound"
	DoorAdopted Door = "owner_adopted"
	DoorAccount Door = "account"
)

// RateWindow admits Limit requests in a sliding window of length Per.
type RateWindow = plan.RateWindow

// Period is one metering period of an account. Quota is in thousandths of units; Unlimited for none.
type Period struct {
	Start time.Time
	End   time.Time
	Quota plan.Units
}

// Key is the period's name in usage records and statements: its first day, 2026-11-01.
func (p Period) Key() string { return p.Start.UTC().Format(time.DateOnly) }

// Unlimited as a quota or cap means that there is none.
const Unlimited = plan.Unlimited

// AccountFences is the projection of an account into the meter. Only a higher Version replaces another.
type AccountFences struct {
	Account ID
	Version int64
	Status  Status
	Rate    RateWindow
	Current Period
	Next    Period // takes over at Current.End
	// SoftRate replaces Rate for the rest of a period whose use has passed SoftCeiling. Both matter only when SoftRate.Limit is
	// above 0.
	SoftCeiling plan.Units
	SoftRate    RateWindow
}

// KeyFences is the projection of a key into the meter. Only a higher Version replaces another.
type KeyFences struct {
	Key     KeyID
	Account ID
	Version int64
	Status  Status
	Door    Door
	// Daily is the allowance of a UTC day; Unlimited for none.
	Daily plan.Units
}

// Identity is what a key's digest stands for. It holds nothing that changes without a new load, save the account: an
// adoption moves the key, and the meter then answers "moved".
type Identity struct {
	Key     KeyID
	Account ID
	Door    Door
	Plan    string
	Supply  plan.Supply
}

// PlanFences is the projection of an account whose periods are calendar months in UTC, at that time: the month that holds it
// and the next one, both with the plan's quota.
func PlanFences(id ID, version int64, status Status, p plan.Plan, at time.Time) AccountFences {
	f := AccountFences{
		Account: id,
		Version: version,
		Status:  status,
		Rate:    p.Rate,
		Current: month(p, at),
	}
	f.Next = month(p, f.Current.End)
	if ceiling := p.SoftCeiling(); ceiling != Unlimited {
		f.SoftCeiling, f.SoftRate = ceiling, p.SoftRate
	}
	return f
}

func month(p plan.Plan, at time.Time) Period {
	start, end := plan.CalendarMonth(at)
	return Period{Start: start, End: end, Quota: p.MonthlyQuota()}
}

// PlanKeyFences is the projection of a key under a plan: a plan that counts by the day fences its key's day.
func PlanKeyFences(key KeyID, id ID, version int64, status Status, door Door, p plan.Plan) KeyFences {
	return KeyFences{Key: key, Account: id, Version: version, Status: status, Door: door, Daily: p.DailyQuota()}
}
