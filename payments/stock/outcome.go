package stock

import (
	"slices"

	"github.com/chainaccess/gateway/internal/fault"
)

// Outcome is what became of a payment that a client presented, as metrics count it.
type Outcome string

// The outcomes. Money moved in Granted and NotGranted, may have in Unknown, and did not in the
// others.
const (
	Granted Outcome = "granted"
	// it settled, and its units could not be granted, or were before: its payer redeems the
	// transaction
	NotGranted Outcome = "not_granted"
	Unknown    Outcome = "unknown" // no answer says; the sweep reads it from the chain
	Refused    Outcome = "refused" // by us, or by the facilitator
	Again      Outcome = "again"   // it was presented before
	Limited    Outcome = "limited" // too many of a network or a payer
	// the facilitator, the chain, the meter or the record did not answer before anything was sent
	Failed Outcome = "failed"
)

var outcomes = []Outcome{Granted, NotGranted, Unknown, Refused, Again, Limited, Failed}

// Outcomes lists the outcomes.
func Outcomes() []Outcome { return slices.Clone(outcomes) }

// outcomeOf is of a refusal before the grant.
func outcomeOf(refusal *fault.Error) Outcome {
	switch refusal.Reason {
	case fault.PaymentRequired:
		return Refused
	case fault.RateWindow:
		return Limited
	case fault.OutcomeUnknown:
		return Unknown
	default: // something did not answer
		return Failed
	}
}
