package stock

import (
	"slices"

	"github.com/chainaccess/gateway/internal/fault"
)

// Outcome is the result of a payment that a client presented. It is a label of metrics.
type Outcome string

// The outcomes. Money moved in Granted and NotGranted, may have moved in Unknown, and did not move
// in the others.
const (
	Granted Outcome = "granted"
	// it settled, but its units could not be granted or were granted before: the payer redeems the
	// transaction
	NotGranted Outcome = "not_granted"
	Unknown    Outcome = "unknown" // no answer states the outcome; the Resolver reads it from the chain
	Refused    Outcome = "refused" // by us, or by the facilitator
	Again      Outcome = "again"   // it was presented before
	Limited    Outcome = "limited" // too many payments of a network or a payer
	// the facilitator, the chain, Redis or PostgreSQL did not answer before anything was sent
	Failed Outcome = "failed"
)

var outcomes = []Outcome{Granted, NotGranted, Unknown, Refused, Again, Limited, Failed}

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return slices.Clone(outcomes) }

// outcomeOf returns the outcome of a payment that was refused before the grant.
func outcomeOf(refusal *fault.Error) Outcome {
	switch refusal.Reason {
	case fault.PaymentRequired:
		return Refused
	case fault.RateWindow:
		return Limited
	case fault.OutcomeUnknown:
		return Unknown
	default: // a dependency did not answer
		return Failed
	}
}
