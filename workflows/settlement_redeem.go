package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/x402"
)

// Redeem asks for what was paid. Whoever sends it has verified that the payer signed.
type Redeem struct {
	Tier       plan.Tier                `json:"tier"`
	Country    string                   `json:"country,omitempty"`
	Credential activities.NewCredential `json:"credential"`
}

// RedeemAnswer is what came of it: StageRedeemed with the credential of the request in force, or StagePending, StageRefused or StageStuck with
// why.
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

// redeem grants what was paid, or says why not. What is granted already gets another credential.
func (s *settling) redeem(ctx workflow.Context, in Redeem) (RedeemAnswer, error) { //nolint:gocritic // what an update takes
	if err := s.turn.Lock(ctx); err != nil {
		return RedeemAnswer{}, err
	}
	defer s.turn.Unlock()
	var (
		settlements *activities.Settlements
		granted     activities.RecordedSettlement
	)
	if s.Granted != nil {
		again := activities.SettlementRotation{ID: s.id, Credential: in.Credential}
		err := workflow.ExecuteActivity(changing(ctx, "give another credential"), settlements.RotateSettlement, again).Get(ctx, &granted)
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
	asked := activities.SettlementGrant{ID: s.id, Deal: facts.Deal, Found: facts.Found, Credential: in.Credential}
	err = workflow.ExecuteActivity(changing(ctx, "grant the units"), settlements.GrantSettlement, asked).Get(ctx, &granted)
	if err != nil {
		if s.Stage == "" { // whether it is recorded shows the next look
			s.Stage, s.Since = x402.StageReading, workflow.Now(ctx)
		}
		return RedeemAnswer{}, handed(err)
	}
	return RedeemAnswer{Stage: x402.StageRedeemed}, s.granted(ctx, &granted)
}
