package x402

import (
	"fmt"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Sight is the state of a transaction on a chain.
type Sight string

// The states of a transaction.
const (
	SightNone    Sight = "none"    // no upstream knows it
	SightWaiting Sight = "waiting" // known, but in no canonical block
	SightFailed  Sight = "failed"  // in a block and reverted
	SightMined   Sight = "mined"   // in a block and successful
)

// Reasons why a transaction does not pay, or not yet. They are stored in PostgreSQL and are part of
// the interface (data.why).
const (
	WhyUnknown  = "unknown_transaction"
	WhyWaiting  = "not_in_a_block"
	WhyShallow  = "too_few_confirmations"
	WhyFailed   = "transaction_failed"
	WhyNothing  = "pays_nothing_here"
	WhyTooOld   = "older_than_30_days"
	WhyTooSmall = "less_than_required"
)

// Verdict is the result of Judge. Stage is StagePayable with a Deal, or StagePending or
// StageRefused with Why and Words, which state what to do.
type Verdict struct {
	Stage Stage
	Why   string
	Words string
	Deal  Deal
}

// Judge decides whether a settlement may be redeemed on a tier by a payer from country. seen is
// when it was first tried if that is recorded, and now otherwise. So a payer who came in time loses
// nothing when the chain could not be read.
func (t Terms) Judge(sight Sight, f Finding, tier plan.Tier, country string, seen time.Time) (Verdict, error) {
	sold, ok := plan.FindPerCallTier(tier)
	if !ok {
		return Verdict{}, fmt.Errorf("x402: no tier %q is sold", tier)
	}
	v := Verdict{Stage: StageRefused}
	switch sight {
	case SightMined:
	case SightWaiting:
		v.Stage, v.Why, v.Words = StagePending, WhyWaiting,
			"The transaction is in no block yet. Redeem again with the same body when it is."
		return v, nil
	case SightFailed:
		v.Why, v.Words = WhyFailed,
			"The transaction failed on the chain, so it moved nothing. Pay again, and redeem the new transaction."
		return v, nil
	case SightNone:
		v.Why, v.Words = WhyUnknown,
			"No upstream knows this transaction on the network of the menu. Check its hash and its network; if it "+
				"was sent just now, redeem again in some seconds."
		return v, nil
	default:
		return v, fmt.Errorf("x402: no sight %q", sight)
	}
	d, enough := Price(f.Paid, sold, country)
	age := seen.Sub(time.Unix(f.Time, 0))
	switch {
	case f.Paid <= 0:
		v.Why, v.Words = WhyNothing,
			"Nothing in this transaction pays the menu's asset from this wallet to payTo. Compare asset, network and "+
				"payTo with the menu."
	case age > MaxAge:
		v.Why, v.Words = WhyTooOld,
			"The payment is older than 30 days, after which it cannot be redeemed for the first time. File a ticket "+
				"at data.support."
	case !enough:
		v.Why = WhyTooSmall
		v.Words = fmt.Sprintf(
			"The payment is %d atomic units; the tier %s takes at least %d, plus VAT where it applies. Redeem it on "+
				"a cheaper tier, or file a ticket at data.support.",
			f.Paid, tier, sold.NetAmountRequired())
	case f.Depth < t.Confirmations && !f.Final:
		v.Stage, v.Why = StagePending, WhyShallow
		v.Words = fmt.Sprintf(
			"The payment has %d of the %d confirmations that it needs. Redeem again with the same body in some "+
				"seconds.", f.Depth, t.Confirmations)
	default:
		v.Stage, v.Deal = StagePayable, d
	}
	return v, nil
}
