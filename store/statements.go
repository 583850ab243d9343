package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
)

// Statement is a period as it was closed. Content is what was frozen, Hash its SHA-256.
type Statement struct {
	UsagePeriod
	Start, End time.Time
	Totals     PeriodTotals // only when it is written
	Content    []byte
	Hash       [32]byte
}

// StatementHead is a closed period without its content.
type StatementHead struct {
	UsagePeriod
	Start, End time.Time
	Requests   int64
	Units      plan.Units
}

// EndedSpan is a metering period that a change of the cycle cut short, with the plan that it ended
// with. Cut is when the change was made: until it is in force, usage is counted into the period.
type EndedSpan struct {
	UsagePeriod
	Start, End time.Time
	Plan       string
	Cut        time.Time
}

// StatementLine is usage of a period that shares key, agent, chain and class. What was refused at a
// limit is apart, Limit being its reason.
type StatementLine struct {
	UsagePeriod
	Key                 account.KeyID
	Agent, Chain, Class string
	Limit               string
	Totals              PeriodTotals
}

// StatementKey is what a statement tells of a key: the account that it belongs to now, and its
// agent's name.
type StatementKey struct {
	Account      account.ID
	Prefix, Name string
	Door         account.Door
	AgentName    string
}

// StatementInvoice is what a statement tells of an invoice. PaidAt is zero while it is not paid.
type StatementInvoice struct {
	Account                                   account.ID
	ID, Number, Status, Reason, Currency      string
	Net, VAT, Total, Paid                     plan.Cents
	CreatedAt, PaidAt, PeriodStart, PeriodEnd time.Time
}

// StatementAdjustment is what was recorded of a closed period later, and the name of the statement
// that tells of it. Content is how it does.
type StatementAdjustment struct {
	UsagePeriod
	StatedIn string
	Totals   PeriodTotals // only when it is written
	Content  []byte
}

// Moment is an instant of an account.
type Moment struct {
	Account account.ID
	At      time.Time
}

// FindStatement reads what was frozen of a period, or ErrNotFound.
func (s *Store) FindStatement(ctx context.Context, of UsagePeriod) (Statement, error) {
	start, err := time.Parse(periodLayout, of.Period)
	if err != nil {
		return Statement{}, fmt.Errorf("find the statement of account %s: period must be a date like 2026-11-01: %w",
			of.Account, err)
	}
	row, err := s.queries().GetStatement(ctx, db.GetStatementParams{Account: of.Account.UUID, Period: start})
	if err != nil {
		return Statement{}, fmt.Errorf("find the statement of account %s, period %s: %w", of.Account, of.Period,
			found(err))
	}
	return Statement{
		UsagePeriod: of, Start: row.StartsAt.UTC(), End: row.EndsAt.UTC(), Content: row.Content,
		Hash: [32]byte(row.ContentHash),
	}, nil
}

// StatementBook is what statements are made of and where they are kept, within one transaction.
type StatementBook struct{ q *db.Queries }

// ReadStatements lends the book for reading, in one snapshot.
func (s *Store) ReadStatements(ctx context.Context, read func(*StatementBook) error) error {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	if err := s.tx(ctx, snapshot, func(_ pgx.Tx, q *db.Queries) error { return read(&StatementBook{q}) }); err != nil {
		return fmt.Errorf("read statements: %w", err)
	}
	return nil
}

// WriteStatements lends the book for closing periods of some accounts, which nobody else does
// meanwhile. What write puts in is there once it returned nil, all or nothing.
func (s *Store) WriteStatements(ctx context.Context, accounts []account.ID, write func(*StatementBook) error) error {
	err := s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		// Each query sees what was committed before it, so that after the wait for a lock nothing
		// is read that is old.
		if err := q.LockStatements(ctx, uuidsOf(accounts)); err != nil {
			return err
		}
		return write(&StatementBook{q})
	})
	if err != nil {
		return fmt.Errorf("write statements of %d accounts: %w", len(accounts), err)
	}
	return nil
}

