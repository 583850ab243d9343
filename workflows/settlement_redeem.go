package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// Redeem is the argument of the update redeem. The sender has verified the payer's signature.
type Redeem struct {
	Tier       plan.Tier                `json:"tier"`
	Country    string                   `json:"country,omitempty"`
	Credential activities.NewCredential `json:"credential"`
	Request    activities.RedeemRequest `json:"request,omitzero"`
}

// RedeemAnswer is the result of a redeem. Stage is StageRedeemed when the request's credential is
// in force, or one that was issued after the request came in, which PostgreSQL names. Otherwise it
// is StagePending, StageRefused or StageStuck, and Why is set.
type RedeemAnswer struct {
	Stage x402.Stage `json:"stage"`
	Why   string     `json:"why,omitempty"`
	Words string     `json:"words,omitempty"`
}

func (s *settling) mayRedeem(_ workflow.Context, in Redeem) error {
	switch {
	case s.closing:
		return underWay()
	case in.Credential.Key.IsZero() || in.Credential.Prefix == "":
		return refuse(fault.FieldRefused, "The redeem is not complete. Send it again.", 0)
	}
	if _, sold := plan.FindPerCallTier(in.Tier); !sold {
		return refuse(fault.FieldRefused, "No such tier is on the menu. Take one of those at /x402.", 0)
	}
	return nil
}

// tooLate refuses a redeem that no client waits for any more; it changes no credential. A payment
// that was never read is read at once in the background.
func (s *settling) tooLate(ctx workflow.Context) error {
	if s.Stage == "" {
		if err := s.enter(ctx, x402.StageReading, "",
			"Looks at the chain for a redeem that came too late to be answered."); err != nil {
			return err
		}
	}
	return refuse(fault.DurableUnavailable,
		"The redeem came too late to be answered, and changed nothing. Send it again.", lateAgain)
}

// lateAgain is the Retry-After of a redeem that was too late.
const lateAgain = 5 * time.Second

// knowsLate reports whether the flow honours the request's deadline. It does not for a redeem that
// an older worker began, because that worker let every redeem wait for ever.
func knowsLate(ctx workflow.Context, r *activities.RedeemRequest) bool {
	return r.ID != "" && workflow.GetVersion(ctx, "late redeem/"+r.ID, workflow.DefaultVersion,
		1) != workflow.DefaultVersion
}

// redeem grants what was paid, or returns why not. If it is granted already it rotates the
// credential. It changes nothing after the request's deadline.
//
//nolint:gocritic // what an update takes
func (s *settling) redeem(ctx workflow.Context, in Redeem) (RedeemAnswer, error) {
	if err := s.mu.Lock(ctx); err != nil {
		return RedeemAnswer{}, err
	}
	defer s.mu.Unlock()
	mayBeLate := knowsLate(ctx, &in.Request)
	if mayBeLate && in.Request.Late(workflow.Now(ctx)) {
		return RedeemAnswer{}, s.tooLate(ctx)
	}
	var (
		settlements *activities.Settlements
		granted     activities.RecordedSettlement
	)
	if s.Granted != nil {
		again := activities.SettlementRotation{ID: s.id, Credential: in.Credential, Request: in.Request}
		err := workflow.ExecuteActivity(flow.Changing(ctx, "give another credential"), settlements.RotateSettlement,
			again).Get(ctx, &granted)
		if err != nil {
			return RedeemAnswer{}, handed(err)
		}
		s.Granted.Key = granted.Key
		return RedeemAnswer{Stage: x402.StageRedeemed}, nil
	}
	facts, err := s.read(ctx, in.Tier, in.Country)
	if err != nil {
		return RedeemAnswer{}, err
	}
	if facts.Stuck != "" || facts.Stage != x402.StagePayable {
		return s.note(ctx, &facts)
	}
	if mayBeLate && in.Request.Late(workflow.Now(ctx)) {
		if _, err := s.note(ctx, &facts); err != nil {
			return RedeemAnswer{}, err
		}
		return RedeemAnswer{}, s.tooLate(ctx)
	}
	asked := activities.SettlementGrant{
		ID: s.id, Deal: facts.Deal, Found: facts.Found, Credential: in.Credential, Request: in.Request,
	}
	err = workflow.ExecuteActivity(flow.Changing(ctx, "grant the units"), settlements.GrantSettlement, asked).Get(ctx,
		&granted)
	if err != nil {
		if s.Stage == "" { // the next read shows whether it was committed
			s.Stage, s.Since = x402.StageReading, workflow.Now(ctx)
		}
		return RedeemAnswer{}, handed(err)
	}
	if !granted.Redeemed() { // its deadline had passed when a worker took it
		return RedeemAnswer{}, s.tooLate(ctx)
	}
	return RedeemAnswer{Stage: x402.StageRedeemed}, s.granted(ctx, &granted)
}
