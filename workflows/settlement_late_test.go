package workflows_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/workflows"
)

// until returns a redeem whose client waits until some time after the flow's start.
func (p *paid) until(after time.Duration) workflows.Redeem {
	in := newRedeem()
	in.Request = activities.RedeemRequest{ID: "a request", Asked: p.begun, Deadline: p.begun.Add(after)}
	return in
}

func TestRedeem_LateOneChangesNoCredential(t *testing.T) {
	t.Parallel()
	p := settle(from(good, 10*time.Minute, final(good)))
	first, timely := p.until(8*time.Second), p.until(time.Minute+8*time.Second)
	p.redeem(0, first)
	late := p.redeem(30*time.Second, p.until(8*time.Second))
	again := p.redeem(time.Minute, timely)
	p.run(t)
	late.refused(t, "a late redeem of what is granted", fault.DurableUnavailable)
	again.was(t, "one in time", x402.StageRedeemed)
	expect.Len(t, p.grants, 1)
	require.Len(t, p.turns, 1)
	expect.Equal(t, p.held.Key, timely.Credential.Key)
	expect.Equal(t, p.turns[0].Request.ID, timely.Request.ID)
	expect.True(t, p.turns[0].Request.Asked.Equal(timely.Request.Asked), p.turns[0].Request.Asked, timely.Request.Asked)
}

func TestRedeem_LateOneGrantsNothingAndIsLookedAtForNobody(t *testing.T) {
	t.Parallel()
	p := settle(from(good))
	var late []*sent
	for range 3 {
		late = append(late, p.redeem(10*time.Second, p.until(8*time.Second)))
	}
	stage := p.run(t)
	expect.Equal(t, stage, x402.StagePayable)
	expect.Empty(t, p.grants)
	expect.Len(t, p.looks, 1)
	for _, l := range late {
		l.refused(t, "late", fault.DurableUnavailable)
	}
}

// The grant waits for a worker until the client has gone.
func TestRedeem_ThatBecomesLateUnderWayGrantsNothing(t *testing.T) {
	t.Parallel()
	p := settle(from(good))
	slow := p.redeem(0, p.until(8*time.Second))
	p.env.RegisterActivityWithOptions(func(_ context.Context,
		g activities.SettlementGrant,
	) (activities.RecordedSettlement, error) {
		p.grants = append(p.grants, g)
		return activities.RecordedSettlement{}, nil // like an activity that started too late
	}, activity.RegisterOptions{Name: "GrantSettlement", DisableAlreadyRegisteredCheck: true})
	if stage := p.run(t); stage != x402.StagePayable || len(p.grants) != 1 {
		t.Errorf("ended %s, granted %+v", stage, p.grants)
	}
	slow.refused(t, "late when a worker took the grant", fault.DurableUnavailable)
}

// A redeem returns the current credential if that was issued after the redeem came in.
func TestRedeem_SharesTheCredentialThatTheRecordKept(t *testing.T) {
	t.Parallel()
	p := settle(from(good, 10*time.Minute, final(good)))
	p.hold(account.NewKeyID(), 90_000)
	kept := p.held.Key
	p.env.RegisterActivityWithOptions(func(_ context.Context,
		r activities.SettlementRotation,
	) (activities.RecordedSettlement, error) {
		p.turns = append(p.turns, r)
		return p.held, nil
	}, activity.RegisterOptions{Name: "RotateSettlement", DisableAlreadyRegisteredCheck: true})
	p.retry(0)
	answered := p.redeem(time.Second, p.until(9*time.Second))
	p.run(t)
	answered.was(t, "a redeem", x402.StageRedeemed)
	if p.held.Key != kept || len(p.turns) != 1 {
		t.Errorf("the credential is %s, rotated %+v", p.held.Key, p.turns)
	}
}

// A retry signal that arrives while the flow records that it gave up is not lost: the chain is read
// again, and the new result counts.
func TestSettlement_RetryWhileTheFlowEndsIsHeard(t *testing.T) {
	t.Parallel()
	p := settle(from(shallow, 61*time.Minute, failed))
	p.env.RegisterActivityWithOptions(func(context.Context, activities.SettlementWord) error {
		if p.told++; p.told == 1 {
			p.env.SignalWorkflow(workflows.SignalRetry, nil)
			p.chain = func(time.Duration) (activities.SettlementFacts, error) { return failed, nil }
		}
		return nil
	}, activity.RegisterOptions{Name: "TellSettlement", DisableAlreadyRegisteredCheck: true})
	p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StageRefused || p.told != 1 {
		t.Errorf("ended %s, and gave up %d times", stage, p.told)
	}
	if last := p.notes[len(p.notes)-1]; last.Stage != x402.StageRefused || slices.Max(p.looks) < time.Hour {
		t.Errorf("the last note is %+v, looked after %v", last, p.looks)
	}
}

// A retry signal that arrives as the window ends changes nothing, and the flow ends.
func TestSettlement_RetryAtTheEndOfAWindowDoesNotKeepTheFlow(t *testing.T) {
	t.Parallel()
	p := settle(from(final(good)))
	p.env.RegisterActivityWithOptions(func(_ context.Context,
		e activities.SettlementEnd,
	) (activities.RecordedSettlement, error) {
		p.env.SignalWorkflow(workflows.SignalRetry, nil)
		p.ends = append(p.ends, e)
		p.held.Finality = e.Finality
		if !p.env.Now().Before(p.held.WindowEnds) {
			p.held.Stage = x402.StageOver
		}
		return p.held, nil
	}, activity.RegisterOptions{Name: "ConcludeSettlement", DisableAlreadyRegisteredCheck: true})
	p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StageOver || len(p.ends) > 4 {
		t.Errorf("ended %s after %d ends", stage, len(p.ends))
	}
}
