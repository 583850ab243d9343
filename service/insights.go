package service

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/usagedb"
)

// UsageInsights is what follows from an account's own usage: its projection, what the cache saved,
// the cheapest plan, and recent refusals. It is built from the same parts as get_usage_stats and
// what_can_i_do.
type UsageInsights struct {
	AsOf           *time.Time     `json:"as_of" nullable:"true" doc:"all usage before this instant is recorded, which insights go by; null while nothing is known to be"`
	Spend          SpendSummary   `json:"spend" doc:"at the pace of the last 7 days"`
	Cache          CacheSummary   `json:"cache" doc:"of the last 30 UTC days, today so far included"`
	Volume         plan.Units     `json:"volume_30d_units" doc:"weighted units of the same days"`
	Recommendation Recommendation `json:"recommendation" doc:"the cheapest way that covers volume_30d_units"`
	BreakEven      string         `json:"break_even" doc:"from which volume another way is cheaper"`
	Advice         []Advice       `json:"advice" doc:"what the account's own last days suggest; empty when nothing does"`
	Refused        []Refused      `json:"refused_24h" doc:"why calls of the last 24 hours were refused or failed, the most frequent first, at most 5"`
}

// Refused is a reason why calls were refused, with what to do about it.
type Refused struct {
	FailedReason

	Meaning   string   `json:"meaning"`
	Steps     []string `json:"next_steps" doc:"the most helpful first"`
	RequestID string   `json:"request_id,omitempty" format:"uuid" doc:"of the newest such call, which a ticket takes; absent where none is among the account's 500 newest failures"`
}

// maxRefused is the number of reasons shown.
const maxRefused = 5

func (h *service) getInsights() *Operation[Nothing, UsageInsights] {
	return define(h, Meta{
		Name: "get_insights", Title: "What follows from the account's use", Access: Users, Reads: true,
		Description: "Tells where the account's pace leads, what the cache saved, which plan costs least at its " +
			"volume, and why calls of the last 24 hours were refused, with what to do. It goes by the record, which " +
			"is some seconds late. A repeat within 10 seconds gives the same. It costs nothing.",
		Fails: []fault.Reason{fault.MeterUnreachable, fault.DurableUnavailable},
	}, func(ctx context.Context, c *Call, _ Nothing) (UsageInsights, error) {
		return keptUsage(ctx, h, c.asks("insights", nil), func(ctx context.Context) (UsageInsights, error) {
			return h.makeInsights(ctx, c)
		})
	})
}

func (h *service) makeInsights(ctx context.Context, c *Call) (in UsageInsights, err error) {
	var s *callerState
	var recent recentUsage
	var week plan.Units
	now, since := h.Now(), spans["7d"].since(h.Now())
	err = parallel.Do(ctx, maxParallel,
		func(ctx context.Context) (err error) {
			recent, err = keptUsage(ctx, h, c.asks("recent", nil), func(ctx context.Context) (recentUsage, error) {
				return h.readRecent(ctx, c)
			})
			return err
		},
		func(ctx context.Context) (err error) { in.Refused, err = h.refusedOfADay(ctx, c); return err },
		func(ctx context.Context) (err error) { s, err = h.loadState(ctx, c); return err },
		func(ctx context.Context) (err error) { week, err = h.usedSince(ctx, c, since); return err },
	)
	if err != nil {
		return in, err
	}
	s.answered, s.refused = recent.answered, recent.refused
	in.AsOf, in.Volume = recent.asOf, recent.volume
	if s.ladder, err = h.ladderAt(ctx, c, in.Volume); err != nil {
		return in, err
	}
	in.Recommendation, in.BreakEven, in.Advice = h.recommendLane(s), breakEven(&s.ladder), h.adviseOn(s)
	in.Cache = h.cacheSummary(recent.answered, s.ladder.Current)
	in.Spend = s.allowance().spend(c, week, since, now)
	return in, nil
}

// usedSince returns what an account used since an instant. It equals the spend of get_usage_stats,
// which splits it by step.
func (h *service) usedSince(ctx context.Context, c *Call, since time.Time) (plan.Units, error) {
	services, err := h.Store.SumServices(ctx, c.Account.ID, account.KeyID{}, since)
	if err != nil {
		return 0, toFault(err, "usage")
	}
	var used plan.Units
	for _, units := range services {
		used += units
	}
	return used, nil
}

// refusedOfADay returns why calls of the last 24 hours were refused or failed.
func (h *service) refusedOfADay(ctx context.Context, c *Call) ([]Refused, error) {
	w := usagedb.UsageWindow{Account: c.Account.ID, Since: spans["24h"].since(h.Now())}
	failures, err := h.Store.Failures(ctx, &w, maxRefused)
	if err != nil {
		return nil, toFault(err, "usage")
	}
	list := []Refused{}
	if len(failures.ByReason) == 0 {
		return list, nil
	}
	newest, err := h.newestFailures(ctx, &w)
	if err != nil {
		return nil, err
	}
	for i, f := range reasonsOf(failures.ByReason) {
		r := Refused{FailedReason: f, Steps: []string{}, RequestID: newest[f.Reason]}
		if reason, known := fault.Named(failures.ByReason[i].Reason); known {
			entry := reason.Entry()
			r.Meaning, r.Steps = entry.Meaning, entry.Steps
		}
		list = append(list, r)
	}
	return list, nil
}

// newestFailures returns the request id of the newest failed call of each reason, among the newest
// maxSifted failures. A reason that is older than all of these is missing.
func (h *service) newestFailures(ctx context.Context, w *usagedb.UsageWindow) (map[string]string, error) {
	calls, err := h.Store.FailedCalls(ctx, w, h.Now(), maxSifted)
	if err != nil {
		return nil, toFault(err, "call")
	}
	newest := make(map[string]string, maxRefused)
	for i := range calls {
		if c := &calls[i]; newest[c.Outcome] == "" {
			newest[c.Outcome] = c.RequestID.String()
		}
	}
	return newest, nil
}
