package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/store/usagedb"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/workflows"
)

var someClosing = activities.Closing{
	Account: account.NewID(), Period: activities.BillingPeriod{Key: "2026-11-01", Plan: "pro"},
}

// closePeriod runs the closing of a period whose usage is flushed after a while. It returns the
// result and the times of the polls.
func closePeriod(t *testing.T, ends, recorded time.Duration,
	known bool,
) (end workflows.StatementEnd, looks []time.Duration, stuck bool) {
	t.Helper()
	env := newEnvironment()
	begun := env.Now()
	workflows.RegisterBilling(env)
	env.RegisterActivityWithOptions(func(_ context.Context, c activities.Closing) (activities.ClosedStatement, error) {
		if c != someClosing {
			t.Errorf("closed %+v", c)
		}
		looks = append(looks, env.Now().Sub(begun).Round(time.Second))
		if len(looks) == 1 {
			return activities.ClosedStatement{}, temporal.NewApplicationError("not now", activities.ErrStatementFailed)
		}
		closed := known && env.Now().Sub(begun) >= recorded
		return activities.ClosedStatement{
			Known: known, Closed: closed, Hash: map[bool]string{true: "sha256:00"}[closed],
			Due: begun.Add(ends + 5*time.Minute),
		}, nil
	}, activity.RegisterOptions{Name: "CloseStatement"})
	env.OnUpsertTypedSearchAttributes(
		temporal.NewSearchAttributes(workflows.StuckReason.ValueSet("usage_not_flushed"))).Run(func(mock.Arguments) {
		stuck = true
	}).Return(nil).Maybe()
	for _, set := range []temporal.SearchAttributeUpdate{
		workflows.StuckReason.ValueUnset(), workflows.AccountID.ValueSet(someClosing.Account.String()),
		workflows.Stage.ValueSet("ending"), workflows.Stage.ValueSet("recording"), workflows.Stage.ValueSet("closed"),
		workflows.Stage.ValueSet("unknown"),
	} {
		env.OnUpsertTypedSearchAttributes(temporal.NewSearchAttributes(set)).Return(nil).Maybe()
	}
	env.ExecuteWorkflow(workflows.StatementWorkflow, someClosing)
	if err := env.GetWorkflowResult(&end); err != nil {
		t.Fatal(err)
	}
	return end, looks, stuck
}

func TestStatement_IsClosedOnceTheFlushHasPassedItsPeriod(t *testing.T) {
	t.Parallel()
	end, looks, stuck := closePeriod(t, time.Hour, time.Hour+6*time.Minute, true)
	if end != (workflows.StatementEnd{Stage: "closed", Hash: "sha256:00"}) || stuck {
		t.Errorf("ended %+v, stuck %t", end, stuck)
	}
	// A failed poll, one that returns the due time, one at that time, and more until the flush is
	// done.
	require.AtLeast(t, len(looks), 4, looks)
	expect.Between(t, looks[2], 65*time.Minute, 66*time.Minute)
	expect.AtMost(t, looks[len(looks)-1], 68*time.Minute)
}

func TestStatement_WaitingLongForTheFlushSaysWhyItIsStuck(t *testing.T) {
	t.Parallel()
	end, looks, stuck := closePeriod(t, 0, 3*time.Hour, true)
	if end.Stage != "closed" || !stuck {
		t.Errorf("ended %+v, stuck %t", end, stuck)
	}
	for i := 1; i < len(looks); i++ {
		if pause := looks[i] - looks[i-1]; pause > 6*time.Minute {
			t.Errorf("it paused for %s", pause)
		}
	}
}

func TestStatement_UnknownPeriodIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	if end, looks, _ := closePeriod(t, 0, 0, false); end.Stage != "unknown" || len(looks) != 2 {
		t.Errorf("ended %+v after %v", end, looks)
	}
}

