package advice

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
)

// Recommendation is the cheapest lane for a volume.
type Recommendation struct {
	Rung    string            `json:"rung" doc:"key of a rung of ladder_at_your_volume"`
	Title   string            `json:"title"`
	Cost    operation.Dollars `json:"cost_usd" doc:"net, for a month of the volume"`
	Supply  plan.Supply       `json:"supply" enum:"public,wholesale,premium" doc:"class of upstreams that serves its calls"`
	Current bool              `json:"current" doc:"whether the account is on it already"`
	OnSale  bool              `json:"on_sale" doc:"whether it can be bought here by card now"`
	Why     string            `json:"why"`
	Tool    string            `json:"tool" doc:"what to call next"`
	Premium string            `json:"premium_rung" doc:"the cheapest one that premium upstreams serve"`
	Extra   operation.Dollars `json:"premium_cost_usd" doc:"net, for a month of the volume there"`
}

// recommendLane recommends the cheapest lane, with the reason and the next step.
func (h *handlers) recommendLane(s *callerState) Recommendation {
	best, premium := s.ladder.Lane(), s.ladder.Find(s.ladder.Premium)
	r := Recommendation{
		Rung: best.Key, Title: best.Title, Cost: best.AtVolume, Supply: best.Served(), Current: best.Current,
		OnSale: best.OnSale, Tool: "list_plans", Premium: premium.Key, Extra: premium.AtVolume,
		Why: fmt.Sprintf("It is the cheapest that covers %s units in 30 days: $%s, from %s upstreams.",
			s.ladder.Volume.Grouped(), plan.Cents(best.AtVolume), best.Served()),
	}
	current := s.ladder.Find(s.ladder.Current)
	switch {
	case r.Current:
		r.Why += " You are on it: nothing has to change."
	case current == nil && s.Terms.Plan.Kind == plan.FreeKind && s.ladder.Volume <= s.Terms.Quota():
		r.Why += fmt.Sprintf(" Your own, %s, covers it too and costs nothing: nothing has to change.",
			s.Terms.Plan.Title)
	case best.Kind == plan.PackKind:
		r.Tool = "buy_pack"
	case current != nil && current.Covered && current.AtVolume > best.AtVolume:
		r.Why += fmt.Sprintf(" Your own, %s, costs $%s.", current.Title, plan.Cents(current.AtVolume))
	case current != nil && !current.Covered:
		r.Why += fmt.Sprintf(" Your own, %s, does not cover it.", current.Title)
	}
	return r
}

// breakEven returns a sentence that states from which volume another lane is cheaper, or covers
// more, than the recommended one.
func breakEven(l *billing.PriceLadder) string {
	best := l.Lane()
	var from plan.Rung
	var others []plan.Rung
	for _, r := range plan.Ladder() {
		switch shown := l.Find(r.Key); {
		case shown == nil:
		case shown == best:
			from = r
		case shown.Live:
			others = append(others, r)
		}
	}
	next, at, ok := plan.NextLane(from, others, l.Volume)
	if !ok {
		return fmt.Sprintf("At %s units in 30 days %s is the cheapest, and stays it however much you use.",
			l.Volume.Grouped(), best.Title)
	}
	cost, _ := next.Cost(at)
	return fmt.Sprintf("At %s units in 30 days %s is the cheapest at $%s; from %s units on it is %s, at $%s.",
		l.Volume.Grouped(), best.Title, plan.Cents(best.AtVolume), at.Grouped(), next.Title(), cost)
}

// Advice is a suggestion based on the account's recent usage.
type Advice struct {
	Kind    string `json:"kind" enum:"refusals,budget_near_its_end,pack_expires,heavy_ranges,founding_offer,costs_more_than_needed"`
	Finding string `json:"finding" doc:"what was seen, with its figures"`
	Do      string `json:"do"`
	Tool    string `json:"tool" doc:"which tool helps with it"`
}

// Thresholds and bounds of advice: refusals for one reason, percent of a budget that is used, time
// until a pack expires, heavy units and their share in percent, entries in all, and reasons of
// refusals.
const (
	manyRefusals  = 10
	nearItsEnd    = 80
	soon          = 30 * 24 * time.Hour
	heavyFrom     = 1_000 * plan.Unit
	heavyShare    = 30
	adviceAtMost  = 12
	hundred       = 100
	refusalReason = 5
)

// adviseOn returns the advice for a caller, most urgent first.
func (h *handlers) adviseOn(s *callerState) []Advice {
	list := []Advice{}
	for i := range s.Budgets {
		if b := &s.Budgets[i]; b.Kind != usage.BudgetPack && b.Limit > 0 &&
			plan.MulDiv(int64(b.Used), hundred, int64(b.Limit)) >= nearItsEnd {
			list = append(list, budgetAdvice(b))
		}
	}
	list = append(list, s.refusalAdvice()...)
	for _, p := range s.Packs {
		if left := p.Expires.Sub(s.States.At); left < soon {
			list = append(list, Advice{
				Kind: "pack_expires", Tool: "get_billing_status",
				Do: "Use them before, or plan with less: what is left then is lost.",
				Finding: fmt.Sprintf("A pack expires on %s with %s units left.", operation.InWords(p.Expires),
					(p.Units - p.Used).Grouped()),
			})
		}
	}
	list = append(list, s.heavyAdvice()...)
	list = append(list, h.priceAdvice(s)...)
	return list[:min(len(list), adviceAtMost)]
}

