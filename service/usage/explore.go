package usage

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

// ExploreUsageInput selects a range, a key and a chain.
type ExploreUsageInput struct {
	Range string   `json:"range,omitempty" enum:"24h,7d,30d,period" default:"7d" doc:"24h by the hour; 7d, 30d and period, the billing period that is under way, by the UTC day; what is under way is the last step" example:"7d"`
	KeyID string   `json:"key_id,omitempty" format:"uuid" doc:"only calls with this key of the account, as list_api_keys gives it; absent for all" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
	Chain chain.ID `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"only calls on this chain; absent for all calls, those that concern no chain included" example:"base_mainnet"`
}

// ExploredUsage is all recorded usage of a range: over time, by each dimension, with latencies and
// failures.
type ExploredUsage struct {
	Range       string         `json:"range" enum:"24h,7d,30d,period"`
	StepSeconds int64          `json:"step_seconds"`
	Since       time.Time      `json:"since" doc:"when the first step begins; the range goes on until now"`
	AsOf        *time.Time     `json:"as_of" nullable:"true" doc:"all usage before this instant is in it, later usage in part; null while nothing is known to be"`
	Total       UsageEntry     `json:"total"`
	P50         MaybeFigure    `json:"p50_ms" doc:"milliseconds, of answered calls; null without any"`
	P95         MaybeFigure    `json:"p95_ms" doc:"milliseconds, of answered calls; null without any"`
	Steps       []ExploredStep `json:"steps" doc:"oldest first, none left out"`
	ByClass     []UsageEntry   `json:"by_class"`
	ByKey       []UsageEntry   `json:"by_key"`
	ByMethod    []UsageEntry   `json:"by_method"`
	ByChain     []UsageEntry   `json:"by_chain"`
	Latency     []ChainLatency `json:"latency_by_chain" doc:"in the order of their names"`
	Reasons     []FailedReason `json:"failures_by_reason" doc:"at most 20, the most frequent first"`
	Recent      []FailedCall   `json:"failures_recent" doc:"the newest ones, at most 50; of a chain those among the newest 500 of all chains. Calls are kept for as long as the terms say"`
	Beyond      int64          `json:"failures_counted_only" doc:"refused calls of the range, on all chains, of which only the number is kept: of many in a minute with the same key and reason, the first few and the newest are listed"`
}

// ExploredStep is the usage of an hour or of a UTC day.
type ExploredStep struct {
	Start    time.Time   `json:"start"`
	Partial  bool        `json:"partial" doc:"true for the last one, which is under way"`
	Requests int64       `json:"requests"`
	Units    plan.Units  `json:"weighted_units"`
	Heavy    plan.Units  `json:"heavy_units" doc:"of the units; 0 where classes are not told apart"`
	Other    plan.Units  `json:"other_units" doc:"of the units, by toolbox and data; 0 where classes are not told apart"`
	Hits     int64       `json:"cache_hits"`
	Refusals int64       `json:"refusals"`
	P50      MaybeFigure `json:"p50_ms"`
	P95      MaybeFigure `json:"p95_ms"`
}

// Bounds of the list of failures: those shown, and those read to find them.
const (
	maxFailed   = 50
	maxSifted   = 500
	rangePeriod = "period"
)

func (h *handlers) exploreUsage() *operation.Operation[ExploreUsageInput, ExploredUsage] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "explore_usage", Title: "Usage over time and by every word", Access: operation.Users, Reads: true,
		Description: "Shows what was used in a range: over time, by chain, method, key and class, how long answers " +
			"took, and what was refused, with the newest request ids. It comes from the record, which is some " +
			"seconds late. A repeat within 10 seconds gives the same. It costs nothing.",
		Fails: []fault.Reason{fault.NotYours, fault.DurableUnavailable},
	}, h.runExploreUsage)
}

func (h *handlers) runExploreUsage(ctx context.Context, c *operation.Call,
	in ExploreUsageInput,
) (ExploredUsage, error) {
	now := h.Now()
	w, s, err := h.exploredWindow(ctx, c, &in, now)
	if err != nil {
		return ExploredUsage{}, err
	}
	return operation.Cached(ctx, h.reports, c.ReportKey("explore", in),
		func(ctx context.Context) (ExploredUsage, error) {
			return h.makeExploredUsage(ctx, &look{Call: c, span: s, now: now, window: w}, in.Range)
		})
}

// exploredWindow returns the window that a range, a key and a chain mean now. It fills in defaults
// in in, so that equal requests share a cache key.
func (h *handlers) exploredWindow(ctx context.Context, c *operation.Call, in *ExploreUsageInput,
	now time.Time,
) (w usagedb.UsageWindow, s span, err error) {
	if in.Range == "" {
		in.Range = "7d"
	}
	w = usagedb.UsageWindow{Account: c.Account.ID, Chain: string(in.Chain)}
	if s, w.Period, err = h.exploredSpan(c, in.Range, now); err != nil {
		return w, s, err
	}
	w.Since = s.since(now)
	if in.KeyID == "" {
		return w, s, nil
	}
	id, refusal := operation.ParseKeyID("key_id", in.KeyID)
	if refusal != nil {
		return w, s, refusal
	}
	if _, err := h.Store.LoadKeyOf(ctx, c.Account.ID, id); err != nil {
		return w, s, operation.ToFault(err, "key")
	}
	in.KeyID, w.Keys = id.String(), []account.KeyID{id}
	return w, s, nil
}

// exploredSpan returns the look-back of a range: hours for a day, otherwise UTC days. The range
// "period" begins with the UTC day on which the period began and contains only usage counted into
// the period: earlier hours of that day belong to the period before.
func (h *handlers) exploredSpan(c *operation.Call, name string, now time.Time) (span, account.Period, error) {
	const day = 24 * time.Hour
	switch name {
	case "24h":
		return spans[name], account.Period{}, nil
	case rangePeriod:
		terms, err := c.Account.Terms()
		if err != nil {
			return span{}, account.Period{}, err
		}
		period := terms.At(now).Period(now)
		return span{day, int(now.UTC().Truncate(day).Sub(period.Start.UTC().Truncate(day))/day) + 1}, period, nil
	case "30d":
		return span{day, 30}, account.Period{}, nil
	}
	return span{day, 7}, account.Period{}, nil
}

func (h *handlers) makeExploredUsage(ctx context.Context, l *look, name string) (ExploredUsage, error) {
	out := ExploredUsage{
		Range: name, StepSeconds: int64(l.step / time.Second), Since: l.window.Since,
		Steps: make([]ExploredStep, l.span.steps),
	}
	for i, start := range l.starts(l.now) {
		out.Steps[i] = ExploredStep{Start: start, Partial: i == l.span.steps-1}
	}
	var err error
	if out.AsOf, err = h.Usage.AsOf(ctx, l.Call); err != nil { // before the figures, which may include later usage
		return out, err
	}
	err = parallel.Do(ctx, operation.MaxParallel, // each function sets its own fields
		func(ctx context.Context) error { return h.exploreGroups(ctx, l, &out) },
		func(ctx context.Context) error { return h.exploreSteps(ctx, l, &out) },
		func(ctx context.Context) error { return h.exploreLatency(ctx, l, &out) },
		func(ctx context.Context) error { return h.exploreFailures(ctx, l, &out) },
	)
	if err != nil {
		return ExploredUsage{}, err
	}
	return out, nil
}

// exploreGroups adds usage by class, key, method and chain.
func (h *handlers) exploreGroups(ctx context.Context, l *look, out *ExploredUsage) error {
	sums, err := h.Store.ReportUsage(ctx, &l.window, maxEntries)
	if err != nil {
		return operation.ToFault(err, "usage")
	}
	out.Total.fill(&sums.Whole)
	by := func(groups *usagedb.UsageGroups, name func(*usagedb.UsageGroup) string) []UsageEntry {
		return entriesOf(groups, &sums.Whole,
			func(g *usagedb.UsageGroup) UsageEntry { return UsageEntry{Name: name(g)} })
	}
	out.ByClass = by(&sums.ByClass, func(g *usagedb.UsageGroup) string { return g.Class })
	out.ByMethod = by(&sums.ByMethod, func(g *usagedb.UsageGroup) string { return g.Method })
	out.ByChain = by(&sums.ByChain, func(g *usagedb.UsageGroup) string { return g.Chain })
	keys, err := h.keysOf(ctx, sums.ByKey.Groups)
	if err != nil {
		return err
	}
	out.ByKey = entriesOf(&sums.ByKey, &sums.Whole, func(g *usagedb.UsageGroup) UsageEntry {
		return keyEntry(l.Account.ID, g.Key, keys)
	})
	return nil
}

// exploreSteps adds usage over time. Days of the whole account also have classes, from the daily
// sums.
func (h *handlers) exploreSteps(ctx context.Context, l *look, out *ExploredUsage) error {
	if l.step == 24*time.Hour && l.window.Keys == nil && l.window.Chain == "" {
		days, err := h.Store.UsageByDay(ctx, l.Account.ID, l.window.Since, l.now, l.window.Period)
		if err != nil {
			return operation.ToFault(err, "usage")
		}
		for i := range days {
			d := &days[i]
			if at, inside := l.place(l.now, d.Day); inside {
				s := &out.Steps[at]
				s.Requests, s.Hits, s.Refusals = d.Requests, d.Hits, d.Refused
				s.Units, s.Heavy, s.Other = d.Standard+d.Heavy+d.Other, d.Heavy, d.Other
			}
		}
		return nil
	}
	steps, err := h.steps(ctx, l)
	if err != nil {
		return err
	}
	for i := range steps {
		s := &out.Steps[i]
		s.Requests, s.Hits, s.Refusals, s.Units = steps[i].Requests, steps[i].Hits, steps[i].Refused(), steps[i].Units
	}
	return nil
}

// exploreLatency adds how long answers took: in total, by step and by chain.
func (h *handlers) exploreLatency(ctx context.Context, l *look, out *ExploredUsage) error {
	figures, err := h.exploredLatency(ctx, l)
	if err != nil {
		return operation.ToFault(err, "usage")
	}
	var all account.Latency
	chains, steps := map[string]*account.Latency{}, make([]account.Latency, len(out.Steps))
	for i := range figures {
		f := &figures[i]
		answered := f.Answered()
		all.Add(&answered)
		if chains[f.Chain] == nil {
			chains[f.Chain] = &account.Latency{}
		}
		chains[f.Chain].Add(&answered)
		if at, inside := l.place(l.now, f.Start); inside {
			steps[at].Add(&answered)
		}
	}
	out.P50, out.P95 = millis(&all, median), millis(&all, high)
	for i := range steps {
		out.Steps[i].P50, out.Steps[i].P95 = millis(&steps[i], median), millis(&steps[i], high)
	}
	out.Latency = []ChainLatency{}
	for _, name := range sortedNames(chains) {
		of := chains[name]
		out.Latency = append(out.Latency, ChainLatency{name, of.Calls(), millis(of, median), millis(of, high)})
	}
	return nil
}

// exploredLatency reads the latencies of the range. Latencies have no period, so those of a period
// begin with the hour in which it began.
func (h *handlers) exploredLatency(ctx context.Context, l *look) ([]usagedb.LatencyFigures, error) {
	q := usagedb.LatencyQuery{
		Account: l.window.Account, Since: l.window.Since, Until: l.now, Keys: l.window.Keys, Chain: l.window.Chain,
		ByChain: true, Step: l.step,
	}
	began := l.window.Period.Start.UTC().Truncate(time.Hour)
	if !began.After(q.Since) {
		return h.Store.Latency(ctx, q)
	}
	first := q
	q.Since = q.Since.Add(l.step)
	first.Since, first.Until, first.Step = began, q.Since, 0
	if q.Until.Before(first.Until) {
		first.Until = q.Until
	}
	figures, err := h.Store.Latency(ctx, first)
	if err != nil || !q.Since.Before(q.Until) {
		return figures, err
	}
	rest, err := h.Store.Latency(ctx, q)
	return append(figures, rest...), err
}

// exploreFailures adds what was refused or failed, and the newest of those calls.
func (h *handlers) exploreFailures(ctx context.Context, l *look, out *ExploredUsage) error {
	failures, err := h.Store.Failures(ctx, &l.window, maxEntries)
	if err != nil {
		return operation.ToFault(err, "usage")
	}
	out.Reasons, out.Recent = reasonsOf(failures.ByReason), []FailedCall{}
	if out.Beyond, err = h.Store.RefusedBeyond(ctx, &l.window); err != nil {
		return operation.ToFault(err, "call")
	}
	limit := maxFailed
	if l.window.Chain != "" { // the index does not contain the chain, so read more and filter
		limit = maxSifted
	}
	calls, err := h.Store.FailedCalls(ctx, &l.window, l.now, limit)
	if err != nil {
		return operation.ToFault(err, "call")
	}
	for i := range calls {
		if l.window.Chain != "" && string(calls[i].Chain) != l.window.Chain ||
			calls[i].StartedAt.Before(l.window.Period.Start) {
			continue
		}
		if len(out.Recent) < maxFailed {
			out.Recent = append(out.Recent, failedCall(&calls[i]))
		}
	}
	return nil
}

// reasonsOf adds code and title to the recorded reasons.
func reasonsOf(groups []usagedb.FailureGroup) []FailedReason {
	reasons := make([]FailedReason, len(groups))
	for i, g := range groups {
		code, title := codeOf(g.Reason)
		reasons[i] = FailedReason{g.Reason, code, title, g.Requests}
	}
	return reasons
}

func failedCall(r *usagedb.Call) FailedCall {
	code, _ := codeOf(r.Outcome)
	return FailedCall{
		r.RequestID.String(), r.Index, r.StartedAt, r.Chain, r.Method, r.Outcome, code, r.HTTPStatus,
		Figure(r.Duration.Microseconds()),
	}
}
