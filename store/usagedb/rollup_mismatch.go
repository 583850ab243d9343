package usagedb

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
)

// RollupMismatch is a group of rows in which a rollup differs from the hourly rows. Line holds the
// group, without figures.
type RollupMismatch struct {
	Table      string // the table of the rollup
	Start      time.Time
	Line       account.UsageLine
	Sum, Hours Figures
}

// findUnequal returns the first group of a period in which a rollup differs from the hourly rows;
// nil when there is none.
func findUnequal(ctx context.Context, q *db.Queries, id account.ID, start time.Time) (*RollupMismatch, error) {
	for _, look := range []func() (*RollupMismatch, error){
		func() (*RollupMismatch, error) {
			row, err := q.GetUnequalDay(ctx, db.GetUnequalDayParams{Account: id.UUID, Period: start})
			return rollupMismatch("usage_days", row), err
		},
		func() (*RollupMismatch, error) {
			row, err := q.GetUnequalAccountHour(ctx, db.GetUnequalAccountHourParams{Account: id.UUID, Period: start})
			return rollupMismatch("account_hours", ofAccount(row)), err
		},
		func() (*RollupMismatch, error) {
			row, err := q.GetUnequalAccountDay(ctx, db.GetUnequalAccountDayParams{Account: id.UUID, Period: start})
			return rollupMismatch("account_days", ofAccount(db.GetUnequalAccountHourRow(row))), err
		},
	} {
		found, err := look()
		if !errors.Is(err, pgx.ErrNoRows) {
			return found, err
		}
	}
	return nil, nil //nolint:nilnil // all are equal
}

// ofAccount converts a row of a whole account, which has no key and no agent.
func ofAccount(row db.GetUnequalAccountHourRow) db.GetUnequalDayRow {
	return db.GetUnequalDayRow{
		Start: row.Start, KeyID: uuid.Nil, Chain: row.Chain, Service: row.Service, Method: row.Method, Class: row.Class,
		Outcome: row.Outcome, Source: row.Source, Tier: row.Tier, SumRequests: row.SumRequests, SumUnits: row.SumUnits,
		HourRequests: row.HourRequests, HourUnits: row.HourUnits,
	}
}

func rollupMismatch(table string, row db.GetUnequalDayRow) *RollupMismatch {
	return &RollupMismatch{
		Table: table, Start: row.Start.UTC(),
		Line: account.UsageLine{
			Key: account.KeyID{UUID: row.KeyID}, Agent: row.Agent, Chain: row.Chain, Service: row.Service,
			Method: row.Method, Class: row.Class, Outcome: row.Outcome, Source: row.Source, Tier: row.Tier,
		},
		Sum:   Figures{row.SumRequests, plan.Units(row.SumUnits)},
		Hours: Figures{row.HourRequests, plan.Units(row.HourUnits)},
	}
}
