package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Statements returns the billing periods of an account, newest first.
//
//nolint:gocritic // a copy does no harm
func Statements(ctx context.Context, cfg config.Config,
	subject string,
) (id account.ID, periods []statement.Entry, err error) {
	err = withStatements(ctx, cfg, func(s *store.Store, compiler *statement.Compiler) error {
		of, err := find(ctx, s, subject)
		if err != nil {
			return err
		}
		id = of.ID
		periods, err = compiler.List(ctx, &of)
		return err
	})
	return id, periods, err
}

// Statement returns the statement of a period.
//
//nolint:gocritic // a copy does no harm
func Statement(ctx context.Context, cfg config.Config,
	subject, period string,
) (found statement.Statement, err error) {
	err = withStatements(ctx, cfg, func(s *store.Store, compiler *statement.Compiler) error {
		of, err := find(ctx, s, subject)
		if err != nil {
			return err
		}
		found, err = compiler.Get(ctx, &of, period)
		if errors.Is(err, statement.ErrNoPeriod) {
			return fmt.Errorf("account %s has no period that began on %s; gateway ops statements show %s lists them",
				of.ID, period, of.ID)
		}
		return err
	})
	return found, err
}

// ClosedPeriod is the result of closing a period by hand.
type ClosedPeriod struct {
	Account   account.ID
	Closed    bool
	Hash      string
	Ends      time.Time // of the period
	Watermark time.Time // of the account's flushed usage; zero when none was flushed
}

// CloseStatement closes a period of an account if all its usage is flushed; otherwise the result
// has the period's end and the watermark. It does not need Temporal.
//
//nolint:gocritic // a copy does no harm
func CloseStatement(ctx context.Context, cfg config.Config,
	subject, period string,
) (closed ClosedPeriod, err error) {
	err = withStatements(ctx, cfg, func(s *store.Store, compiler *statement.Compiler) error {
		of, err := find(ctx, s, subject)
		if err != nil {
			return err
		}
		out, err := compiler.CloseOne(ctx, usagedb.UsagePeriod{Account: of.ID, Period: period}, statement.Ended{})
		switch {
		case err != nil:
			return err
		case !out.Known:
			return fmt.Errorf("account %s has no period that began on %s; gateway ops statements show %s lists them",
				of.ID, period, of.ID)
		}
		closed = ClosedPeriod{Account: of.ID, Closed: out.Closed, Hash: out.Hash, Ends: out.Ends}
		closed.Watermark, err = s.AccountWatermark(ctx, of.ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return closed, err
}

// SweepStatements closes the periods of all accounts that are over and flushed, as the daily
// sweep does, and calls tell with the totals after each page.
//
//nolint:gocritic // a copy does no harm
func SweepStatements(ctx context.Context, cfg config.Config, log *slog.Logger,
	tell func(sum statement.Swept),
) error {
	return withStatements(ctx, cfg, func(_ *store.Store, compiler *statement.Compiler) error {
		var sum statement.Swept
		for !sum.End {
			page, err := compiler.Sweep(ctx, sum.Last, statement.SweepPage, func() {}, log)
			if err != nil {
				return fmt.Errorf(
					"the sweep stopped after %d accounts; statements that it closed stay closed. Run it again: %w",
					sum.Accounts, err)
			}
			sum.Add(&page)
			tell(sum)
		}
		return nil
	})
}

//nolint:gocritic // a copy does no harm
func withStatements(ctx context.Context, cfg config.Config, use func(*store.Store, *statement.Compiler) error) error {
	return withPayments(ctx, cfg, func(s *store.Store) error {
		return use(s, &statement.Compiler{Store: s, Now: time.Now})
	})
}
