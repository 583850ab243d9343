package usage

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

// UsageStatsInput selects a report and its look-back.
type UsageStatsInput struct {
	Report string `json:"report" enum:"latency,errors,spend,cache" doc:"latency: p50 and p95 by chain; errors: refusals and failures by method and chain, with the newest request ids; spend: pace, projected end of the period, risk; cache: hit rate and what it saved" example:"latency"`
	Window string `json:"window,omitempty" enum:"24h,7d,30d" default:"24h" doc:"look-back: 24h by the hour, 7d by six hours, 30d by the UTC day; what is under way is the last of them" example:"7d"`
}

// UsageStats is a report over time, as recorded.
type UsageStats struct {
	Scope         statement.Scope `json:"scope" enum:"account,agent,key" doc:"agent: only what the agent of the asking key used; key: only what the asking key used, which an owner adopted"`
	Report        string          `json:"report" enum:"latency,errors,spend,cache"`
	Window        string          `json:"window" enum:"24h,7d,30d"`
	BucketSeconds int64           `json:"bucket_seconds"`
	AsOf          *time.Time      `json:"as_of" nullable:"true" doc:"all usage before this instant is in it, later usage in part: the record is some seconds late; null while nothing is known to be"`
	Buckets       []time.Time     `json:"buckets" doc:"when each begins, oldest first; the last one is under way"`
	Series        []StatsSeries   `json:"series" doc:"each with a value for every bucket"`
	Summary       StatsSummary    `json:"summary" doc:"of the whole window; one member, with the report's name"`
}

// StatsSeries is a figure over time.
type StatsSeries struct {
	Name   string        `json:"name" doc:"what is counted: p50, p95, failures, units, pack_units, hits, misses, hit_rate"`
	Chain  string        `json:"chain,omitempty" doc:"of this chain alone; absent for calls that concern none, and where chains are not told apart"`
	Method string        `json:"method,omitempty" doc:"of this method alone; absent for calls refused before it was known, and where methods are not told apart"`
	Rest   int64         `json:"rest,omitempty" doc:"of the last series: how many further methods it adds up"`
	Unit   string        `json:"unit" enum:"ms,requests,units,share"`
	Values []MaybeFigure `json:"values" doc:"null where nothing was measured"`
}

// StatsSummary has one of its four fields set.
type StatsSummary struct {
	Latency *LatencySummary `json:"latency,omitempty"`
	Errors  *ErrorSummary   `json:"errors,omitempty"`
	Spend   *SpendSummary   `json:"spend,omitempty"`
	Cache   *CacheSummary   `json:"cache,omitempty"`
}

func (h *handlers) usageStats() *operation.Operation[UsageStatsInput, UsageStats] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_usage_stats", Title: "Latency, errors, spend or cache", Access: operation.Holders, Reads: true,
		Description: "Gives one of four reports over a day, a week or 30 days: latency by chain, errors with the " +
			"newest request ids, spend with a projection of the period, or the cache and what it saved. An agent's " +
			"key sees its agent's usage only, an adopted key its own. It comes from the record, which is some " +
			"seconds late; what spend says of allowances comes from the meter and is not. A repeat within 10 seconds " +
			"gives the same. It costs nothing.",
		Fails: []fault.Reason{fault.MeterUnreachable, fault.DurableUnavailable},
	}, h.runUsageStats)
}

// look is a report in progress.
type look struct {
	*operation.Call
	span

	now    time.Time
	window usagedb.UsageWindow
	out    *UsageStats
}

func (h *handlers) runUsageStats(ctx context.Context, c *operation.Call, in UsageStatsInput) (UsageStats, error) {
	ask := c.ReportKey("stats", in).OfKey(c.Key.ID) // spend depends on the key's own allowance
	return operation.Cached(ctx, h.reports, ask,
		func(ctx context.Context) (UsageStats, error) { return h.makeUsageStats(ctx, c, in) })
}