// Watermarks gives, by shard, the instant before which all usage is in PostgreSQL.
func (b *StatementBook) Watermarks(ctx context.Context) (map[int]time.Time, error) {
	rows, err := b.q.ListWatermarks(ctx)
	marks := make(map[int]time.Time, len(rows))
	for _, row := range rows {
		marks[int(row.Shard)] = row.Watermark.UTC()
	}
	return marks, err
}

// Heads lists closed periods of accounts that ended after an instant, by account and date.
func (b *StatementBook) Heads(ctx context.Context, accounts []account.ID, since time.Time) ([]StatementHead, error) {
	rows, err := b.q.ListStatementHeads(ctx, db.ListStatementHeadsParams{Accounts: uuidsOf(accounts), Since: since})
	heads := make([]StatementHead, len(rows))
	for i, r := range rows {
		heads[i] = StatementHead{
			periodOf(r.AccountID, r.Period), r.StartsAt.UTC(), r.EndsAt.UTC(), r.Requests, plan.Units(r.Units),
		}
	}
	return heads, err
}

// Unstated lists periods of accounts that have usage and no statement.
func (b *StatementBook) Unstated(ctx context.Context, accounts []account.ID) ([]UsagePeriod, error) {
	rows, err := b.q.ListUnstatedUsage(ctx, uuidsOf(accounts))
	periods := make([]UsagePeriod, len(rows))
	for i, r := range rows {
		periods[i] = periodOf(r.AccountID, r.Period)
	}
	return periods, err
}

// Late lists closed periods of accounts of which usage is recorded that no statement tells of.
func (b *StatementBook) Late(ctx context.Context, accounts []account.ID) ([]UsagePeriod, error) {
	rows, err := b.q.ListLateUsage(ctx, uuidsOf(accounts))
	periods := make([]UsagePeriod, len(rows))
	for i, r := range rows {
		periods[i] = periodOf(r.AccountID, r.Period)
	}
	return periods, err
}

// Ended lists periods of accounts that were cut short.
func (b *StatementBook) Ended(ctx context.Context, accounts []account.ID) ([]EndedSpan, error) {
	rows, err := b.q.ListEndedPeriodsOf(ctx, uuidsOf(accounts))
	spans := make([]EndedSpan, len(rows))
	for i, r := range rows {
		spans[i] = EndedSpan{periodOf(r.AccountID, r.Period), r.StartsAt.UTC(), r.EndsAt.UTC(), r.Plan, r.CutAt.UTC()}
	}
	return spans, err
}

// PlansAt returns the plans that accounts had at instants, where they have had another one since.
func (b *StatementBook) PlansAt(ctx context.Context, of []Moment) (map[Moment]string, error) {
	var p db.ListPlansAtParams
	for _, m := range of {
		p.Accounts, p.Instants = append(p.Accounts, m.Account.UUID), append(p.Instants, m.At)
	}
	rows, err := b.q.ListPlansAt(ctx, p)
	plans := make(map[Moment]string, len(rows))
	for _, r := range rows {
		plans[Moment{account.ID{UUID: r.AccountID}, r.At.UTC()}] = r.Plan
	}
	return plans, err
}

// Lines adds up the usage of periods from the hours, for what is kept. limits are the refusals that
// are told apart.
func (b *StatementBook) Lines(ctx context.Context, of []UsagePeriod, limits []string) ([]StatementLine, error) {
	accounts, periods, err := columnsOf(of)
	if err != nil {
		return nil, err
	}
	rows, err := b.q.SumStatementLines(ctx, db.SumStatementLinesParams{
		Accounts: accounts, Periods: periods, Limits: limits,
	})
	lines := make([]StatementLine, len(rows))
	for i := range rows {
		lines[i] = lineOf(&rows[i])
	}
	return lines, err
}

// LiveLines adds up the usage of one period from the days, for what is only shown.
func (b *StatementBook) LiveLines(ctx context.Context, of UsagePeriod, limits []string) ([]StatementLine, error) {
	accounts, periods, err := columnsOf([]UsagePeriod{of})
	if err != nil {
		return nil, err
	}
	rows, err := b.q.SumLiveLines(ctx, db.SumLiveLinesParams{Accounts: accounts, Periods: periods, Limits: limits})
	lines := make([]StatementLine, len(rows))
	for i := range rows {
		row := db.SumStatementLinesRow(rows[i])
		lines[i] = lineOf(&row)
	}
	return lines, err
}