func budgetAdvice(b *usage.Budget) Advice {
	what := map[usage.BudgetKind]string{
		usage.BudgetPlan: "plan's allowance", usage.BudgetService: "account's cap on " + string(b.Service),
		usage.BudgetKey:        "key's cap",
		usage.BudgetKeyService: "key's cap on " + string(b.Service), usage.BudgetKeyDay: "key's day",
	}[b.Kind]
	a := Advice{
		Kind: "budget_near_its_end", Tool: "configure_key",
		Do: "Raise the cap before calls are refused, or use less until it begins anew.",
		Finding: fmt.Sprintf("Of the %s %s of %s units are used; it begins anew on %s.", what, b.Used.Grouped(),
			b.Limit.Grouped(), operation.InWords(*b.ResetsAt)),
	}
	switch b.Kind {
	case usage.BudgetPlan:
		a.Tool, a.Do = "list_plans",
			"See fences_as_doorways: a larger plan or a pack, or less use until it begins anew."
	case usage.BudgetService:
		a.Tool = "configure_services"
	case usage.BudgetKeyDay:
		a.Tool, a.Do = "bind_key_start", "Bind the key to a wallet or have it adopted, or wait until the day is over."
	case usage.BudgetKey, usage.BudgetKeyService, usage.BudgetPack:
	}
	return a
}

// refusalAdvice returns advice for the most frequent reasons of refusals, with the first step that
// helps.
func (s *callerState) refusalAdvice() []Advice {
	var list []Advice
	for _, g := range s.recent.Refused {
		reason, known := fault.Named(g.Reason)
		if !known || g.Requests < manyRefusals || len(list) == refusalReason {
			continue
		}
		entry := reason.Entry()
		list = append(list, Advice{
			Kind: "refusals", Tool: "explain_error", Do: entry.Steps[0],
			Finding: fmt.Sprintf("In the last 7 days %s calls were refused or failed with %d: %s.",
				plan.Group(fmt.Sprint(g.Requests)), entry.Code, entry.Title),
		})
	}
	return list
}

// heavyAdvice returns advice if calls that weigh double and are never cached, such as wide
// eth_getLogs, are a large share of the cost.
func (s *callerState) heavyAdvice() []Advice {
	var heavy, all plan.Units
	var hits, answered int64
	wide := map[string]plan.Units{}
	for i := range s.recent.Answered {
		a := &s.recent.Answered[i]
		all += a.Units
		hits, answered = hits+a.Hits, answered+a.Hits+a.Billable
		if chain.Class(a.Class) == chain.Heavy {
			heavy += a.Units
			wide[a.Method] += a.Units
		}
	}
	if heavy < heavyFrom || plan.MulDiv(int64(heavy), hundred, int64(all)) < heavyShare {
		return nil
	}
	limit := ""
	for _, method := range slices.Sorted(maps.Keys(wide)) {
		if limit == "" || wide[method] > wide[limit] {
			limit = method
		}
	}
	do := "Use a standard method where one tells the same, or read past state less deeply: get_quote says what a " +
		"method weighs."
	if limit == "eth_getLogs" {
		do = "Ask for narrower block ranges of eth_getLogs: those that are not wide weigh 1 instead of 2. get_quote " +
			"says where that begins."
	}
	rate := int64(0)
	if answered > 0 {
		rate = plan.MulDiv(hits, hundred, answered)
	}
	return []Advice{{
		Kind: "heavy_ranges", Tool: "get_quote", Do: do,
		Finding: fmt.Sprintf(
			"In the last 30 days %s of %s units were of heavy calls, most of them %s; the cache answered %d%% of all "+
				"calls.", heavy.Grouped(), all.Grouped(), limit, rate),
	}}
}

// priceAdvice returns advice for callers who manage the account: an open offer, or a rung that
// costs more than the volume requires.
func (h *handlers) priceAdvice(s *callerState) []Advice {
	if !s.Manages() {
		return nil
	}
	var list []Advice
	offer := plan.Founding()
	if seat := s.ladder.Find(offer.Key); seat.OnSale && plan.Rank(s.Terms.Plan.Key) < plan.Rank(offer.Plan) {
		list = append(list, Advice{
			Kind: "founding_offer", Tool: "list_plans",
			Do: "Have the account's owner take it on the page of billing, if the account will need that plan.",
			Finding: fmt.Sprintf(
				"The founding offer is open: %s for $%s a month, locked for %d months; %d seats are left, until %s.",
				plan.Must(offer.Plan).Title, offer.Price, offer.LockedMonths, *seat.SeatsLeft,
				operation.InWords(offer.Ends)),
		})
	}
	current, best := s.ladder.Find(s.ladder.Current), s.ladder.Find(s.ladder.Cheapest)
	if current != nil && current.Served() == plan.Premium { // compare it only with premium rungs
		best = s.ladder.Find(s.ladder.Premium)
	}
	if current != nil && current.Covered && current.AtVolume > best.AtVolume {
		list = append(list, Advice{
			Kind: "costs_more_than_needed", Tool: "list_plans",
			Do: "Change to it at the period's end, unless more use is coming.",
			Finding: fmt.Sprintf(
				"At the last 30 days' %s units %s costs $%s a month, and %s of the same supply or better $%s.",
				s.ladder.Volume.Grouped(), current.Title, plan.Cents(current.AtVolume), best.Title,
				plan.Cents(best.AtVolume)),
		})
	}
	return list
}
