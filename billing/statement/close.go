package statement

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Report counts what Close did.
type Report struct {
	Closed   int `json:"closed"`
	Adjusted int `json:"adjusted"` // earlier periods with usage that was recorded late
	Waiting  int `json:"waiting"`  // ended periods whose usage is not all recorded yet
}

func (r *Report) plus(o Report) {
	r.Closed += o.Closed
	r.Adjusted += o.Adjusted
	r.Waiting += o.Waiting
}

// Choice selects the periods to close. The zero Choice selects every period that is over and
// recorded, except empty ones of some accounts (statedWhenEmpty).
type Choice struct {
	period string
	ended  Ended
}

// Ended is how a period that was cut short ended, if known: its end, and the plan at its end. It is
// ignored when the record has another end, or no cut, because operators may have set a plan since.
type Ended struct {
	At   time.Time
	Plan string
}

// Only selects one period by its name, even when it is empty.
func Only(period string) Choice { return Choice{period: period} }

// due is a period to close.
type due struct {
	account *accountdb.Account
	period  Period
	plan    string
	ref     usagedb.UsagePeriod

	invoices    []billingdb.StatementInvoice
	adjustments []Adjustment
}

// Close closes periods of accounts in one transaction: all of the selected ones, or none. It reads
// and writes in sets, so that hundreds of accounts cost little more than one. It is idempotent.
func (b *Compiler) Close(ctx context.Context, accounts []accountdb.Account, which Choice) (Report, error) {
	candidates, waiting, err := b.look(ctx, accounts, which)
	report := Report{Waiting: waiting}
	if err != nil || len(candidates) == 0 {
		return report, err
	}
	busy := make([]accountdb.Account, 0, len(candidates)) // without candidates nothing is locked
	for i := range candidates {
		if n := len(busy); n == 0 || busy[n-1].ID != candidates[i].account.ID {
			busy = append(busy, *candidates[i].account)
		}
	}
	err = b.Store.WriteStatements(ctx, idsOf(busy), func(w *billingdb.StatementTx) error {
		dues, _, err := b.choose(ctx, w, busy, which)
		if err != nil || len(dues) == 0 {
			return err
		}
		c := &closing{w: w, at: b.Now(), dues: dues}
		err = c.run(ctx, busy)
		report.Closed, report.Adjusted = c.report.Closed, c.report.Adjusted
		faultpoint.Hit(faultpoint.StatementFrozen)
		return err
	})
	if err != nil {
		return Report{}, err
	}
	faultpoint.Hit(faultpoint.StatementClosed)
	return report, nil
}

// look runs choose without locks.
func (b *Compiler) look(ctx context.Context, accounts []accountdb.Account,
	which Choice,
) (dues []due, waiting int, err error) {
	err = b.Store.ReadStatements(ctx, func(r *billingdb.StatementTx) error {
		dues, waiting, err = b.choose(ctx, r, accounts, which)
		return err
	})
	return dues, waiting, err
}

