package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/usagedb"
	"github.com/chainaccess/gateway/workflows"
)

// failingBook is a book in which most accounts of the page cannot be closed in the first two
// rounds.
type failingBook struct {
	tries, rounds int
}

var _ activities.StatementBook = (*failingBook)(nil)

func (b *failingBook) CloseOne(context.Context, usagedb.UsagePeriod, statement.Ended) (statement.Outcome, error) {
	return statement.Outcome{}, errors.New("not asked for")
}

func (b *failingBook) Sweep(context.Context, account.ID, int, func(), *slog.Logger) (statement.Swept, error) {
	b.tries++
	if b.rounds == 2 {
		b.rounds++
		return statement.Swept{Accounts: 30, End: true}, nil
	}
	return statement.Swept{}, errors.New("20 accounts of a batch could not be closed")
}

func (b *failingBook) SweepOn(context.Context, account.ID, int, func(), *slog.Logger) (statement.Swept, error) {
	b.rounds++
	return statement.Swept{Accounts: 30, Failed: 25, End: true}, nil
}

// A page on which many accounts fail is tried five times. Then the sweep continues, shows the
// failure to operators, and later that it is over.
func TestStatementSweep_GoesOnPastFailingAccountsAndShowsThem(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	workflows.RegisterBilling(env)
	book := &failingBook{}
	statements := activities.Statements{Book: book, Logger: slog.New(slog.DiscardHandler)}
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
	if err := env.GetWorkflowError(); err != nil || book.tries != 9 || book.rounds != 3 ||
		!slices.Equal(shown, []string{"failed", "well", "over"}) {
		t.Errorf("after %d tries and %d rounds it showed %v: %v", book.tries, book.rounds, shown, err)
	}
}
