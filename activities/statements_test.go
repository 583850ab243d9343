package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/usagedb"
)

// scriptedCloser returns what it is set to.
type scriptedCloser struct {
	one    statement.Outcome
	page   statement.Swept
	failed error
}

func (b *scriptedCloser) CloseOne(context.Context, usagedb.UsagePeriod, statement.Ended) (statement.Outcome, error) {
	return b.one, b.failed
}

func (b *scriptedCloser) Sweep(context.Context, account.ID, int, func(), *slog.Logger) (statement.Swept, error) {
	return b.page, b.failed
}

func (b *scriptedCloser) SweepOn(context.Context, account.ID, int, func(), *slog.Logger) (statement.Swept, error) {
	return b.page, b.failed
}

func TestStatement_ClosingsAreCountedByOutcome(t *testing.T) {
	t.Parallel()
	counted, compiler := map[string]int{}, &scriptedCloser{}
	of := &activities.Statements{
		Compiler: compiler, Logger: slog.New(slog.DiscardHandler),
		Count: func(result string, n int) { counted[result] += n },
	}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivity(of)
	for name, c := range map[string]struct {
		compiler scriptedCloser
		one, all map[string]int
	}{
		"closed": {
			scriptedCloser{
				one:  statement.Outcome{Known: true, Closed: true},
				page: statement.Swept{Report: statement.Report{Closed: 7, Adjusted: 2, Waiting: 9}, Failed: 1},
			},
			map[string]int{"closed": 1},
			map[string]int{"closed": 7, "adjusted": 2, "failed": 1},
		},
		"waiting": {
			scriptedCloser{one: statement.Outcome{Known: true}}, map[string]int{}, map[string]int{
				"closed": 0, "adjusted": 0, "failed": 0,
			},
		},
		"failed": {
			scriptedCloser{failed: errors.New("the record is away")},
			map[string]int{"failed": 1},
			map[string]int{"failed": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			*compiler = c.compiler
			clear(counted)
			if _, err := env.ExecuteActivity(of.CloseStatement,
				activities.Closing{}); (err != nil) != (c.compiler.failed != nil) || !maps.Equal(counted, c.one) {
				t.Errorf("closing one counts %v, %v; want %v", counted, err, c.one)
			}
			clear(counted)
			if _, err := env.ExecuteActivity(of.SweepStatements,
				activities.SweepFrom{}); (err != nil) != (c.compiler.failed != nil) || !maps.Equal(counted, c.all) {
				t.Errorf("a page counts %v, %v; want %v", counted, err, c.all)
			}
		})
	}
}