// choose returns what is to be closed, by account and date, and counts ended periods that must
// wait.
func (b *Compiler) choose(ctx context.Context, r *billingdb.StatementTx, accounts []accountdb.Account,
	which Choice,
) (dues []due, waiting int, err error) {
	marks, err := r.Watermarks(ctx)
	if err != nil {
		return nil, 0, err
	}
	now := b.Now()
	all, err := histories(ctx, r, accounts, now.Add(-maxPeriods*longest))
	if err != nil {
		return nil, 0, err
	}
	for _, h := range all {
		used := h.usedNames()
		mark := marks[account.Shard(h.account.ID)]
		periods := h.periods(later(now, mark))
		for _, p := range slices.Backward(periods) { // oldest first
			wanted := which.period == p.Name || which.period == "" && (used[p.Name] || statedWhenEmpty(h.account))
			switch {
			case !wanted || p.Closed:
			case recorded(&p, mark):
				// for a period that was not cut, the record is newer than the caller's knowledge
				if p.Plan != "" && which.ended.At.Equal(p.End) {
					p.Plan = which.ended.Plan
				}
				dues = append(dues, due{
					account: h.account, period: p, ref: usagedb.UsagePeriod{Account: h.account.ID, Period: p.Name},
				})
			case !now.Before(p.End):
				waiting++
			}
		}
	}
	return dues, waiting, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func idsOf(accounts []accountdb.Account) []account.ID {
	ids := make([]account.ID, len(accounts))
	for i := range accounts {
		ids[i] = accounts[i].ID
	}
	return ids
}

// closing is a transaction that closes periods.
type closing struct {
	w      *billingdb.StatementTx
	at     time.Time
	dues   []due
	report Report
}

// run compiles and writes what is due, with late usage of the accounts' earlier periods.
func (c *closing) run(ctx context.Context, accounts []accountdb.Account) error {
	late, err := c.w.Late(ctx, idsOf(accounts))
	if err != nil {
		return err
	}
	refs := make([]usagedb.UsagePeriod, len(c.dues))
	for i := range c.dues {
		refs[i] = c.dues[i].ref
	}
	lines, err := c.w.Lines(ctx, slices.Concat(refs, late), limitNames())
	if err != nil {
		return err
	}
	keys, err := c.w.Keys(ctx, keysOf(lines))
	if err != nil {
		return err
	}
	usage := map[usagedb.UsagePeriod]tally{}
	for i := range lines {
		of, ok := usage[lines[i].UsagePeriod]
		if !ok {
			of = newTally()
			usage[lines[i].UsagePeriod] = of
		}
		of.add(&lines[i])
	}
	if err := c.adjust(ctx, late, usage, keys); err != nil {
		return err
	}
	if err := c.invoice(ctx); err != nil {
		return err
	}
	if err := c.plans(ctx); err != nil {
		return err
	}
	return c.write(ctx, usage, keys)
}

// plans sets the plan with which each period ended.
func (c *closing) plans(ctx context.Context) error {
	var asked []billingdb.Moment
	for i := range c.dues {
		asked = append(asked, c.dues[i].end())
	}
	held, err := c.w.PlansAt(ctx, asked)
	if err != nil {
		return err
	}
	for i := range c.dues {
		d := &c.dues[i]
		switch then, changed := held[d.end()]; {
		case d.period.Plan != "":
			d.plan = d.period.Plan
		case changed:
			d.plan = then
		default:
			d.plan = planBefore(d.account, d.period.End)
		}
	}
	return nil
}

// planBefore returns the plan of an account just before an instant, by its present state: the next
// plan may have taken over already.
func planBefore(a *accountdb.Account, at time.Time) string {
	if a.NextPlan != "" && a.NextPlanFrom.Before(at) {
		return a.NextPlan
	}
	return a.Plan
}

func (d *due) end() billingdb.Moment {
	return billingdb.Moment{Account: d.account.ID, At: d.period.End.UTC()}
}

// invoice adds the invoices that were created before the end of a due period and are on no
// statement: those of the period, and earlier ones that became known after theirs was closed.
func (c *closing) invoice(ctx context.Context) error {
	newest := map[account.ID]billingdb.Moment{}
	for i := range c.dues {
		if m := c.dues[i].end(); m.At.After(newest[m.Account].At) {
			newest[m.Account] = m
		}
	}
	var asked []billingdb.Moment
	for _, m := range newest {
		asked = append(asked, m)
	}
	invoices, err := c.w.Invoices(ctx, asked)
	if err != nil {
		return err
	}
	for i := range invoices {
		for j := range c.dues { // oldest first
			if d := &c.dues[j]; d.account.ID == invoices[i].Account && invoices[i].CreatedAt.Before(d.period.End) {
				d.invoices = append(d.invoices, invoices[i])
				break
			}
		}
	}
	return nil
}

// write freezes the due statements.
func (c *closing) write(ctx context.Context, usage map[usagedb.UsagePeriod]tally,
	keys map[account.KeyID]billingdb.StatementKey,
) error {
	marks, err := c.w.Watermarks(ctx)
	if err != nil {
		return err
	}
	statements := make([]billingdb.Statement, len(c.dues))
	var told []billingdb.ToldInvoice
	var adjustments []billingdb.StatementAdjustment
	for i := range c.dues {
		d := &c.dues[i]
		of, ok := usage[d.ref]
		if !ok {
			of = newTally()
		}
		s := compile(&facts{
			account: d.account.ID, period: d.period, status: Closed, plan: d.plan, usage: of, keys: keys,
			invoices: d.invoices, adjustments: d.adjustments, asOf: marks[account.Shard(d.account.ID)], at: c.at,
		})
		content, err := freeze(&s)
		if err != nil {
			return err
		}
		statements[i] = billingdb.Statement{
			UsagePeriod: d.ref, Start: d.period.Start, End: d.period.End, Totals: s.Totals.record(), Content: content,
			Hash: sha256.Sum256(content),
		}
		for j := range d.invoices {
			told = append(told, billingdb.ToldInvoice{By: d.ref, Invoice: d.invoices[j].ID})
		}
		kept, err := d.kept()
		if err != nil {
			return err
		}
		adjustments = append(adjustments, kept...)
	}
	if err := c.w.Freeze(ctx, statements); err != nil {
		return err
	}
	if err := c.w.Tell(ctx, told); err != nil {
		return err
	}
	c.report.Closed, c.report.Adjusted = len(statements), len(adjustments)
	return c.w.Adjust(ctx, adjustments)
}

// kept returns the adjustments of a statement as they are stored.
func (d *due) kept() ([]billingdb.StatementAdjustment, error) {
	kept := make([]billingdb.StatementAdjustment, len(d.adjustments))
	for i := range d.adjustments {
		a := &d.adjustments[i]
		content, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("keep an adjustment of account %s, period %s: %w", d.account.ID, a.Period, err)
		}
		kept[i] = billingdb.StatementAdjustment{
			UsagePeriod: usagedb.UsagePeriod{Account: d.account.ID, Period: a.Period}, StatedIn: d.ref.Period,
			Totals: a.Totals.record(), Content: content,
		}
	}
	return kept, nil
}

// record converts totals for package store.
func (t Totals) record() usagedb.PeriodTotals { //nolint:gocritic // small enough
	return usagedb.PeriodTotals{
		Requests: t.Requests, Billable: t.Billable, Hits: t.CacheHits, Refused: t.Refusals, Refunded: t.Refunded,
		Units: t.Units, PlanUnits: t.PlanUnits, PackUnits: t.PackUnits,
	}
}
