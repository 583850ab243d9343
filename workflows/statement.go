package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
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
		if err := workflow.ExecuteActivity(closingOne(ctx, "close the statement"), statements.CloseStatement,
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
	return stageRecording, growing(firstRecording, tries, maxRecording),
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
