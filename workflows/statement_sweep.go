package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
)

// StatementSweepWorkflow closes the statements of all periods that are over: on the first of a
// month those of accounts without a subscription, on other days what was left.
//
//   - ID: statement-sweep-<time>, from the schedule statement-sweep.
//   - Queue: gateway-billing.
//   - Started by: the schedule, daily at 00:10 UTC and up to twelve hours late; runs never overlap.
//   - Pages through all accounts, one activity per page, and resumes after the last page done.
//   - Repeats: while periods wait for usage to be flushed or accounts could not be closed
//     (StuckReason accounts_not_closed; the log names them), it starts another round after ten
//     minutes, for at most six hours. The next day's run tries again.
//   - Ends: with totals. It continues as new within a round when the server suggests it.
const (
	StatementSweepWorkflow = "statement-sweep"
	StatementSweepSchedule = "statement-sweep"
)

const (
	sweepMinute  = 10 // after midnight: then the flush can be five minutes past it
	sweepCatchup = 12 * time.Hour
	sweepPause   = 10 * time.Minute
	sweepRounds  = 36
)

// StatementSweep is the progress of a sweep and its totals so far.
type StatementSweep struct {
	After    account.ID `json:"after"` // last account done in this round
	Round    int        `json:"round"` // rounds completed
	Accounts int        `json:"accounts"`
	Closed   int        `json:"closed"`
	Adjusted int        `json:"adjusted"`
	Waiting  int        `json:"waiting"` // in this round
	Failed   int        `json:"failed"`  // in this round
	// Stuck reports whether accounts failed in an earlier round, which operators are shown.
	Stuck bool `json:"stuck,omitempty"`
}

// reasonAccounts is the StuckReason while accounts cannot be closed. The worker's log names them.
const reasonAccounts = "accounts_not_closed"

// SweepStatements is the workflow.
func SweepStatements(ctx workflow.Context, s StatementSweep) (StatementSweep, error) {
	for {
		var (
			statements *activities.Statements
			page       activities.SweptPage
		)
		summary := "close what is over, a page of accounts"
		if err := workflow.ExecuteActivity(closingMany(ctx, summary), statements.SweepStatements,
			activities.SweepFrom{After: s.After}).Get(ctx, &page); err != nil {
			return s, err
		}
		s.add(&page)
		workflow.SetCurrentDetails(ctx,
			fmt.Sprintf(
				"Round %d: %d accounts seen, %d statements closed, %d adjusted, %d wait for usage to be recorded, %d "+
					"accounts failed.",
				s.Round+1, s.Accounts, s.Closed, s.Adjusted, s.Waiting, s.Failed))
		if page.End {
			s.Round++
			if s.Waiting+s.Failed == 0 || s.Round >= sweepRounds {
				if err := s.showFailed(ctx); err != nil {
					return s, err
				}
				return s, workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(stageClosed))
			}
			if err := s.rest(ctx); err != nil {
				return s, err
			}
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return s, workflow.NewContinueAsNewError(ctx, StatementSweepWorkflow, s)
		}
	}
}

func (s *StatementSweep) add(page *activities.SweptPage) {
	s.After = page.Last
	s.Accounts += page.Accounts
	s.Closed += page.Closed
	s.Adjusted += page.Adjusted
	s.Waiting += page.Waiting
	s.Failed += page.Failed
}

// showFailed sets StuckReason when accounts of the round could not be closed, and unsets it when
// they could.
func (s *StatementSweep) showFailed(ctx workflow.Context) error {
	failed := s.Failed > 0
	if failed == s.Stuck || workflow.GetVersion(ctx, "show accounts that failed", workflow.DefaultVersion,
		1) == workflow.DefaultVersion {
		return nil
	}
	s.Stuck = failed
	if failed {
		return workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueSet(reasonAccounts))
	}
	return workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueUnset())
}

// rest waits before the next round and resets the counts of the round.
func (s *StatementSweep) rest(ctx workflow.Context) error {
	show := Stage.ValueSet(stageRecording)
	if err := workflow.UpsertTypedSearchAttributes(ctx, show); err != nil {
		return err
	}
	if err := s.showFailed(ctx); err != nil {
		return err
	}
	if !s.Stuck && time.Duration(s.Round)*sweepPause >= stuckRecording {
		if err := workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueSet(reasonFlush)); err != nil {
			return err
		}
	}
	if err := workflow.Sleep(ctx, sweepPause); err != nil {
		return err
	}
	s.After, s.Accounts, s.Waiting, s.Failed = account.ID{}, 0, 0, 0
	return nil
}