// sweep runs a sweep over scripted pages.
func sweep(t *testing.T, from workflows.StatementSweep,
	page func(after account.ID, n int) activities.SweptPage) (end workflows.StatementSweep, asked []account.ID,
	lasted time.Duration,
) {
	t.Helper()
	env := newEnvironment()
	begun := env.Now()
	workflows.RegisterBilling(env)
	env.RegisterActivityWithOptions(func(_ context.Context, from activities.SweepFrom) (activities.SweptPage, error) {
		asked = append(asked, from.After)
		if len(asked) == 2 {
			return activities.SweptPage{}, temporal.NewApplicationError("not now", activities.ErrStatementFailed)
		}
		return page(from.After, len(asked)), nil
	}, activity.RegisterOptions{Name: "SweepStatements"})
	env.ExecuteWorkflow(workflows.StatementSweepWorkflow, from)
	if err := env.GetWorkflowResult(&end); err != nil {
		t.Fatal(err)
	}
	return end, asked, env.Now().Sub(begun)
}

func TestStatementSweep_GoesThroughAllPagesAndOnWhereItStopped(t *testing.T) {
	t.Parallel()
	first, second, third := account.NewID(), account.NewID(), account.NewID()
	next := map[account.ID]activities.SweptPage{
		{}:     {Last: first, Accounts: 2000, Closed: 1500, Adjusted: 2},
		first:  {Last: second, Accounts: 2000, Closed: 10},
		second: {Last: third, Accounts: 7, End: true, Closed: 7},
	}
	pages := func(after account.ID, _ int) activities.SweptPage { return next[after] }
	end, asked, lasted := sweep(t, workflows.StatementSweep{}, pages)
	want := workflows.StatementSweep{After: third, Round: 1, Accounts: 4007, Closed: 1517, Adjusted: 2}
	expect.Equal(t, end, want)
	expect.EqualSlices(t, asked, []account.ID{{}, first, first, second})
	expect.AtMost(t, lasted, time.Minute)
	// As a run that continued as new does.
	if _, asked, _ := sweep(t, workflows.StatementSweep{After: second, Accounts: 4000}, pages); asked[0] != second {
		t.Errorf("it went on at %v", asked)
	}
}

func TestStatementSweep_RepeatsForUnrecordedUsageAndNotForEver(t *testing.T) {
	t.Parallel()
	recorded := func(after int) func(account.ID, int) activities.SweptPage {
		return func(_ account.ID, n int) activities.SweptPage {
			p := activities.SweptPage{End: true, Accounts: 1, Waiting: 1}
			if n > after {
				p.Waiting, p.Closed = 0, 1
			}
			return p
		}
	}
	end, asked, lasted := sweep(t, workflows.StatementSweep{}, recorded(3))
	expect.Equal(t, end.Round, 3)
	expect.Equal(t, end.Closed, 1)
	expect.Equal(t, end.Accounts, 1)
	expect.Len(t, asked, 4)
	expect.AtLeast(t, lasted, 20*time.Minute)
	if end, _, lasted := sweep(t, workflows.StatementSweep{}, recorded(1000)); end.Waiting != 1 ||
		lasted > 7*time.Hour {
		t.Errorf("it ended with %+v after %s", end, lasted)
	}
}

