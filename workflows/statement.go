package workflows

import (
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// StatementWorkflow closes the statement of a period as soon as all its usage is in PostgreSQL.
//
//   - ID: statement/<account>/<period>.
//   - Queue: gateway-billing.
//   - Started by: the flow of the subscription when a period ended. It is idempotent: for a period
//     that is closed it ends at once.
//   - Waits: until the watermark of the flush is five minutes past the period's end. It polls with
//     backoff.
//   - Ends: closed, with the hash of the statement; or unknown when the account has no such period.
//     The sweep does what it misses.
const (
	StatementWorkflow = "statement"
)

// StatementID is the workflow id that closes a period.
func StatementID(c *activities.Closing) string {
	return "statement/" + c.Account.String() + "/" + c.Period.Key
}

// Stages of a closing.
const (
	stageEnding    = "ending"    // the period has not ended
	stageRecording = "recording" // it ended, but not all usage is in PostgreSQL
	stageClosed    = "closed"
	stageUnknown   = "unknown" // there is no such period
)

// reasonFlush is the StuckReason while usage is not flushed.
const reasonFlush = "usage_not_flushed"

// Backoff between polls of the watermark, and when to set StuckReason.
const (
	firstRecording = 5 * time.Second
	maxRecording   = 5 * time.Minute
	stuckRecording = time.Hour // after the statement could have been closed
)

// StatementEnd is how the closing of a statement ended.
type StatementEnd struct {
	Stage string `json:"stage"`
	Hash  string `json:"content_hash,omitempty"`
}

// CloseStatement is the workflow.
//
//nolint:gocritic // a copy does no harm
func CloseStatement(ctx workflow.Context, c activities.Closing) (StatementEnd, error) {
	if err := workflow.UpsertTypedSearchAttributes(ctx, AccountID.ValueSet(c.Account.String())); err != nil {
		return StatementEnd{}, err
	}
	f := closingFlow{c: c}
	for tries := 0; ; tries++ {
		var (
			statements *activities.Statements
			now        activities.ClosedStatement
		)
		if err := workflow.ExecuteActivity(flow.ClosingOne(ctx, "close the statement"), statements.CloseStatement,
			c).Get(ctx, &now); err != nil {
			return StatementEnd{}, err
		}
		stage, pause, words := closingStage(&now, workflow.Now(ctx), tries)
		if err := f.enter(ctx, stage, workflow.Now(ctx).Sub(now.Due) > stuckRecording, words); err != nil {
			return StatementEnd{}, err
		}
		if pause == 0 {
			return StatementEnd{Stage: stage, Hash: now.Hash}, nil
		}
		if err := workflow.Sleep(ctx, pause); err != nil {
			return StatementEnd{}, err
		}
		if stage == stageEnding {
			tries = 0
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return StatementEnd{}, workflow.NewContinueAsNewError(ctx, StatementWorkflow, c)
		}
	}
}

// closingStage returns the stage and how long to wait in it; 0 ends the flow.
func closingStage(s *activities.ClosedStatement, now time.Time,
	tries int,
) (stage string, pause time.Duration, words string) {
	switch {
	case s.Closed:
		return stageClosed, 0, "The statement is closed for ever."
	case !s.Known:
		return stageUnknown, 0, "The account has no such period, so there is nothing to close."
	case now.Before(s.Due):
		return stageEnding, s.Due.Sub(now), "Waits until the period has been over for five minutes."
	}
	return stageRecording, flow.Backoff(firstRecording, tries, maxRecording),
		"Waits until all usage of the period is recorded: the flush has not passed its end by five minutes."
}

// closingFlow is what a closing shows to operators.
type closingFlow struct {
	c     activities.Closing
	stage string
	stuck bool
}

// enter shows the stage, and that it is stuck if it is late.
func (f *closingFlow) enter(ctx workflow.Context, stage string, late bool, words string) error {
	workflow.SetCurrentDetails(ctx, words)
	if f.stage != stage {
		f.stage = stage
		if err := workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(stage)); err != nil {
			return err
		}
	}
	stuck := late && stage == stageRecording
	if stuck == f.stuck {
		return nil
	}
	f.stuck = stuck
	if stuck {
		return workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueSet(reasonFlush))
	}
	return workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueUnset())
}

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
		if err := workflow.ExecuteActivity(flow.ClosingMany(ctx, summary), statements.SweepStatements,
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
