package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
)

// Statement sweep: closes the statements of all periods that are over, of accounts without a
// subscription at the first of a month, and on other days what was left.
//
// ID statement-sweep-<time>, from the schedule statement-sweep Queue gateway-billing Started by the
// schedule, daily at 00:10 UTC and up to twelve hours late; runs never overlap Goes through all
// accounts by pages, each an activity; it goes on after the last page that was done. Periods that
// are over and whose usage is not
//
//	recorded yet, and accounts that could not be closed (StuckReason accounts_not_closed; the log names them), have it go round again after ten
//	minutes, for six hours at most. The next day's tries again
//
// Ends     with what it did; continues as new within a round when its history grows long
const (
	StatementSweepWorkflow = "statement-sweep"
	StatementSweepSchedule = "statement-sweep"
)

const (
	sweepMinute  = 10 // after midnight: the flush has passed it by five minutes
	sweepCatchup = 12 * time.Hour
	sweepPause   = 10 * time.Minute
	sweepRounds  = 36
)

// StatementSweep is where a sweep is, and what it did so far.
type StatementSweep struct {
	After    account.ID `json:"after"` // the last account that was done in this round
	Round    int        `json:"round"` // rounds that are done
	Accounts int        `json:"accounts"`
	Closed   int        `json:"closed"`
	Adjusted int        `json:"adjusted"`
	Waiting  int        `json:"waiting"` // in this round
	Failed   int        `json:"failed"`  // in this round
	// Stuck says that accounts failed in a round before, which operators are shown.
	Stuck bool `json:"stuck,omitempty"`
}

// reasonAccounts is why a sweep is stuck: accounts cannot be closed. The worker's log names them.
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

// showFailed shows operators that accounts of the round could not be closed, and that they can
// again.
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

// rest waits before the next round.
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
