package account

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Status is the status of an account or a key. Only an active one may call.
type Status string

// The statuses: accounts are active or suspended, keys active or revoked.
const (
	Active    Status = "active"
	Suspended Status = "suspended"
	Revoked   Status = "revoked"
)

// Door is how a key was obtained.
type Door string

// The doors. A key made by an account has door DoorAccount.
const (
	DoorPublic  Door = "public"
	DoorWallet  Door = "wallet_bound"
	DoorAdopted Door = "owner_adopted"
	DoorAccount Door = "account"
	// DoorCredential is the door of pay-per-call credentials.
	DoorCredential Door = "credential"
)

// RateWindow admits Limit requests in a sliding window of length Per.
type RateWindow = plan.RateWindow

// Period is one metering period of an account, [Start, End). Quota is in thousandths of units;
// Unlimited for none.
type Period struct {
	Start time.Time
	End   time.Time
	Quota plan.Units
}

// Key returns the period's name in usage lines and statements: its first day, 2026-11-01.
func (p Period) Key() string { return p.Start.UTC().Format(time.DateOnly) }

// Unlimited as a quota or cap means none.
const Unlimited = plan.Unlimited

// Figures are what a plan includes, apart from its quota.
type Figures struct {
	Rate RateWindow
	// SoftRate replaces Rate for the rest of a period once its use has passed SoftCeiling. Both are
	// used only when SoftRate.Limit is positive.
	SoftCeiling plan.Units
	SoftRate    RateWindow
	// Supply is the class of upstreams of the plan.
	Supply plan.Supply
	// Data reports whether the plan includes the data service.
	Data bool
	// DrawsPacks reports whether calls may be drawn from packs.
	DrawsPacks bool
}

// AccountLimits is the projection of an account in the meter. A projection replaces one of an
// earlier Epoch, or of the same Epoch and a lower Version.
type AccountLimits struct {
	Account ID
	Epoch   int64 // of the record
	Version int64
	Status  Status
	Figures
	Current Period
	Next    Period // takes over at Current.End
	// Following replaces Figures from Current.End on; nil when the plan stays.
	Following *Figures
	Services  ServiceLimits
	// Packs are drawn after the quota, in this order. Empty where no quota refuses.
	Packs []Pack
}

// KeyLimits is the projection of a key in the meter, ordered like AccountLimits.
type KeyLimits struct {
	Key     KeyID
	Account ID
	Epoch   int64 // of the record
	Version int64
	Status  Status
	Door    Door
	// Daily is the allowance per UTC day; Unlimited for none.
	Daily plan.Units
	// MonthlyCap is what the key may use in each period of its account; 0 for no cap.
	MonthlyCap plan.Units
	Services   ServiceLimits
	// Expires is when a pay-per-call credential expires; zero for every other key.
	Expires time.Time
}

// Identity is what a key's digest identifies. It contains nothing that changes without a new load,
// except the account: when an adoption moves the key, the meter answers "moved".
type Identity struct {
	Key     KeyID
	Account ID
	Agent   AgentID // zero when it is not an agent's key
	Door    Door
	Plan    string
	Supply  plan.Supply
	// Tier is the tier for which a pay-per-call credential was redeemed; empty for every other key,
	// whose calls name their tier.
	Tier plan.Tier
}
