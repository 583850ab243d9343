package statement

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// limits are the reasons of refusals by a limit: the rate windows, allowances and caps of the
// service, and the caps that customers set themselves.
var limits = []fault.Reason{fault.RateWindow, fault.KeyBudget, fault.PlanQuota, fault.ServiceCap, fault.DoorKeyDay}

// limitNames returns the names of limits in usage lines.
func limitNames() []string {
	names := make([]string, len(limits))
	for i, r := range limits {
		names[i] = r.String()
	}
	return names
}

// Plus returns the sum of t and o.
func (t Totals) Plus(o Totals) Totals { //nolint:gocritic // small enough
	return Totals{
		t.Requests + o.Requests, t.Billable + o.Billable, t.Units + o.Units, t.PlanUnits + o.PlanUnits,
		t.PackUnits + o.PackUnits, t.CacheHits + o.CacheHits, t.Refusals + o.Refusals, t.Refunded + o.Refunded,
	}
}

// negative returns the totals with the opposite sign.
func (t Totals) negative() Totals { //nolint:gocritic // small enough
	return Totals{
		-t.Requests, -t.Billable, -t.Units, -t.PlanUnits, -t.PackUnits, -t.CacheHits, -t.Refusals, -t.Refunded,
	}
}

func totalsOf(t *usagedb.PeriodTotals) Totals {
	return Totals{t.Requests, t.Billable, t.Units, t.PlanUnits, t.PackUnits, t.Hits, t.Refused, t.Refunded}
}

// words identify a group of usage.
type words struct {
	key, agent, chain, class string
}

// tally sums usage by its words, and refusals by limits by key, agent and reason.
type tally struct {
	figures map[words]Totals
	limited map[words]int64 // class is the reason; chain is empty
}

func newTally() tally { return tally{map[words]Totals{}, map[words]int64{}} }

// add adds a line of usage.
func (t tally) add(l *billingdb.StatementLine) {
	w := words{l.Key.String(), l.Agent, l.Chain, l.Class}
	t.figures[w] = t.figures[w].Plus(totalsOf(&l.Totals))
	if l.Limit != "" {
		t.limited[words{key: w.key, agent: w.agent, class: l.Limit}] += l.Totals.Refused
	}
}

// take subtracts what was stated already.
func (t tally) take(keys []Key) {
	for i := range keys {
		k := &keys[i]
		w := words{key: k.ID}
		if k.Agent != nil {
			w.agent = k.Agent.ID
		}
		for j := range k.Chains {
			for _, class := range k.Chains[j].Classes {
				w.chain, w.class = k.Chains[j].Chain, class.Class
				t.figures[w] = t.figures[w].Plus(class.Totals().negative())
			}
		}
		for _, l := range k.AtTheLimit {
			t.limited[words{key: w.key, agent: w.agent, class: l.Reason}] -= l.Requests
		}
	}
}

// keys groups the usage by key and agent, by chain, and by class, each sorted by name. Groups with
// nothing are left out.
func (t tally) keys(of account.ID, known map[account.KeyID]billingdb.StatementKey) []Key {
	all := []Key{}
	var last words
	for _, w := range t.sorted() {
		if len(all) == 0 || w.key != last.key || w.agent != last.agent {
			all = append(all, newKey(of, w, known))
		}
		key := &all[len(all)-1]
		if n := len(key.Chains); n == 0 || key.Chains[n-1].Chain != w.chain {
			key.Chains = append(key.Chains, Chain{Chain: w.chain})
		}
		on, f := &key.Chains[len(key.Chains)-1], t.figures[w]
		on.Classes = append(on.Classes, Class{
			w.class, f.Requests, f.Billable, f.Units, f.PlanUnits, f.PackUnits, f.CacheHits, f.Refusals, f.Refunded,
		})
		on.Totals, key.Totals = on.Totals.Plus(f), key.Totals.Plus(f)
		last = w
	}
	for i := range all {
		w := words{key: all[i].ID}
		if all[i].Agent != nil {
			w.agent = all[i].Agent.ID
		}
		all[i].AtTheLimit = limitsOf(func(reason string) int64 { w.class = reason; return t.limited[w] })
	}
	return all
}

func (t tally) sorted() []words {
	all := make([]words, 0, len(t.figures))
	for w, f := range t.figures {
		if f != (Totals{}) {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b words) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.agent, b.agent), cmp.Compare(a.chain, b.chain),
			cmp.Compare(a.class, b.class))
	})
	return all
}

