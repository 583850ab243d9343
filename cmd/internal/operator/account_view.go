package operator

import (
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// AccountView is an account as operators see it. Units are whole units in JSON; a quota that is
// null means none.
type AccountView struct {
	ID          account.ID     `json:"account_id"`
	Kind        string         `json:"kind"`
	Status      account.Status `json:"status"`
	Plan        string         `json:"plan"`
	Contract    bool           `json:"contract"` // the limits are a contract's, not the plan's
	Quota       *plan.Units    `json:"quota"`    // after it packs are drawn, and then calls are refused
	SoftCeiling *plan.Units    `json:"soft_ceiling"`
	RateLimit   int64          `json:"rate_limit"`
	RatePer     string         `json:"rate_per"`
	DrawsPacks  bool           `json:"draws_packs"`
	Version     int64          `json:"version"`
	CreatedAt   time.Time      `json:"created_at"`
	CycleAnchor *time.Time     `json:"cycle_anchor"` // of the subscription; null for calendar months
	PeriodStart time.Time      `json:"period_start"`
	PeriodEnd   time.Time      `json:"period_end"`
	Recorded    RecordedView   `json:"recorded"`
	// CompleteUntil is the instant before which all usage is in Recorded; null if nothing was
	// flushed.
	CompleteUntil *time.Time      `json:"complete_until"`
	ServicesOff   []string        `json:"services_off"`
	Fences        []LimitView     `json:"fences"`
	Packs         []PackView      `json:"packs"`
	Keys          []KeyView       `json:"keys"`
	MoreKeys      int             `json:"more_keys"` // number of keys that are not in Keys
	Changes       []ChangeView    `json:"changes"`   // newest first
	Due           []DueChangeView `json:"due"`
	MeterError    string          `json:"meter_error,omitempty"` // why limits and packs have no usage
}

// RecordedView is the usage of the current period in PostgreSQL.
type RecordedView struct {
	Requests  int64      `json:"requests"`
	Billable  int64      `json:"billable"`
	Hits      int64      `json:"cache_hits"`
	Refused   int64      `json:"refused"`
	Refunded  int64      `json:"refunded"`
	Units     plan.Units `json:"units"`
	PlanUnits plan.Units `json:"plan_units"`
	PackUnits plan.Units `json:"pack_units"`
}

// LimitView is a limit with its usage, including unflushed usage.
type LimitView struct {
	Name      string     `json:"name"`
	Key       string     `json:"key_id,omitempty"`
	Used      plan.Units `json:"used"`
	Limit     plan.Units `json:"limit"`
	Remaining plan.Units `json:"remaining"`
}

// PackView is a pack. Used and Remaining are null when the meter did not answer.
type PackView struct {
	ID        account.PackID `json:"pack_id"`
	Kind      string         `json:"kind"`
	Origin    string         `json:"origin"`
	Granted   plan.Units     `json:"granted"`
	Used      *plan.Units    `json:"used"`
	Remaining *plan.Units    `json:"remaining"` // 0 once it has expired
	ExpiresAt time.Time      `json:"expires_at"`
	Expired   bool           `json:"expired"`
}

// KeyView is a key. MonthlyCap is 0 for none.
type KeyView struct {
	ID          account.KeyID  `json:"key_id"`
	Prefix      string         `json:"prefix"`
	Name        string         `json:"name"`
	Door        account.Door   `json:"door"`
	Status      account.Status `json:"status"`
	MonthlyCap  plan.Units     `json:"monthly_cap"`
	ServicesOff []string       `json:"services_off"`
	ChangedAt   time.Time      `json:"changed_at"` // or creation, if never changed
}

// ChangeView is a line of the audit log.
type ChangeView struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Origin string    `json:"origin"`
	Action string    `json:"action"`
	Key    string    `json:"key_id,omitempty"`
	Reason string    `json:"reason"`
}

// DueChangeView is a committed change that may not be in force yet.
type DueChangeView struct {
	Key     string    `json:"key_id,omitempty"` // empty for the account itself
	Version int64     `json:"version"`
	Since   time.Time `json:"since"`
}
