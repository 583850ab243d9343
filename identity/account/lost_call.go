package account

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// LostCall is a call that must cost nothing and may have been charged: it was not relayed because
// the reply of its admission was lost, or the charge could not be given back.
type LostCall struct {
	Nonce   string // the admission's own, or the refund's name
	Account ID
	Key     KeyID
	Units   plan.Units
	Service string
	Line    string // words of the usage line, as the meter has them
	Mark    string // under which a charge noted itself; empty when Charge is there
	Charge  LostCharge
	// NotAfter is when the admission can no longer run, by Redis' clock.
	NotAfter time.Time
	LostAt   time.Time // when it was recorded; of a call that was read
}

// LostCharge is a charge that could not be given back; zero of a call whose reply was lost.
type LostCharge struct {
	Period, Sources, Slot string // as the meter's receipt has them
	Reason                string // name of the fault that the client was answered with
}
