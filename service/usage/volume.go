package usage

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

// UsageVolumeInput selects a look-back and a chain.
type UsageVolumeInput struct {
	Window string   `json:"window,omitempty" enum:"24h,7d,30d" default:"24h" doc:"look-back: 24h by the hour, 7d by six hours, 30d by the UTC day; what is under way is the last of them" example:"7d"`
	Chain  chain.ID `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"only calls on this chain; absent for all calls, those that concern no chain included" example:"base_mainnet"`
}

// UsageVolume is usage over time, as recorded.
type UsageVolume struct {
	Scope         statement.Scope `json:"scope" enum:"account,agent,key" doc:"agent: only what the agent of the asking key used; key: only what the asking key used, which an owner adopted"`
	Window        string          `json:"window" enum:"24h,7d,30d"`
	Chain         chain.ID        `json:"chain,omitempty" doc:"absent for all"`
	BucketSeconds int64           `json:"bucket_seconds"`
	AsOf          *time.Time      `json:"as_of" nullable:"true" doc:"all usage before this instant is in it, later usage in part; null while nothing is known to be"`
	Buckets       []VolumeBucket  `json:"buckets" doc:"oldest first, none left out"`
}

// VolumeBucket is the usage of one step.
type VolumeBucket struct {
	Start     time.Time  `json:"start"`
	Requests  int64      `json:"requests"`
	Units     plan.Units `json:"weighted_units"`
	CacheHits int64      `json:"cache_hits"`
	Refusals  int64      `json:"refusals"`
	Partial   bool       `json:"partial" doc:"true for the last one, which is under way"`
}

func (h *handlers) usageVolume() *operation.Operation[UsageVolumeInput, UsageVolume] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_usage_volume", Title: "Usage over time", Access: operation.Holders, Reads: true,
		Description: "Gives requests and units by hour, six hours or day, for a chart: every bucket of the window is " +
			"there, and the last one is under way. An agent's key sees its agent's usage only, an adopted key its " +
			"own. It comes from the record, which is some seconds late. A repeat within 10 seconds gives the same. " +
			"It costs nothing.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runUsageVolume)
}

func (h *handlers) runUsageVolume(ctx context.Context, c *operation.Call, in UsageVolumeInput) (UsageVolume, error) {
	return operation.Cached(ctx, h.reports, c.ReportKey("volume", in), func(ctx context.Context) (UsageVolume, error) {
		return h.makeUsageVolume(ctx, c, in)
	})
}

func (h *handlers) makeUsageVolume(ctx context.Context, c *operation.Call, in UsageVolumeInput) (UsageVolume, error) {
	now := h.Now()
	name, s := spanOf(in.Window)
	w, scope, err := h.Usage.Window(ctx, c, s.since(now))
	if err != nil {
		return UsageVolume{}, err
	}
	w.Chain = string(in.Chain)
	v := UsageVolume{
		Scope: scope, Window: name, Chain: in.Chain, BucketSeconds: int64(s.step / time.Second),
		Buckets: make([]VolumeBucket, s.steps),
	}
	if v.AsOf, err = h.Usage.AsOf(ctx, c); err != nil {
		return UsageVolume{}, err
	}
	steps, err := h.Store.UsageSteps(ctx, &w, s.step)
	if err != nil {
		return UsageVolume{}, operation.ToFault(err, "usage")
	}
	for i, start := range s.starts(now) {
		v.Buckets[i] = VolumeBucket{Start: start, Partial: i == s.steps-1}
	}
	for i := range steps {
		if at, inside := s.place(now, steps[i].Start); inside {
			v.Buckets[at].fill(&steps[i].UsageSums)
		}
	}
	return v, nil
}

func (b *VolumeBucket) fill(s *usagedb.UsageSums) {
	b.Requests, b.Units, b.CacheHits, b.Refusals = s.Requests, s.Units, s.Hits, s.Refused()
}
