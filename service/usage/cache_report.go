package usage

import (
	"cmp"
	"context"
	"slices"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

// CacheSummary is what the cache answered, and what that saved.
type CacheSummary struct {
	Hits    int64              `json:"hits" doc:"calls answered from the cache or by the service itself"`
	Misses  int64              `json:"misses" doc:"calls that were charged and could have been a hit; utilities, which compute their answer, are not among them"`
	Rate    MaybeFigure        `json:"hit_rate" doc:"share from 0 to 1 of the answered calls; null without any"`
	Avoided int64              `json:"upstream_calls_avoided" doc:"the hits without those of methods that the service answers by itself, like eth_chainId"`
	Saved   plan.Units         `json:"units_saved" doc:"what upstream_calls_avoided would have cost, by their weights and tiers"`
	Rung    string             `json:"priced_at" doc:"key of the rung of the price ladder that the account is on, or its plan by the month, for keys that do not manage it and for a plan that nobody pays for here; empty for a contract"`
	Price   *operation.Dollars `json:"usd_per_million" nullable:"true" doc:"what a million units cost there; null for a contract"`
	Money   *operation.Dollars `json:"usd_saved" nullable:"true" doc:"units_saved at that price, rounded down to the cent: 0 on rungs that cost nothing; null for a contract"`
	Methods []CachedMethod     `json:"by_method" doc:"at most 20, the most hits first"`
	More    int64              `json:"more_methods" doc:"how many further ones by_method leaves out"`
}

// CachedMethod is the share of a method's calls that the cache answered.
type CachedMethod struct {
	Method string      `json:"method"`
	Class  string      `json:"class"`
	Hits   int64       `json:"hits"`
	Misses int64       `json:"misses"`
	Rate   MaybeFigure `json:"hit_rate"`
}

func (h *handlers) cacheReport(ctx context.Context, l *look) error {
	answered, err := h.Store.AnsweredUsage(ctx, &l.window)
	if err != nil {
		return operation.ToFault(err, "usage")
	}
	steps, err := h.steps(ctx, l)
	if err != nil {
		return err
	}
	l.series("hits", "requests", steps, func(s *usagedb.UsageStep) MaybeFigure { return count(s.Hits) })
	l.series("misses", "requests", steps, func(s *usagedb.UsageStep) MaybeFigure {
		return count(s.Billable - s.Computed)
	})
	l.series("hit_rate", "share", steps, func(s *usagedb.UsageStep) MaybeFigure {
		return share(s.Hits, s.Hits+s.Billable-s.Computed)
	})
	current, err := h.Prices.CurrentRung(ctx, l.Call)
	if err != nil {
		return err
	}
	// a plan that an operator set is priced like its monthly rung
	summary := h.Usage.SummarizeCache(answered, plan.ListedRung(current))
	l.out.Summary.Cache = &summary
	return nil
}

// SummarizeCache sums what was answered and prices the hits at the rung current, which is empty
// for a contract.
func (r *Reader) SummarizeCache(answered []usagedb.AnsweredUsage, current string) CacheSummary {
	summary := CacheSummary{Methods: []CachedMethod{}}
	places := map[[2]string]int{}
	for i := range answered {
		a := &answered[i]
		if account.Service(a.Service) == account.Utils { // utilities are never cached
			continue
		}
		summary.Hits, summary.Misses = summary.Hits+a.Hits, summary.Misses+a.Billable
		if !answersItself(a) {
			summary.Avoided += a.Hits
			summary.Saved += plan.Units(a.Hits) * r.weightOf(a)
		}
		at, known := places[[2]string{a.Method, a.Class}]
		if !known { // the same method follows once per tier
			at = len(summary.Methods)
			places[[2]string{a.Method, a.Class}] = at
			summary.Methods = append(summary.Methods, CachedMethod{Method: a.Method, Class: a.Class})
		}
		m := &summary.Methods[at]
		m.Hits, m.Misses = m.Hits+a.Hits, m.Misses+a.Billable
		m.Rate = share(m.Hits, m.Hits+m.Misses)
	}
	summary.Rate = share(summary.Hits, summary.Hits+summary.Misses)
	summary.Methods, summary.More = mostHit(summary.Methods)
	summary.price(current)
	return summary
}

// mostHit returns the methods with the most hits, and the number of the others.
func mostHit(methods []CachedMethod) (kept []CachedMethod, more int64) {
	slices.SortStableFunc(methods, func(a, b CachedMethod) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), cmp.Compare(b.Misses, a.Misses))
	})
	kept = methods[:min(len(methods), maxEntries)]
	return kept, int64(len(methods) - len(kept))
}

// answersItself reports whether the gateway answers the method itself. Such a call costs nothing
// and reaches no upstream.
func answersItself(a *usagedb.AnsweredUsage) bool {
	return account.Service(a.Service) == account.RPC && chain.IsLocal(a.Method)
}

// weightOf returns the cost of such a call on a cache miss.
func (r *Reader) weightOf(a *usagedb.AnsweredUsage) plan.Units {
	if account.Service(a.Service) == account.RPC {
		weight := 1
		if chain.Class(a.Class) == chain.Heavy {
			weight = 2
		}
		return plan.Cost(weight, plan.Tier(a.Tier))
	}
	return r.units(a.Method)
}

// price prices what was saved at the account's rung.
func (s *CacheSummary) price(current string) {
	if current == "" {
		return
	}
	s.Rung = current
	var cents plan.Cents // plans without a rung cost nothing
	for _, rung := range plan.Ladder() {
		if rung.Key == current {
			cents = rung.CentsPerMillion()
		}
	}
	const million = 1_000_000
	price, money := operation.Dollars(cents),
		operation.Dollars(plan.MulDiv(int64(max(0, s.Saved)), int64(cents), million*int64(plan.Unit)))
	s.Price, s.Money = &price, &money
}
