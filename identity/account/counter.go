package account

import "time"

// Counter identifies a counter of the meter: the sum of units of an account's usage lines that
// match every set field. So PostgreSQL can compute at any time what a counter should be.
type Counter struct {
	Period  string    // start date of the period
	Source  string    // plan or pack:<id>
	Key     KeyID     // only this key's
	Service string    // only this service's
	Day     time.Time // only of this UTC day; then Period is empty
}