func (h *handlers) makeUsageStats(ctx context.Context, c *operation.Call, in UsageStatsInput) (UsageStats, error) {
	now := h.Now()
	name, s := spanOf(in.Window)
	w, scope, err := h.Usage.Window(ctx, c, s.since(now))
	if err != nil {
		return UsageStats{}, err
	}
	stats := UsageStats{
		Scope: scope, Report: in.Report, Window: name, BucketSeconds: int64(s.step / time.Second),
		Buckets: s.starts(now), Series: []StatsSeries{},
	}
	if stats.AsOf, err = h.Usage.AsOf(ctx, c); err != nil {
		return UsageStats{}, err
	}
	reports := map[string]func(context.Context, *look) error{
		"latency": h.latencyReport, "errors": h.errorReport, "spend": h.spendReport, "cache": h.cacheReport,
	}
	err = reports[in.Report](ctx, &look{Call: c, span: s, now: now, window: w, out: &stats})
	return stats, err
}

// steps reads the usage of the window, one entry per step.
func (h *handlers) steps(ctx context.Context, l *look) ([]usagedb.UsageStep, error) {
	recorded, err := h.Store.UsageSteps(ctx, &l.window, l.step)
	if err != nil {
		return nil, operation.ToFault(err, "usage")
	}
	all := make([]usagedb.UsageStep, l.span.steps)
	for i := range recorded {
		if at, inside := l.place(l.now, recorded[i].Start); inside {
			all[at] = recorded[i]
		}
	}
	return all, nil
}

// series adds a series with one value per step.
func (l *look) series(name, unit string, steps []usagedb.UsageStep, value func(*usagedb.UsageStep) MaybeFigure) {
	values := make([]MaybeFigure, len(steps))
	for i := range steps {
		values[i] = value(&steps[i])
	}
	l.out.Series = append(l.out.Series, StatsSeries{Name: name, Unit: unit, Values: values})
}

// LatencySummary is how long answered calls took.
type LatencySummary struct {
	Calls  int64          `json:"calls" doc:"answered calls that were measured"`
	P50    MaybeFigure    `json:"p50_ms" doc:"milliseconds; null without calls"`
	P95    MaybeFigure    `json:"p95_ms" doc:"milliseconds; null without calls"`
	Hits   MaybeFigure    `json:"cache_p50_ms" doc:"milliseconds, of those that the cache answered; null without any"`
	Others MaybeFigure    `json:"upstream_p50_ms" doc:"milliseconds, of those that an upstream answered; null without any"`
	Chains []ChainLatency `json:"chains" doc:"in the order of their names"`
}

// ChainLatency is how long answered calls of a chain took.
type ChainLatency struct {
	Chain string      `json:"chain" doc:"empty for calls that concern none"`
	Calls int64       `json:"calls"`
	P50   MaybeFigure `json:"p50_ms"`
	P95   MaybeFigure `json:"p95_ms"`
}

func (h *handlers) latencyReport(ctx context.Context, l *look) error {
	figures, err := h.Store.Latency(ctx, usagedb.LatencyQuery{
		Account: l.window.Account, Since: l.window.Since, Until: l.now, Keys: l.window.Keys, ByChain: true,
		Step: l.step,
	})
	if err != nil {
		return operation.ToFault(err, "usage")
	}
	var relayed, hits account.Latency
	chains := map[string]*account.Latency{}
	p50, p95 := map[string][]MaybeFigure{}, map[string][]MaybeFigure{}
	for i := range figures {
		f := &figures[i]
		answered := f.Answered()
		relayed.Add(&f.Relayed)
		hits.Add(&f.Hits)
		if chains[f.Chain] == nil {
			chains[f.Chain] = &account.Latency{}
			p50[f.Chain], p95[f.Chain] = make([]MaybeFigure, l.span.steps), make([]MaybeFigure, l.span.steps)
		}
		chains[f.Chain].Add(&answered)
		if at, inside := l.place(l.now, f.Start); inside {
			p50[f.Chain][at], p95[f.Chain][at] = millis(&answered, median), millis(&answered, high)
		}
	}
	all := relayed
	all.Add(&hits)
	summary := LatencySummary{
		Calls: all.Calls(), P50: millis(&all, median), P95: millis(&all, high), Hits: millis(&hits, median),
		Others: millis(&relayed, median), Chains: []ChainLatency{},
	}
	for _, name := range sortedNames(chains) {
		l.out.Series = append(l.out.Series,
			StatsSeries{Name: "p50", Chain: name, Unit: "ms", Values: p50[name]}, StatsSeries{
				Name: "p95", Chain: name, Unit: "ms", Values: p95[name],
			})
		of := chains[name]
		summary.Chains = append(summary.Chains, ChainLatency{name, of.Calls(), millis(of, median), millis(of, high)})
	}
	l.out.Summary.Latency = &summary
	return nil
}
