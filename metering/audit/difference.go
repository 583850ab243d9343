package audit

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// Identity names an equation that the books must satisfy.
type Identity string

// The identities, in the order in which they are checked.
const (
	Accounts Identity = "accounts" // usage belongs to a recorded account
	// only refunds are negative; hits and refusals cost nothing
	Lines       Identity = "lines"
	Refunds     Identity = "refunds"      // no more was refunded than charged
	Requests    Identity = "requests"     // requests = billable + cache hits + refusals
	Sources     Identity = "sources"      // units by key, chain and class = units by source
	Packs       Identity = "packs"        // granted = remaining + used + expired
	DoubleEntry Identity = "double entry" // usage_periods = the sum of usage_hours
	Sums        Identity = "sums"         // usage_days, account_hours and account_days = the sums of usage_hours
	Statements  Identity = "statements"   // statement + adjustments = usage, except what the next statement adjusts
	Calls       Identity = "calls"        // every recorded charged call is in the usage
	Counters    Identity = "counters"     // flushed + unflushed usage = the meter's counters
	// what a payment bought = what was granted
	Settled Identity = "settled"
)

// Difference is a violation of an identity.
type Difference struct {
	Account  account.ID `json:"account_id"`
	Period   string     `json:"period"` // start date
	Identity Identity   `json:"identity"`
	What     string     `json:"what"`
	Left     Side       `json:"left"`
	Right    Side       `json:"right"`
}

// Side is one side of an identity.
type Side struct {
	Name   string `json:"name"`
	Figure Figure `json:"figure"`
}

// Figure is a number of requests or of units.
type Figure struct {
	n     int64 // thousandths when units
	units bool
}

// Count returns the figure of a number of requests, calls or things.
func Count(n int64) Figure { return Figure{n: n} }

// Amount returns the figure of a number of units.
func Amount(u plan.Units) Figure { return Figure{n: int64(u), units: true} }

// String groups thousands with commas.
func (f Figure) String() string {
	if f.units {
		return plan.Units(f.n).Grouped()
	}
	return plan.Group(strconv.FormatInt(f.n, 10))
}

// MarshalJSON writes the number; units are whole units, not thousandths.
func (f Figure) MarshalJSON() ([]byte, error) {
	if f.units {
		return plan.Units(f.n).MarshalJSON()
	}
	return json.Marshal(f.n)
}

// By returns left minus right.
func (d Difference) By() Figure {
	return Figure{d.Left.Figure.n - d.Right.Figure.n, d.Left.Figure.units}
}

// String describes the difference in one line.
func (d Difference) String() string {
	by, more := d.By(), "more"
	if by.n < 0 {
		by.n, more = -by.n, "less"
	}
	return fmt.Sprintf("account %s, period %s: %s: %s: %s %s, %s %s: %s %s",
		d.Account, d.Period, d.Identity, d.What, d.Left.Name, d.Left.Figure, d.Right.Name, d.Right.Figure, by, more)
}

// differ returns a difference if the figures differ, else nil.
func differ(identity Identity, what string, left, right Side) *Difference {
	if left.Figure == right.Figure {
		return nil
	}
	return &Difference{Identity: identity, What: what, Left: left, Right: right}
}
