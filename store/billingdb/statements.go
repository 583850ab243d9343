package billingdb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Statement is the statement of a closed period. Content is the frozen document and Hash its
// SHA-256.
type Statement struct {
	usagedb.UsagePeriod
	Start, End time.Time
	Totals     usagedb.PeriodTotals // set only for writing
	Content    []byte
	Hash       [32]byte
}

// StatementHead is the statement of a closed period without its content.
type StatementHead struct {
	usagedb.UsagePeriod
	Start, End time.Time
	Requests   int64
	Units      plan.Units
}

// EndedSpan is a metering period that a change of the cycle cut short, with the plan at its end.
// Cut is when the change was made; until it is in force, usage still counts toward the period.
type EndedSpan struct {
	usagedb.UsagePeriod
	Start, End time.Time
	Plan       string
	Cut        time.Time
}

// StatementLine is a period's usage by key, agent, chain and class. Calls refused at a limit have
// lines of their own, with the reason in Limit.
type StatementLine struct {
	usagedb.UsagePeriod
	Key                 account.KeyID
	Agent, Chain, Class string
	Limit               string
	Totals              usagedb.PeriodTotals
}

// StatementKey is what a statement shows of a key: its current account and its agent's name.
type StatementKey struct {
	Account      account.ID
	Prefix, Name string
	Door         account.Door
	AgentName    string
}

// StatementInvoice is what a statement shows of an invoice. PaidAt is zero while it is unpaid.
type StatementInvoice struct {
	Account                                   account.ID
	ID, Number, Status, Reason, Currency      string
	Net, VAT, Total, Paid                     plan.Cents
	CreatedAt, PaidAt, PeriodStart, PeriodEnd time.Time
}

// StatementAdjustment is usage of a closed period that was recorded later. StatedIn names the
// statement that includes it, and Content is the included text.
type StatementAdjustment struct {
	usagedb.UsagePeriod
	StatedIn string
	Totals   usagedb.PeriodTotals // set only for writing
	Content  []byte
}

// Moment is a point in time of an account.
type Moment struct {
	Account account.ID
	At      time.Time
}

// FindStatement reads the statement of a period. It returns ErrNotFound when there is none.
func (s *Store) FindStatement(ctx context.Context, of usagedb.UsagePeriod) (Statement, error) {
	start, err := time.Parse(pg.PeriodLayout, of.Period)
	if err != nil {
		return Statement{}, fmt.Errorf("find the statement of account %s: period must be a date like 2026-11-01: %w",
			of.Account, err)
	}
	row, err := s.pool.Queries().GetStatement(ctx, db.GetStatementParams{Account: of.Account.UUID, Period: start})
	if err != nil {
		return Statement{}, fmt.Errorf("find the statement of account %s, period %s: %w", of.Account, of.Period,
			pg.NotFound(err))
	}
	return Statement{
		UsagePeriod: of, Start: row.StartsAt.UTC(), End: row.EndsAt.UTC(), Content: row.Content,
		Hash: [32]byte(row.ContentHash),
	}, nil
}

// StatementTx reads what statements are made of, and writes statements, within one transaction.
type StatementTx struct{ q *db.Queries }

// ReadStatements runs read in one read-only snapshot.
func (s *Store) ReadStatements(ctx context.Context, read func(*StatementTx) error) error {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	if err := s.pool.Tx(ctx, snapshot, func(_ pgx.Tx,
		q *db.Queries,
	) error {
		return read(&StatementTx{q})
	}); err != nil {
		return fmt.Errorf("read statements: %w", err)
	}
	return nil
}

// WriteStatements runs write in one transaction, under locks that keep others from closing periods
// of these accounts. Everything is committed when write returns nil, and nothing otherwise.
func (s *Store) WriteStatements(ctx context.Context, accounts []account.ID, write func(*StatementTx) error) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		// At read committed, each query sees what was committed before it, so nothing read after
		// the wait for a lock is stale.
		if err := q.LockStatements(ctx, uuidsOf(accounts)); err != nil {
			return err
		}
		return write(&StatementTx{q})
	})
	if err != nil {
		return fmt.Errorf("write statements of %d accounts: %w", len(accounts), err)
	}
	return nil
}

// Watermarks returns, by shard, the time before which all usage is in PostgreSQL.
func (b *StatementTx) Watermarks(ctx context.Context) (map[int]time.Time, error) {
	rows, err := b.q.ListWatermarks(ctx)
	marks := make(map[int]time.Time, len(rows))
	for _, row := range rows {
		marks[int(row.Shard)] = row.Watermark.UTC()
	}
	return marks, err
}

