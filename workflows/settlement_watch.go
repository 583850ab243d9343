package workflows

import (
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// Timing of the watch over a granted settlement.
const (
	defaultFinality = 20 * time.Minute
	looksPerDelay   = 4
	// slowAfter is the number of finality delays after the grant from which reads are as rare as
	// those of a stuck settlement.
	slowAfter = 6
	// unplacedFor is added to the delay when the block of a grant is unknown: the finalized block
	// must be that much later than the grant. Facilitators send what they settle within minutes.
	unplacedFor = time.Hour
	// afterWindow is a margin because the meter's clock, by which credentials expire, may lag
	// behind Temporal's.
	afterWindow = 2 * time.Second
	// overAgain is the pause before another attempt to conclude.
	overAgain = time.Minute
)

// granted takes over the stored state of a redeemed settlement.
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

// confirm checks whether the transaction is still on the chain, and final.
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
		s.Next = workflow.Now(ctx).Add(flow.Backoff(firstStuck, s.Tries-1, maxStuck))
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

// gone explains why the finalized chain has no payment any more that covers the grant, and returns
// the finding if the transaction was found. It returns an empty string when the chain may still
// have it.
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

// believes reports whether a payment that is reported as gone ends its credential. Two upstreams
// that agree suffice. A single one must report it again after chain.FinalDepth more blocks have
// become final, because the node may be restoring its index or may have followed a fork.
func (s *settling) believes(facts *activities.SettlementFacts) bool {
	return !facts.Alone || (s.Missed > 0 && facts.Finalized >= s.Missed+chain.FinalDepth)
}

// doubt records since when the only upstream reports a payment as gone, and adds an event for
// support.
func (s *settling) doubt(ctx workflow.Context, facts *activities.SettlementFacts, words string) error {
	if s.Missed > 0 {
		return nil
	}
	s.Missed = facts.Finalized
	return s.addEvent(ctx, "By the only upstream: "+words+" It counts when that one says so again once block "+
		number(s.Missed+chain.FinalDepth)+" is final.")
}

// passed reports whether the finalized block is past the transaction's. The block of a payment that
// a facilitator settled may be unknown. Then only time decides, because lagging upstreams would
// make a fresh payment look gone.
func (s *settling) passed(facts *activities.SettlementFacts) bool {
	if s.Granted.Block > 0 {
		return facts.Finalized >= s.Granted.Block
	}
	return facts.Finalized > 0 && time.Unix(facts.FinalizedTime, 0).After(s.Granted.RedeemedAt.Add(unplacedFor+s.delay))
}

// again returns how long to wait before the next read of a transaction that is not final.
func (s *settling) again(ctx workflow.Context) time.Duration {
	if workflow.Now(ctx).Sub(s.Granted.RedeemedAt) > slowAfter*s.delay {
		return max(maxStuck, s.delay/looksPerDelay)
	}
	return max(s.delay/looksPerDelay, time.Second)
}

// conclude records the transaction's finality, or that the window is over. It is retried after
// overAgain if that fails.
func (s *settling) conclude(ctx workflow.Context, f x402.Finality, found *x402.Finding, words string) error {
	var (
		settlements *activities.Settlements
		concluded   activities.RecordedSettlement
	)
	end := activities.SettlementEnd{ID: s.id, Finality: f, Words: words, Found: found}
	err := workflow.ExecuteActivity(flow.Changing(ctx, "record what became of the transaction"),
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