// newKey returns a key with its name. A key that moved to another account since stays unnamed.
func newKey(of account.ID, w words, known map[account.KeyID]billingdb.StatementKey) Key {
	k := Key{ID: w.key, Chains: []Chain{}}
	id, _ := uuid.Parse(w.key) // from ID.String
	fact, ok := known[account.KeyID{UUID: id}]
	if ok = ok && fact.Account == of; ok {
		k.Prefix, k.Name, k.Door = fact.Prefix, fact.Name, string(fact.Door)
	}
	if w.agent != "" {
		k.Agent = &Agent{ID: w.agent}
		if ok {
			k.Agent.Name = fact.AgentName
		}
	}
	return k
}

// limitsOf returns the non-zero refusals by limits, sorted by reason.
func limitsOf(count func(reason string) int64) []Limit {
	all := []Limit{}
	for _, r := range limits {
		if n := count(r.String()); n != 0 {
			all = append(all, Limit{Reason: r.String(), Code: r.Entry().Code, Requests: n})
		}
	}
	slices.SortFunc(all, func(a, b Limit) int { return cmp.Compare(a.Reason, b.Reason) })
	return all
}

// sum returns the totals of keys and their refusals by limits.
func sum(keys []Key) (Totals, []Limit) {
	var totals Totals
	refused := map[string]int64{}
	for i := range keys {
		totals = totals.Plus(keys[i].Totals)
		for _, l := range keys[i].AtTheLimit {
			refused[l.Reason] += l.Requests
		}
	}
	return totals, limitsOf(func(reason string) int64 { return refused[reason] })
}

// facts are what a statement is compiled from.
type facts struct {
	account     account.ID
	period      Period
	status      Status
	plan        string
	usage       tally
	keys        map[account.KeyID]billingdb.StatementKey
	invoices    []billingdb.StatementInvoice
	adjustments []Adjustment
	asOf        time.Time // zero when no usage is known to be recorded
	at          time.Time
}

func compile(f *facts) Statement {
	s := Statement{
		Account: f.account.String(), Period: f.period.Name, Scope: OfAccount, Status: f.status,
		StartsAt: f.period.Start, EndsAt: f.period.End, Plan: f.plan, Invoices: make([]Invoice, len(f.invoices)),
		Keys: f.usage.keys(f.account, f.keys), Adjustments: f.adjustments,
		GeneratedAt: f.at.UTC().Truncate(time.Millisecond),
	}
	if s.Adjustments == nil {
		s.Adjustments = []Adjustment{}
	}
	if !f.asOf.IsZero() {
		asOf := f.asOf.UTC()
		s.AsOf = &asOf
	}
	for i := range f.invoices {
		s.Invoices[i] = invoiceOf(&f.invoices[i])
	}
	s.Totals, s.AtTheLimit = sum(s.Keys)
	return s
}

func invoiceOf(i *billingdb.StatementInvoice) Invoice {
	told := Invoice{
		ID: i.ID, Number: i.Number, Status: i.Status, Reason: i.Reason, Currency: i.Currency, NetCents: i.Net,
		VATCents: i.VAT, TotalCents: i.Total, PaidCents: i.Paid, CreatedAt: i.CreatedAt, PeriodStart: i.PeriodStart,
		PeriodEnd: i.PeriodEnd,
	}
	if !i.PaidAt.IsZero() {
		told.PaidAt = &i.PaidAt
	}
	return told
}

// ForAgent returns the part of one agent, without the account's invoices and other keys.
func (s Statement) ForAgent(id account.AgentID) Statement { //nolint:gocritic // a copy is what it makes
	return s.cut(OfAgent, func(k *Key) bool { return k.Agent != nil && k.Agent.ID == id.String() })
}

// ForKey returns the part of one key, as ForAgent does.
func (s Statement) ForKey(id account.KeyID) Statement { //nolint:gocritic // a copy is what it makes
	return s.cut(OfKey, func(k *Key) bool { return k.ID == id.String() })
}

// cut keeps only the usage of the reader's own keys.
func (s Statement) cut(scope Scope, own func(*Key) bool) Statement { //nolint:gocritic // a copy is what it makes
	s.Scope, s.frozen, s.Invoices = scope, nil, []Invoice{}
	s.Keys = only(s.Keys, own)
	s.Totals, s.AtTheLimit = sum(s.Keys)
	adjustments := []Adjustment{}
	for _, a := range s.Adjustments {
		if a.Keys = only(a.Keys, own); len(a.Keys) > 0 {
			a.Totals, _ = sum(a.Keys)
			adjustments = append(adjustments, a)
		}
	}
	s.Adjustments = adjustments
	return s
}

func only(keys []Key, own func(*Key) bool) []Key {
	left := []Key{}
	for i := range keys {
		if own(&keys[i]) {
			left = append(left, keys[i])
		}
	}
	return left
}
