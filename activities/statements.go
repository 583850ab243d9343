package activities

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/usagedb"
)

// StatementCloser closes periods (statement.Compiler).
type StatementCloser interface {
	CloseOne(ctx context.Context, ref usagedb.UsagePeriod, ended statement.Ended) (statement.Outcome, error)
	Sweep(ctx context.Context, after account.ID, page int, beat func(), log *slog.Logger) (statement.Swept, error)
	SweepOn(ctx context.Context, after account.ID, page int, beat func(), log *slog.Logger) (statement.Swept, error)
}

var _ StatementCloser = (*statement.Compiler)(nil)

// Statements closes statements. Its activities are idempotent. Causes of failures stay out of
// histories.
type Statements struct {
	Compiler StatementCloser
	Logger   *slog.Logger
	// Count is called with how many closings had a result of ClosingResults; nil for none.
	Count func(result string, n int)
}

// Results of closings, as metrics count them.
const (
	closedResult   = "closed"
	adjustedResult = "adjusted"
	failedResult   = "failed"
)

// ClosingResults returns the results of closings: closed, adjusted on a later statement, or failed
// and retried.
func ClosingResults() []string { return []string{closedResult, adjustedResult, failedResult} }

func (s *Statements) count(result string, n int) {
	if s.Count != nil {
		s.Count(result, n)
	}
}

// ErrStatementFailed is the type of the application errors of Statements, which are retried.
const ErrStatementFailed = "statement_failed"

// ClosedStatement is the result of an attempt to close a period.
type ClosedStatement struct {
	Known  bool      `json:"known"` // whether there is such a period
	Closed bool      `json:"closed"`
	Hash   string    `json:"content_hash,omitempty"`
	Due    time.Time `json:"due"` // the earliest time at which the period can be closed
}

// CloseStatement closes a period if all its usage is flushed, and reports whether it is closed.
//
//nolint:gocritic // a copy does no harm
func (s *Statements) CloseStatement(ctx context.Context, c Closing) (ClosedStatement, error) {
	ref := usagedb.UsagePeriod{Account: c.Account, Period: c.Period.Key}
	out, err := s.Compiler.CloseOne(ctx, ref, statement.Ended{At: c.Period.End, Plan: c.Period.Plan})
	if err != nil {
		s.count(failedResult, 1)
		s.Logger.Error("statement not closed; will retry", "account_id", c.Account, "period", c.Period.Key,
			"error", err)
		return ClosedStatement{},
			temporal.NewApplicationError("the statement could not be closed; the worker's log names the cause",
				ErrStatementFailed)
	}
	if out.Closed {
		s.count(closedResult, 1)
	}
	return ClosedStatement{Known: out.Known, Closed: out.Closed, Hash: out.Hash, Due: out.Due}, nil
}

// SweepFrom is the position of a page of the sweep; zero is before the first account.
type SweepFrom struct {
	After account.ID `json:"after"`
}

// SweptPage is what a page of the sweep did.
type SweptPage struct {
	Last     account.ID `json:"last"`
	End      bool       `json:"end"`
	Accounts int        `json:"accounts"`
	Closed   int        `json:"closed"`
	Adjusted int        `json:"adjusted"`
	Waiting  int        `json:"waiting"`
	Failed   int        `json:"failed"`
}

// pageTries is the number of attempts at a page on which many accounts fail, before those are left
// to the next round.
const pageTries = 5

// SweepStatements closes the periods of a page of accounts that are over and flushed. It is
// idempotent, so a retry resumes where the last attempt stopped. In its fifth attempt it counts the
// accounts that fail, which the log names, and completes.
func (s *Statements) SweepStatements(ctx context.Context, from SweepFrom) (SweptPage, error) {
	beat := func() { activity.RecordHeartbeat(ctx) }
	sweep := s.Compiler.Sweep
	if activity.GetInfo(ctx).Attempt >= pageTries {
		sweep = s.Compiler.SweepOn
	}
	swept, err := sweep(ctx, from.After, statement.SweepPage, beat, s.Logger)
	if err != nil {
		s.count(failedResult, 1)
		s.Logger.Error("page of statements not closed; will retry", "after", from.After, "error", err)
		return SweptPage{},
			temporal.NewApplicationError("the page could not be closed; the worker's log names the cause",
				ErrStatementFailed)
	}
	s.count(closedResult, swept.Closed)
	s.count(adjustedResult, swept.Adjusted)
	s.count(failedResult, swept.Failed)
	return SweptPage{
		Last: swept.Last, End: swept.End, Accounts: swept.Accounts, Closed: swept.Closed, Adjusted: swept.Adjusted,
		Waiting: swept.Waiting, Failed: swept.Failed,
	}, nil
}
