package account

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// LostCall is a call that must cost nothing and may have been charged: the reply of its admission
// was lost, so it was not relayed, or its charge could not be refunded.
type LostCall struct {
	Nonce   string // the admission's nonce, or the refund's name
	Account ID
	Key     KeyID
	Units   plan.Units
	Service string
	Line    string // words of the usage line, as the meter has them
	Mark    string // the charge's mark in Redis; empty when Charge is set
	Charge  LostCharge
	// NotAfter is the last instant at which the admission may run, by Redis' clock.
	NotAfter time.Time
	LostAt   time.Time // when it was recorded; set on calls that were read
}

// LostCharge is a charge that could not be refunded; zero for a call whose reply was lost.
type LostCharge struct {
	Period, Sources, Slot string // as the meter's receipt has them
	Reason                string // fault that the client was answered with, by name
}
