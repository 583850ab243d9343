package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// lookAgain is the interval between reads while a refund is without its charge.
const lookAgain = 500 * time.Millisecond

// provePeriod returns the first difference in the books of a period, or nil. packs are the
// account's.
func (a *auditor) provePeriod(ctx context.Context, of usagedb.UsagePeriod,
	packs map[account.PackID]bool,
) (*Difference, error) {
	again := time.NewTimer(0)
	defer again.Stop()
	<-again.C
	for {
		e, err := a.record.UsageEvidence(ctx, of)
		if err != nil {
			return nil, err
		}
		d := prove(&e, packs)
		if d == nil || d.Identity != Refunds {
			return d, nil
		}
		// The charge may not be flushed yet: buckets are flushed in the order of their slots, which
		// differs from the order of charge and refund after a step of the clock.
		patient := a.patience(ctx)
		again.Reset(lookAgain)
		select {
		case <-patient.Done():
			return d, ctx.Err()
		case <-again.C:
		}
	}
}

// patience returns the context that bounds all waits of the audit. Its time starts with the first
// call.
func (a *auditor) patience(ctx context.Context) context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.patient == nil {
		a.patient, a.impatient = context.WithTimeout(ctx, a.o.Patience)
	}
	return a.patient
}

// prove checks the books of a period for consistency and against each other.
func prove(e *usagedb.UsageEvidence, packs map[account.PackID]bool) *Difference {
	for _, identity := range []func() *Difference{
		func() *Difference { return impossible(e.Impossible) },
		func() *Difference { return overRefunded(e.Excess) },
		func() *Difference { return requests("usage_periods", &e.Totals) },
		func() *Difference { return requests("usage_hours", &e.Hours) },
		func() *Difference { return sources(e) },
		func() *Difference { return foreignPack(e, packs) },
		func() *Difference { return doubleEntry(&e.Totals, &e.Hours) },
		func() *Difference { return stated(e) },
		func() *Difference { return rollupMismatch(e.Unequal) },
	} {
		if d := identity(); d != nil {
			return d
		}
	}
	return nil
}

func impossible(line *usagedb.UsageHour) *Difference {
	if line == nil {
		return nil
	}
	what := fmt.Sprintf("line %q of %s, hour %s", line.Outcome, words(&line.UsageLine),
		line.Hour.Format("2006-01-02T15Z"))
	bound := "at least"
	if line.Outcome == "refund" {
		bound = "at most"
	}
	if line.Requests != 0 && (line.Requests > 0) == (line.Outcome == "refund") {
		return &Difference{
			Identity: Lines, What: what, Left: Side{"requests are", Count(line.Requests)},
			Right: Side{"can be " + bound, Count(0)},
		}
	}
	if line.Outcome != "refund" && line.Outcome != "ok" {
		bound = "only"
	}
	return &Difference{
		Identity: Lines, What: what, Left: Side{
			"units are", Amount(line.Units),
		}, Right: Side{"can be " + bound, Amount(0)},
	}
}

func overRefunded(o *usagedb.OverRefund) *Difference {
	if o == nil {
		return nil
	}
	what := words(&o.Line) + ", drawn from " + o.Line.Source
	if o.Refunded.Units > o.Charged.Units {
		return &Difference{
			Identity: Refunds, What: what, Left: Side{"units given back", Amount(o.Refunded.Units)},
			Right: Side{"charged", Amount(o.Charged.Units)},
		}
	}
	return &Difference{
		Identity: Refunds, What: what, Left: Side{"calls given back", Count(o.Refunded.Requests)},
		Right: Side{"charged", Count(o.Charged.Requests)},
	}
}

// words describes the calls of a line.
func words(l *account.UsageLine) string {
	return fmt.Sprintf("key %s, %s %s on %s", l.Key, l.Service, l.Method, l.Chain)
}

func requests(book string, t *usagedb.PeriodTotals) *Difference {
	return differ(Requests, book, Side{"requests", Count(t.Requests)}, Side{
		"billable + cache hits + refusals", Count(t.Billable + t.Hits + t.Refused),
	})
}

// sources compares units with the sources that they were drawn from, in each book.
func sources(e *usagedb.UsageEvidence) *Difference {
	if d := differ(Sources, "usage_periods", Side{"units", Amount(e.Totals.Units)},
		Side{"from the plan and packs", Amount(e.Totals.PlanUnits + e.Totals.PackUnits)}); d != nil {
		return d
	}
	var drawn plan.Units
	for source, f := range e.BySource {
		if _, pack := account.PackOf(source); pack || source == account.SourcePlan {
			drawn += f.Units
		}
	}
	return differ(Sources, "usage_hours", Side{"units by key, chain and class", Amount(e.WordUnits)},
		Side{"units by source", Amount(drawn)})
}

// foreignPack finds units drawn from a pack that was not granted to the account.
func foreignPack(e *usagedb.UsageEvidence, packs map[account.PackID]bool) *Difference {
	for _, source := range slices.Sorted(maps.Keys(e.BySource)) {
		if id, pack := account.PackOf(source); pack && !packs[id] {
			return &Difference{
				Identity: Packs, What: source + ", which the account was not granted",
				Left: Side{"used", Amount(e.BySource[source].Units)}, Right: Side{"granted", Amount(0)},
			}
		}
	}
	return nil
}

