package workflows

import (
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
)

// How a granted settlement is watched.
const (
	defaultFinality = 20 * time.Minute
	looksPerDelay   = 4
	// slowAfter is how many delays after the grant looks become as rare as those at a chain that
	// cannot be read.
	slowAfter = 6
	// unplacedFor is how much longer than the delay the chain has to be final after a grant whose
	// block is not known: facilitators send what they settle within minutes.
	unplacedFor = time.Hour
	// afterWindow leaves the meter's clock, by which credentials expire, a little behind
	// Temporal's.
	afterWindow = 2 * time.Second
	// overAgain is when to come back to a window that is not over by that clock.
	overAgain = time.Minute
)

// granted takes over what the record has of a redeemed settlement.
func (s *settling) granted(ctx workflow.Context, g *activities.RecordedSettlement) error {
	s.Granted, s.gaveUp = g, false
	s.Next = g.RedeemedAt.Add(s.delay)
	words := "Redeemed at " + g.RedeemedAt.UTC().Format(time.RFC3339) +
		". Waits until the transaction is final and the window is over, at " +
		g.WindowEnds.UTC().Format(time.RFC3339) + "."
	if err := s.enter(ctx, g.Stage, "", words); err != nil {
		return err
	}
	return workflow.UpsertTypedSearchAttributes(ctx, AccountID.ValueSet(g.Account.String()))
}

// watch waits until a granted settlement's transaction is final, then until its window is over.
func (s *settling) watch(ctx workflow.Context) error {
	settled := s.Granted.Finality == x402.FinalityFinal
	if settled {
		if ends := s.Granted.WindowEnds.Add(afterWindow); s.Next.Before(ends) {
			s.Next = ends
		}
	}
	if pause := s.Next.Sub(workflow.Now(ctx)); pause > 0 && !s.SignalPending {
		if _, err := workflow.AwaitWithTimeout(ctx, pause, func() bool { return s.SignalPending }); err != nil {
			return err
		}
	}
	told := s.SignalPending
	s.SignalPending = false
	if settled {
		if workflow.Now(ctx).Before(s.Next) {
			return nil
		}
		return s.conclude(ctx, x402.FinalityFinal, nil, "The window is over.")
	}
	if !told && workflow.Now(ctx).Sub(s.Granted.RedeemedAt) >= stuckFor {
		s.gaveUp = true
		return s.addEvent(ctx,
			"For 30 days nobody told whether the transaction is final. Nobody looks at it any more by itself; "+
				"support begins again with retry.")
	}
	return s.confirm(ctx)
}

// confirm looks whether the transaction is still there, and final.
func (s *settling) confirm(ctx workflow.Context) error {
	if err := s.mu.Lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	facts, err := s.read(ctx, plan.Cheap, "")
	if err != nil {
		return err
	}
	if facts.Stuck != "" {
		s.Tries++
		s.Next = workflow.Now(ctx).Add(growing(firstStuck, s.Tries-1, maxStuck))
		workflow.SetCurrentDetails(ctx,
			"The chain cannot be read, so it is not known whether the transaction is final: "+facts.Stuck+
				". It is looked at again by itself.")
		return s.stuck(ctx, facts.Stuck)
	}
	s.Tries = 0
	if err := s.stuck(ctx, ""); err != nil {
		return err
	}
	if f := &facts.Found; facts.Sight == x402.SightMined && f.Final && f.Paid >= s.Granted.Paid {
		return s.conclude(ctx, x402.FinalityFinal, f, "The transaction is final, in block "+number(f.Block)+".")
	}
	found, words := s.gone(&facts)
	if words != "" && s.believes(&facts) {
		return s.conclude(ctx, x402.FinalityGone, found, words)
	}
	s.Next = workflow.Now(ctx).Add(s.again(ctx))
	if words != "" {
		return s.doubt(ctx, &facts, words)
	}
	s.Missed = 0
	workflow.SetCurrentDetails(ctx, "Waits until the transaction is final.")
	return nil
}

// gone says in words why the final chain has no payment any more that covers the grant, and where
// it found the transaction; empty when it may have.
func (s *settling) gone(facts *activities.SettlementFacts) (found *x402.Finding, words string) {
	f := &facts.Found
	switch {
	case facts.Sight == x402.SightMined && f.Final:
		return f, "The transaction is final in block " + number(f.Block) + ", where it pays " +
			strconv.FormatInt(int64(f.Paid), 10) + " of " + strconv.FormatInt(int64(s.Granted.Paid), 10) +
			" atomic units."
	case facts.Sight == x402.SightFailed && f.Final:
		return f, "A reorganisation moved the transaction into block " + number(f.Block) + ", where it failed."
	case facts.Sight == x402.SightNone && s.passed(facts):
		return nil, "A reorganisation took the transaction away: block " + number(facts.Finalized) +
			" is final, and nobody knows it."
	}
	return nil, ""
}

// believes reports whether the word that a payment is gone ends its credential: that of two
// upstreams does, that of the only one when it said so before and chain.FinalDepth further blocks
// have become final since. Until then the node may be one that restores its index, or stood on a
// fork.
func (s *settling) believes(facts *activities.SettlementFacts) bool {
	return !facts.Alone || (s.Missed > 0 && facts.Finalized >= s.Missed+chain.FinalDepth)
}

// doubt keeps in mind since when the only upstream says that a payment is gone, and tells support.
func (s *settling) doubt(ctx workflow.Context, facts *activities.SettlementFacts, words string) error {
	if s.Missed > 0 {
		return nil
	}
	s.Missed = facts.Finalized
	return s.addEvent(ctx, "By the only upstream: "+words+" It counts when that one says so again once block "+
		number(s.Missed+chain.FinalDepth)+" is final.")
}

// passed reports whether the final part of the chain has come past where the transaction was. Of
// what a facilitator settled the block may not be known: then only time tells, and whoever reads
// upstreams that lag would call a fresh payment gone.
func (s *settling) passed(facts *activities.SettlementFacts) bool {
	if s.Granted.Block > 0 {
		return facts.Finalized >= s.Granted.Block
	}
	return facts.Finalized > 0 && time.Unix(facts.FinalizedTime, 0).After(s.Granted.RedeemedAt.Add(unplacedFor+s.delay))
}

// again is how long to wait before the next look at a transaction that is not final.
func (s *settling) again(ctx workflow.Context) time.Duration {
	if workflow.Now(ctx).Sub(s.Granted.RedeemedAt) > slowAfter*s.delay {
		return max(maxStuck, s.delay/looksPerDelay)
	}
	return max(s.delay/looksPerDelay, time.Second)
}

// conclude records what became of the transaction, or that the window is over. A record that does
// not take it is asked again later.
func (s *settling) conclude(ctx workflow.Context, f x402.Finality, found *x402.Finding, words string) error {
	var (
		settlements *activities.Settlements
		concluded   activities.RecordedSettlement
	)
	end := activities.SettlementEnd{ID: s.id, Finality: f, Words: words, Found: found}
	err := workflow.ExecuteActivity(changing(ctx, "record what became of the transaction"),
		settlements.ConcludeSettlement, end).Get(ctx, &concluded)
	s.Next = workflow.Now(ctx).Add(overAgain)
	if err != nil {
		return ctx.Err()
	}
	if ends := concluded.WindowEnds.Add(afterWindow); ends.After(workflow.Now(ctx)) {
		s.Next = ends
	}
	s.Granted = &concluded
	return s.enter(ctx, concluded.Stage, "", words)
}
