package account

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
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
	// DoorCredential is that of pay-per-call credentials.
	DoorCredential Door = "credential"
)

// RateWindow admits Limit requests in a sliding window of length Per.
type RateWindow = plan.RateWindow

// Period is one metering period of an account. Quota is in thousandths of units; Unlimited for
// none.
type Period struct {
	Start time.Time
	End   time.Time
	Quota plan.Units
}

// Key is the period's name in usage records and statements: its first day, 2026-11-01.
func (p Period) Key() string { return p.Start.UTC().Format(time.DateOnly) }

// Unlimited as a quota or cap means that there is none.
const Unlimited = plan.Unlimited

// Figures are what a plan gives an account, beside its quota.
type Figures struct {
	Rate RateWindow
	// SoftRate replaces Rate for the rest of a period whose use has passed SoftCeiling. Both matter
	// only when SoftRate.Limit is above 0.
	SoftCeiling plan.Units
	SoftRate    RateWindow
	// Supply is the class of upstreams that the plan has.
	Supply plan.Supply
	// Data is whether the data service comes with the plan.
	Data bool
	// DrawsPacks is whether calls may be drawn from packs.
	DrawsPacks bool
}

// AccountLimits is the projection of an account into the meter. Only a later Epoch replaces
// another, and within one a higher Version.
type AccountLimits struct {
	Account ID
	Epoch   int64 // of the record
	Version int64
	Status  Status
	Figures
	Current Period
	Next    Period // takes over at Current.End
	// Following replaces Figures from then on; nil when the plan stays.
	Following *Figures
	Services  ServiceFences
	// Packs are drawn after the quota, in this order. None where no quota refuses.
	Packs []Pack
}

// KeyLimits is the projection of a key into the meter. Only a later Epoch replaces another, and
// within one a higher Version.
type KeyLimits struct {
	Key     KeyID
	Account ID
	Epoch   int64 // of the record
	Version int64
	Status  Status
	Door    Door
	// Daily is the allowance of a UTC day; Unlimited for none.
	Daily plan.Units
	// MonthlyCap is what the key may use of each period of its account; 0 for no cap.
	MonthlyCap plan.Units
	Services   ServiceFences
	// Expires is from when on a pay-per-call credential is refused; zero for every other key.
	Expires time.Time
}

// Identity is what a key's digest stands for. It holds nothing that changes without a new load,
// save the account: an adoption moves the key, and the meter then answers "moved".
type Identity struct {
	Key     KeyID
	Account ID
	Agent   AgentID // zero when it is no agent's key
	Door    Door
	Plan    string
	Supply  plan.Supply
	// Tier is what a pay-per-call credential was redeemed for; empty for every other key, whose
	// calls say it themselves.
	Tier plan.Tier
}
