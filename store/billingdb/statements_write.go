package billingdb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Freeze inserts statements. It fails when a period is already closed or a hash does not match its
// content.
func (b *StatementTx) Freeze(ctx context.Context, statements []Statement) error {
	var p db.InsertStatementsParams
	for i := range statements {
		s := &statements[i]
		period, err := time.Parse(pg.PeriodLayout, s.Period)
		if err != nil {
			return fmt.Errorf("freeze the statement of account %s: period must be a date like 2026-11-01: %w",
				s.Account, err)
		}
		p.Accounts, p.Periods = append(p.Accounts, s.Account.UUID), append(p.Periods, period)
		p.Starts, p.Ends = append(p.Starts, s.Start), append(p.Ends, s.End)
		p.Contents, p.Hashes = append(p.Contents, s.Content), append(p.Hashes, s.Hash[:])
		p.Requests, p.Billable, p.Hits = append(p.Requests, s.Totals.Requests), append(p.Billable, s.Totals.Billable),
			append(p.Hits, s.Totals.Hits)
		p.Refused, p.Refunded = append(p.Refused, s.Totals.Refused), append(p.Refunded, s.Totals.Refunded)
		p.Units, p.PlanUnits = append(p.Units, int64(s.Totals.Units)), append(p.PlanUnits, int64(s.Totals.PlanUnits))
		p.PackUnits = append(p.PackUnits, int64(s.Totals.PackUnits))
	}
	if err := b.q.InsertStatements(ctx, p); err != nil {
		return err
	}
	return b.q.MarkStated(ctx, db.MarkStatedParams{Accounts: p.Accounts, Periods: p.Periods})
}

// Adjust inserts adjustments, which the contents of their statements include too.
func (b *StatementTx) Adjust(ctx context.Context, adjustments []StatementAdjustment) error {
	if len(adjustments) == 0 {
		return nil
	}
	var p db.InsertAdjustmentsParams
	for i := range adjustments {
		a := &adjustments[i]
		period, err := time.Parse(pg.PeriodLayout, a.Period)
		if err != nil {
			return fmt.Errorf("adjust a statement of account %s: period must be a date like 2026-11-01: %w",
				a.Account, err)
		}
		stated, err := time.Parse(pg.PeriodLayout, a.StatedIn)
		if err != nil {
			return fmt.Errorf("adjust a statement of account %s: period must be a date like 2026-11-01: %w",
				a.Account, err)
		}
		p.Accounts, p.Periods, p.StatedIn = append(p.Accounts, a.Account.UUID), append(p.Periods, period),
			append(p.StatedIn, stated)
		p.Contents = append(p.Contents, a.Content)
		p.Requests, p.Billable, p.Hits = append(p.Requests, a.Totals.Requests), append(p.Billable, a.Totals.Billable),
			append(p.Hits, a.Totals.Hits)
		p.Refused, p.Refunded = append(p.Refused, a.Totals.Refused), append(p.Refunded, a.Totals.Refunded)
		p.Units, p.PlanUnits = append(p.Units, int64(a.Totals.Units)), append(p.PlanUnits, int64(a.Totals.PlanUnits))
		p.PackUnits = append(p.PackUnits, int64(a.Totals.PackUnits))
	}
	return b.q.InsertAdjustments(ctx, p)
}

// ToldInvoice is an invoice and the statement that includes it.
type ToldInvoice struct {
	By      usagedb.UsagePeriod
	Invoice string
}

// Tell records which statements include invoices. It fails when an invoice is already included in
// one.
func (b *StatementTx) Tell(ctx context.Context, told []ToldInvoice) error {
	if len(told) == 0 {
		return nil
	}
	var p db.InsertToldInvoicesParams
	for _, t := range told {
		period, err := time.Parse(pg.PeriodLayout, t.By.Period)
		if err != nil {
			return fmt.Errorf("tell of an invoice of account %s: period must be a date like 2026-11-01: %w",
				t.By.Account, err)
		}
		p.Invoices, p.Accounts, p.Periods = append(p.Invoices, t.Invoice), append(p.Accounts, t.By.Account.UUID),
			append(p.Periods, period)
	}
	return b.q.InsertToldInvoices(ctx, p)
}

func uuidsOf(accounts []account.ID) []uuid.UUID {
	ids := make([]uuid.UUID, len(accounts))
	for i, id := range accounts {
		ids[i] = id.UUID
	}
	return ids
}

func periodOf(id uuid.UUID, period time.Time) usagedb.UsagePeriod {
	return usagedb.UsagePeriod{Account: account.ID{UUID: id}, Period: period.Format(pg.PeriodLayout)}
}

// columnsOf splits periods into columns.
func columnsOf(of []usagedb.UsagePeriod) (accounts []uuid.UUID, periods []time.Time, err error) {
	accounts, periods = make([]uuid.UUID, len(of)), make([]time.Time, len(of))
	for i, p := range of {
		accounts[i] = p.Account.UUID
		if periods[i], err = time.Parse(pg.PeriodLayout, p.Period); err != nil {
			return nil, nil, fmt.Errorf("read a period of account %s: it must be a date like 2026-11-01: %w",
				p.Account, err)
		}
	}
	return accounts, periods, nil
}
