package advice

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
)

// UsageInsights is what follows from an account's own usage: its projection, what the cache saved,
// the cheapest plan, and recent refusals. It is built from the same parts as get_usage_stats and
// what_can_i_do.
type UsageInsights struct {
	AsOf           *time.Time         `json:"as_of" nullable:"true" doc:"all usage before this instant is recorded, which insights go by; null while nothing is known to be"`
	Spend          usage.SpendSummary `json:"spend" doc:"at the pace of the last 7 days"`
	Cache          usage.CacheSummary `json:"cache" doc:"of the last 30 UTC days, today so far included"`
	Volume         plan.Units         `json:"volume_30d_units" doc:"weighted units of the same days"`
	Recommendation Recommendation     `json:"recommendation" doc:"the cheapest way that covers volume_30d_units"`
	BreakEven      string             `json:"break_even" doc:"from which volume another way is cheaper"`
	Advice         []Advice           `json:"advice" doc:"what the account's own last days suggest; empty when nothing does"`
	Refused        []usage.Refused    `json:"refused_24h" doc:"why calls of the last 24 hours were refused or failed, the most frequent first, at most 5"`
}

func (h *handlers) getInsights() *operation.Operation[operation.Nothing, UsageInsights] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_insights", Title: "What follows from the account's use", Access: operation.Users, Reads: true,
		Description: "Tells where the account's pace leads, what the cache saved, which plan costs least at its " +
			"volume, and why calls of the last 24 hours were refused, with what to do. It goes by the record, which " +
			"is some seconds late. A repeat within 10 seconds gives the same. It costs nothing.",
		Fails: []fault.Reason{fault.MeterUnreachable, fault.DurableUnavailable},
	}, func(ctx context.Context, c *operation.Call, _ operation.Nothing) (UsageInsights, error) {
		return operation.Cached(ctx, h.reports, c.ReportKey("insights", nil),
			func(ctx context.Context) (UsageInsights, error) {
				return h.makeInsights(ctx, c)
			})
	})
}

func (h *handlers) makeInsights(ctx context.Context, c *operation.Call) (in UsageInsights, err error) {
	s := &callerState{}
	var week plan.Units
	now, since := h.Now(), usage.Since("7d", h.Now())
	err = parallel.Do(ctx, operation.MaxParallel,
		func(ctx context.Context) (err error) { s.recent, err = h.Usage.Recent(ctx, c); return err },
		func(ctx context.Context) (err error) { in.Refused, err = h.Usage.RefusedToday(ctx, c); return err },
		func(ctx context.Context) (err error) { s.State, err = h.Usage.State(ctx, c); return err },
		func(ctx context.Context) (err error) { week, err = h.Usage.UsedSince(ctx, c, since); return err },
	)
	if err != nil {
		return in, err
	}
	in.AsOf, in.Volume = s.recent.AsOf, s.recent.Volume
	if s.ladder, err = h.Prices.LadderAt(ctx, c, in.Volume); err != nil {
		return in, err
	}
	in.Recommendation, in.BreakEven, in.Advice = h.recommendLane(s), breakEven(&s.ladder), h.adviseOn(s)
	in.Cache = h.Usage.SummarizeCache(s.recent.Answered, s.ladder.Current)
	in.Spend = s.Spend(week, since, now)
	return in, nil
}