// Heads lists the accounts' closed periods that ended after since, ordered by account and date.
func (b *StatementTx) Heads(ctx context.Context, accounts []account.ID, since time.Time) ([]StatementHead, error) {
	rows, err := b.q.ListStatementHeads(ctx, db.ListStatementHeadsParams{Accounts: uuidsOf(accounts), Since: since})
	heads := make([]StatementHead, len(rows))
	for i, r := range rows {
		heads[i] = StatementHead{
			periodOf(r.AccountID, r.Period), r.StartsAt.UTC(), r.EndsAt.UTC(), r.Requests, plan.Units(r.Units),
		}
	}
	return heads, err
}

// Unstated lists the accounts' periods that have usage but no statement.
func (b *StatementTx) Unstated(ctx context.Context, accounts []account.ID) ([]usagedb.UsagePeriod, error) {
	rows, err := b.q.ListUnstatedUsage(ctx, uuidsOf(accounts))
	periods := make([]usagedb.UsagePeriod, len(rows))
	for i, r := range rows {
		periods[i] = periodOf(r.AccountID, r.Period)
	}
	return periods, err
}

// Late lists the accounts' closed periods with usage that no statement includes.
func (b *StatementTx) Late(ctx context.Context, accounts []account.ID) ([]usagedb.UsagePeriod, error) {
	rows, err := b.q.ListLateUsage(ctx, uuidsOf(accounts))
	periods := make([]usagedb.UsagePeriod, len(rows))
	for i, r := range rows {
		periods[i] = periodOf(r.AccountID, r.Period)
	}
	return periods, err
}

// Ended lists the accounts' periods that were cut short.
func (b *StatementTx) Ended(ctx context.Context, accounts []account.ID) ([]EndedSpan, error) {
	rows, err := b.q.ListEndedPeriodsOf(ctx, uuidsOf(accounts))
	spans := make([]EndedSpan, len(rows))
	for i, r := range rows {
		spans[i] = EndedSpan{periodOf(r.AccountID, r.Period), r.StartsAt.UTC(), r.EndsAt.UTC(), r.Plan, r.CutAt.UTC()}
	}
	return spans, err
}

// PlansAt returns the plans that accounts had at the given times. Accounts whose plan has not
// changed since are omitted.
func (b *StatementTx) PlansAt(ctx context.Context, of []Moment) (map[Moment]string, error) {
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

// Lines sums the usage of periods from the hourly rows, for statements to be frozen. Refusals named
// in limits get lines of their own.
func (b *StatementTx) Lines(ctx context.Context, of []usagedb.UsagePeriod, limits []string) ([]StatementLine, error) {
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

// LiveLines sums the usage of one period from the daily rows, for display only.
func (b *StatementTx) LiveLines(ctx context.Context, of usagedb.UsagePeriod,
	limits []string,
) ([]StatementLine, error) {
	accounts, periods, err := columnsOf([]usagedb.UsagePeriod{of})
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
		Totals: usagedb.PeriodTotals{
			Requests: r.Requests, Billable: r.Billable, Hits: r.Hits, Refused: r.Refused, Refunded: r.Refunded,
			Units: plan.Units(r.Units), PlanUnits: plan.Units(r.PlanUnits), PackUnits: plan.Units(r.PackUnits),
		},
	}
}

// Keys returns what statements show of these keys. Unknown keys are omitted.
func (b *StatementTx) Keys(ctx context.Context, ids []account.KeyID) (map[account.KeyID]StatementKey, error) {
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

// Invoices lists the accounts' invoices that were created before the given time and that no
// statement includes, oldest first.
func (b *StatementTx) Invoices(ctx context.Context, before []Moment) ([]StatementInvoice, error) {
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

// Frozen reads the statements of these periods. Open periods are omitted.
func (b *StatementTx) Frozen(ctx context.Context,
	of []usagedb.UsagePeriod,
) (map[usagedb.UsagePeriod]Statement, error) {
	accounts, periods, err := columnsOf(of)
	if err != nil {
		return nil, err
	}
	rows, err := b.q.ListStatementContents(ctx, db.ListStatementContentsParams{Accounts: accounts, Periods: periods})
	statements := make(map[usagedb.UsagePeriod]Statement, len(rows))
	for _, r := range rows {
		of := periodOf(r.AccountID, r.Period)
		statements[of] = Statement{UsagePeriod: of, Content: r.Content, Hash: [32]byte(r.ContentHash)}
	}
	return statements, err
}

// Adjusted reads the adjustments of these periods, oldest first.
func (b *StatementTx) Adjusted(ctx context.Context, of []usagedb.UsagePeriod) ([]StatementAdjustment, error) {
	accounts, periods, err := columnsOf(of)
	if err != nil {
		return nil, err
	}
	rows, err := b.q.ListAdjustmentsOf(ctx, db.ListAdjustmentsOfParams{Accounts: accounts, Periods: periods})
	all := make([]StatementAdjustment, len(rows))
	for i, r := range rows {
		all[i] = StatementAdjustment{
			UsagePeriod: periodOf(r.AccountID, r.Period), StatedIn: r.StatedIn.Format(pg.PeriodLayout),
			Content: r.Content,
		}
	}
	return all, err
}