// doubleEntry compares the two books figure by figure.
func doubleEntry(totals, hours *usagedb.PeriodTotals) *Difference {
	for _, f := range figures(totals, hours) {
		if d := differ(DoubleEntry, f.name, Side{"usage_periods", f.left}, Side{"usage_hours", f.right}); d != nil {
			return d
		}
	}
	return nil
}

// rollupMismatch reports a rollup that differs from the sum of its hours.
func rollupMismatch(u *usagedb.RollupMismatch) *Difference {
	if u == nil {
		return nil
	}
	l := &u.Line
	what := fmt.Sprintf("%s of %s, line %q of %s %s on %s, drawn from %q", u.Table, u.Start.Format("2006-01-02T15Z"),
		l.Outcome, l.Service, l.Method, l.Chain, l.Source)
	if !l.Key.IsZero() {
		what += ", key " + l.Key.String()
	}
	if d := differ(Sums, what, Side{"requests", Count(u.Sum.Requests)}, Side{
		"by the hours", Count(u.Hours.Requests),
	}); d != nil {
		return d
	}
	return differ(Sums, what, Side{"units", Amount(u.Sum.Units)}, Side{"by the hours", Amount(u.Hours.Units)})
}

// stated compares a closed period's statement and its later adjustments with the usage, and the
// statement's sums with its content. Usage that the next statement adjusts is no difference.
func stated(e *usagedb.UsageEvidence) *Difference {
	s := e.Stated
	if s == nil {
		return nil
	}
	if d := differ(Statements, "units of the statement", Side{"recorded", Amount(s.Frozen.Units)},
		Side{"in its content", Amount(s.Content.Units)}); d != nil {
		return d
	}
	if d := differ(Statements, "requests of the statement", Side{"recorded", Count(s.Frozen.Requests)},
		Side{"in its content", Count(s.Content.Requests)}); d != nil || s.Pending {
		return d
	}
	for _, f := range figures(&s.Told, &e.Totals) {
		if d := differ(Statements, f.name, Side{"frozen and adjusted", f.left}, Side{"used", f.right}); d != nil {
			return d
		}
	}
	return nil
}

// pair is one figure of two books.
type pair struct {
	name        string
	left, right Figure
}

func figures(left, right *usagedb.PeriodTotals) []pair {
	return []pair{
		{"requests", Count(left.Requests), Count(right.Requests)},
		{"billable", Count(left.Billable), Count(right.Billable)},
		{"cache hits", Count(left.Hits), Count(right.Hits)},
		{"refusals", Count(left.Refused), Count(right.Refused)},
		{"refunded", Count(left.Refunded), Count(right.Refunded)},
		{"units", Amount(left.Units), Amount(right.Units)},
		{"units from the plan", Amount(left.PlanUnits), Amount(right.PlanUnits)},
		{"units from packs", Amount(left.PackUnits), Amount(right.PackUnits)},
	}
}

// proveCounters compares packs and counters with the sum of usage, flushed or not. It reports the
// first difference in the account's current period, unless that has one already. It does nothing
// when another period is audited.
func (a *auditor) proveCounters(ctx context.Context, held *accountdb.Account, differing map[string]bool,
	seen *Summary,
) error {
	keys, err := a.record.ListKeys(ctx, held.ID)
	if err != nil {
		return err
	}
	standings, err := a.limits.CounterStates(ctx, held, keys, false)
	if err != nil {
		return err
	}
	present := standings.Period.Key()
	if a.o.Period != "" && a.o.Period != present {
		return nil
	}
	var first *Difference
	for i := range standings.Counters {
		c := &standings.Counters[i]
		if c.Kept {
			seen.Counters++
		}
		var d *Difference
		_, pack := account.PackOf(c.Source)
		switch {
		case pack && c.ShouldBe > c.Limit:
			d = &Difference{
				Identity: Packs, What: c.Source, Left: Side{"used", Amount(c.ShouldBe)},
				Right: Side{"granted", Amount(c.Limit)},
			}
		case c.Differs():
			d = &Difference{
				Identity: Counters, What: Name(&c.Counter), Left: Side{"the meter has", Amount(c.Is)},
				Right: Side{"usage lines add up to", Amount(c.ShouldBe)},
			}
		}
		if first == nil {
			first = d
		}
	}
	if first != nil && !differing[present] {
		first.Account, first.Period = held.ID, present
		seen.Differences++
		a.found(*first)
	}
	return nil
}

// Name describes what a counter counts.
func Name(c *account.Counter) string {
	name := "units of the account"
	if !c.Key.IsZero() {
		name = "units of key " + c.Key.String()
	}
	switch {
	case !c.Day.IsZero():
		return name + ", day " + c.Day.UTC().Format(time.DateOnly)
	case c.Source == account.SourcePlan:
		return "units drawn from the plan"
	case c.Source != "":
		return "units drawn from " + c.Source
	case c.Service != "":
		return name + ", service " + c.Service
	}
	return name
}