func lineOf(r *db.SumStatementLinesRow) StatementLine {
	return StatementLine{
		UsagePeriod: periodOf(r.AccountID, r.Period), Key: account.KeyID{UUID: r.KeyID}, Agent: r.Agent, Chain: r.Chain,
		Class: r.Class, Limit: r.Limited,
		Totals: PeriodTotals{
			Requests: r.Requests, Billable: r.Billable, Hits: r.Hits, Refused: r.Refused, Refunded: r.Refunded,
			Units: plan.Units(r.Units), PlanUnits: plan.Units(r.PlanUnits), PackUnits: plan.Units(r.PackUnits),
		},
	}
}

// Keys tells of keys, as far as they are recorded.
func (b *StatementBook) Keys(ctx context.Context, ids []account.KeyID) (map[account.KeyID]StatementKey, error) {
	list := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		list[i] = id.UUID
	}
	rows, err := b.q.ListStatementKeys(ctx, list)
	keys := make(map[account.KeyID]StatementKey, len(rows))
	for _, r := range rows {
		keys[account.KeyID{UUID: r.ID}] = StatementKey{
			account.ID{UUID: r.AccountID}, r.Prefix, r.Name, account.Door(r.Door), r.AgentName,
		}
	}
	return keys, err
}

// Invoices lists invoices of accounts that were created before an instant and that no statement
// tells of, oldest first.
func (b *StatementBook) Invoices(ctx context.Context, before []Moment) ([]StatementInvoice, error) {
	var p db.ListUntoldInvoicesParams
	for _, m := range before {
		p.Accounts, p.Before = append(p.Accounts, m.Account.UUID), append(p.Before, m.At)
	}
	rows, err := b.q.ListUntoldInvoices(ctx, p)
	invoices := make([]StatementInvoice, len(rows))
	for i := range rows {
		r := &rows[i]
		invoices[i] = StatementInvoice{
			Account: account.ID{UUID: r.AccountID}, ID: r.ID, Number: r.Number, Status: r.Status, Reason: r.Reason,
			Currency: r.Currency, Net: plan.Cents(r.Net), VAT: plan.Cents(r.Vat), Total: plan.Cents(r.Total),
			Paid: plan.Cents(r.Paid), CreatedAt: r.CreatedAt.UTC(), PeriodStart: r.PeriodStart.UTC(),
			PeriodEnd: r.PeriodEnd.UTC(),
		}
		if r.PaidAt != nil {
			invoices[i].PaidAt = r.PaidAt.UTC()
		}
	}
	return invoices, err
}

// Frozen reads what was frozen of periods, as far as they are closed.
func (b *StatementBook) Frozen(ctx context.Context, of []UsagePeriod) (map[UsagePeriod]Statement, error) {
	accounts, periods, err := columnsOf(of)
	if err != nil {
		return nil, err
	}
	rows, err := b.q.ListStatementContents(ctx, db.ListStatementContentsParams{Accounts: accounts, Periods: periods})
	statements := make(map[UsagePeriod]Statement, len(rows))
	for _, r := range rows {
		of := periodOf(r.AccountID, r.Period)
		statements[of] = Statement{UsagePeriod: of, Content: r.Content, Hash: [32]byte(r.ContentHash)}
	}
	return statements, err
}

// Adjusted reads the adjustments of periods, oldest first.
func (b *StatementBook) Adjusted(ctx context.Context, of []UsagePeriod) ([]StatementAdjustment, error) {
	accounts, periods, err := columnsOf(of)
	if err != nil {
		return nil, err
	}
	rows, err := b.q.ListAdjustmentsOf(ctx, db.ListAdjustmentsOfParams{Accounts: accounts, Periods: periods})
	all := make([]StatementAdjustment, len(rows))
	for i, r := range rows {
		all[i] = StatementAdjustment{
			UsagePeriod: periodOf(r.AccountID, r.Period), StatedIn: r.StatedIn.Format(periodLayout), Content: r.Content,
		}
	}
	return all, err
}
