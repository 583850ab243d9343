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
type RateWindow struct {
	Limit int64
	Per   time.Duration
}

// Period is one metering period of an account. Quota is in thousandths of units; Unlimited for none.
type Period struct {
	Start time.Time
	End   time.Time
	Quota plan.Units
}

// Unlimited as a quota or cap means that there is none.
const Unlimited plan.Units = -1

// AccountFences is the projection of an account into the meter. Only a higher Version replaces another.
type AccountFences struct {
	Account ID
	Version int64
	Status  Status
	Rate    RateWindow
	Current Period
	Next    Period // takes over at Current.End
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
