package usagedb

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
)

// UsageEvidence is what an audit checks of a period, read in one snapshot.
type UsageEvidence struct {
	UsageBooks
	// WordUnits is the sum of the hourly rows grouped by key, chain and class.
	WordUnits plan.Units
	// Impossible is a row that no call can have caused: a refund that adds, a charge that
	// subtracts, a hit or a refusal that costs units. Nil when there is none.
	Impossible *UsageHour
	// Excess is a group of rows with more refunded than charged; nil when there is none. It may
	// appear for a moment: a refund is flushed before its charge when the meter's clock stepped
	// back in between.
	Excess *OverRefund
	// Unequal is a group of rows in which a rollup differs from the hourly rows; nil when there is
	// none. What is shown comes from rollups.
	Unequal *RollupMismatch
	// Stated is what a closed period's statement says; nil while the period is open.
	Stated *StatedUsage
}

// StatedUsage is what statements say about a closed period.
type StatedUsage struct {
	Told    PeriodTotals // by the statement and later adjustments
	Frozen  Figures      // the statement's columns
	Content Figures      // the totals in the statement's content
	// Pending reports whether usage was flushed after the account's newest statement; the next one
	// adjusts it.
	Pending bool
}

func readStated(ctx context.Context, q *db.Queries, id account.ID, start time.Time) (*StatedUsage, error) {
	row, err := q.GetStatementEvidence(ctx, db.GetStatementEvidenceParams{Account: id.UUID, Period: start})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no statement is not an error
	}
	if err != nil {
		return nil, err
	}
	return &StatedUsage{
		Told: PeriodTotals{
			Requests: row.Requests, Billable: row.Billable, Hits: row.Hits, Refused: row.Refused,
			Refunded: row.Refunded, Units: plan.Units(row.Units), PlanUnits: plan.Units(row.PlanUnits),
			PackUnits: plan.Units(row.PackUnits),
		},
		Frozen:  Figures{row.FrozenRequests, plan.Units(row.FrozenUnits)},
		Content: Figures{row.ContentRequests, plan.Units(row.ContentUnits)},
		Pending: row.Pending,
	}, nil
}

// OverRefund is what was charged and refunded for one group of rows. Line holds the group, without
// figures and outcome.
type OverRefund struct {
	Line              account.UsageLine
	Charged, Refunded Figures
}

// UsageEvidence reads what an audit checks of an account's period.
func (s *Store) UsageEvidence(ctx context.Context, of UsagePeriod) (UsageEvidence, error) {
	var e UsageEvidence
	err := s.readPeriod(ctx, of, func(q *db.Queries, start time.Time) (err error) {
		e = UsageEvidence{}
		if e.UsageBooks, err = readBooks(ctx, q, of.Account, start); err != nil {
			return err
		}
		words, err := q.SumWordsOfPeriod(ctx, db.SumWordsOfPeriodParams{Account: of.Account.UUID, Period: start})
		if err != nil {
			return err
		}
		e.WordUnits = plan.Units(words.Units)
		if e.Unequal, err = findUnequal(ctx, q, of.Account, start); err != nil {
			return err
		}
		if e.Stated, err = readStated(ctx, q, of.Account, start); err != nil {
			return err
		}
		line, err := q.GetImpossibleLine(ctx, db.GetImpossibleLineParams{Account: of.Account.UUID, Period: start})
		switch {
		case err == nil:
			found := usageHourOf(line)
			e.Impossible = &found
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		over, err := q.GetOverRefund(ctx, db.GetOverRefundParams{Account: of.Account.UUID, Period: start})
		switch {
		case err == nil:
			e.Excess = overRefundOf(of.Period, over)
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		return nil
	})
	return e, err
}

func overRefundOf(period string, row db.GetOverRefundRow) *OverRefund {
	return &OverRefund{
		Line: account.UsageLine{
			Period: period, Key: account.KeyID{UUID: row.KeyID}, Agent: row.Agent, Chain: row.Chain,
			Service: row.Service, Method: row.Method, Class: row.Class, Source: row.Source, Tier: row.Tier,
		},
		Charged:  Figures{Requests: row.ChargedRequests, Units: plan.Units(row.ChargedUnits)},
		Refunded: Figures{Requests: row.RefundedRequests, Units: plan.Units(row.RefundedUnits)},
	}
}
