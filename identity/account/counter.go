package account

import "time"

// Counter says what a counter of the meter counts: the units of those of an account's usage lines
// that match every field which is set. The record can thus say at any time what a counter should
// be.
type Counter struct {
	Period  string    // start date of the period
	Source  string    // plan or pack:<id>
	Key     KeyID     // only this key's
	Service string    // only this service's
	Day     time.Time // only of this UTC day; then Period is empty
}