// recordStatements records a closing that waits, one of an unknown period, and a sweep of two
// rounds.
func recordStatements(t *testing.T) {
	t.Helper()
	server := testkit.Temporal(t)
	c := server.Dial(t)
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	none := someClosing
	none.Account = account.NewID()
	looks, first := 0, account.NewID()
	w := worker.New(c, workflows.QueueBilling, worker.Options{})
	workflows.RegisterBilling(w)
	w.RegisterActivityWithOptions(func(_ context.Context, of activities.Closing) (activities.ClosedStatement, error) {
		if of == none {
			return activities.ClosedStatement{}, nil
		}
		looks++ // one flow at a time
		now := activities.ClosedStatement{Known: true, Due: time.Now().Add(-2 * time.Hour)}
		switch looks {
		case 1:
			now.Due = time.Now().Add(time.Second)
		case 3:
			now.Closed, now.Hash = true, "sha256:00"
		}
		return now, nil
	}, activity.RegisterOptions{Name: "CloseStatement"})
	w.RegisterActivityWithOptions(func(_ context.Context, from activities.SweepFrom) (activities.SweptPage, error) {
		if from.After == first {
			return activities.SweptPage{Last: first, End: true, Accounts: 3, Closed: 1}, nil
		}
		return activities.SweptPage{Last: first, Accounts: 2000, Closed: 5, Adjusted: 1}, nil
	}, activity.RegisterOptions{Name: "SweepStatements"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	flows := workflows.NewClient(c)
	end := func(id, file string) {
		t.Helper()
		if err := c.GetWorkflow(ctx, id, "").Get(ctx, nil); err != nil {
			t.Fatal(err)
		}
		save(ctx, t, c, id, file)
	}
	for file, of := range map[string]activities.Closing{"statement.json": someClosing, "statement-unknown.json": none} {
		if err := flows.CloseStatement(ctx, of); err != nil {
			t.Fatal(err)
		}
		end(workflows.StatementID(&of), file)
	}
	if err := flows.ScheduleStatementSweep(ctx); err != nil {
		t.Fatal(err)
	}
	if err := flows.ScheduleStatementSweep(ctx); err != nil { // as a second worker does
		t.Fatal(err)
	}
	if err := c.ScheduleClient().GetHandle(ctx, workflows.StatementSweepSchedule).Trigger(ctx,
		client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		info, err := c.ScheduleClient().GetHandle(ctx, workflows.StatementSweepSchedule).Describe(ctx)
		if err != nil || len(info.Info.RecentActions) == 0 || info.Info.RecentActions[0].StartWorkflowResult == nil {
			return false
		}
		end(info.Info.RecentActions[0].StartWorkflowResult.WorkflowID, "statement-sweep.json")
		return true
	}, "the schedule starts a sweep")
}

// failingCloser is a closer with which most accounts of the page cannot be closed in the first two
// rounds.
type failingCloser struct {
	tries, rounds int
}

var _ activities.StatementCloser = (*failingCloser)(nil)

func (b *failingCloser) CloseOne(context.Context, usagedb.UsagePeriod, statement.Ended) (statement.Outcome, error) {
	return statement.Outcome{}, errors.New("not asked for")
}

func (b *failingCloser) Sweep(context.Context, account.ID, int, func(), *slog.Logger) (statement.Swept, error) {
	b.tries++
	if b.rounds == 2 {
		b.rounds++
		return statement.Swept{Accounts: 30, End: true}, nil
	}
	return statement.Swept{}, errors.New("20 accounts of a batch could not be closed")
}

func (b *failingCloser) SweepOn(context.Context, account.ID, int, func(), *slog.Logger) (statement.Swept, error) {
	b.rounds++
	return statement.Swept{Accounts: 30, Failed: 25, End: true}, nil
}

// A page on which many accounts fail is tried five times. Then the sweep continues, shows the
// failure to operators, and later that it is over.
func TestStatementSweep_GoesOnPastFailingAccountsAndShowsThem(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	workflows.RegisterBilling(env)
	compiler := &failingCloser{}
	statements := activities.Statements{Compiler: compiler, Logger: slog.New(slog.DiscardHandler)}
	env.RegisterActivityWithOptions(statements.SweepStatements, activity.RegisterOptions{Name: "SweepStatements"})
	var shown []string
	for name, set := range map[string]temporal.SearchAttributeUpdate{
		"failed": workflows.StuckReason.ValueSet("accounts_not_closed"), "well": workflows.StuckReason.ValueUnset(),
		"": workflows.Stage.ValueSet("recording"), "over": workflows.Stage.ValueSet("closed"),
	} {
		env.OnUpsertTypedSearchAttributes(temporal.NewSearchAttributes(set)).Run(func(mock.Arguments) {
			if name != "" {
				shown = append(shown, name)
			}
		}).Return(nil).Maybe()
	}
	env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe() // markers of GetVersion
	env.ExecuteWorkflow(workflows.StatementSweepWorkflow, workflows.StatementSweep{})
	err := env.GetWorkflowError()
	require.NoError(t, err)
	expect.Equal(t, compiler.tries, 9)
	expect.Equal(t, compiler.rounds, 3)
	expect.EqualSlices(t, shown, []string{"failed", "well", "over"})
}
