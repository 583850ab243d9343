package advice

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/status"
)

// RecommendRouteInput is a call and what matters about it.
type RecommendRouteInput struct {
	Chain  chain.ID  `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"chain that the call goes to" example:"base_mainnet"`
	Method string    `json:"method" minLength:"1" maxLength:"80" pattern:"^[ -~]+$" patternDescription:"printable ASCII" doc:"JSON-RPC method, exact and case-sensitive; printable ASCII, up to 80 characters" example:"eth_call"`
	Need   plan.Tier `json:"need,omitempty" enum:"cheap,balanced,fast" default:"balanced" doc:"what matters: cheap for the fewest units, fast for the shortest wait, balanced for both"`
}

// RecommendedRoute is the tier to use.
type RecommendedRoute struct {
	Chain      chain.ID    `json:"chain"`
	Method     string      `json:"method"`
	Offered    bool        `json:"offered"`
	Units      *plan.Units `json:"units" nullable:"true" doc:"weighted units of a call on the tier of pick; null when not offered"`
	Class      chain.Class `json:"weight_class,omitempty" enum:"standard,heavy" doc:"absent when not offered"`
	Pick       *plan.Tier  `json:"pick" nullable:"true" enum:"cheap,balanced,fast" doc:"the tier to send as X-Route-Tier, or as tier of rpc_call; null when not offered"`
	Reason     string      `json:"reason"`
	Tiers      []RouteTier `json:"tiers" doc:"from the cheapest to the dearest; empty when not offered"`
	MeasuredAt *time.Time  `json:"measured_at" nullable:"true" doc:"when probes last looked at the chain; null when they did not"`
	Note       string      `json:"note"`
}

// RouteTier is a tier with the cost and latency of a call on it now.
type RouteTier struct {
	Tier       plan.Tier   `json:"tier" enum:"cheap,balanced,fast"`
	Multiplier factor      `json:"multiplier"`
	Units      plan.Units  `json:"units" doc:"weighted units of a call that its parameters do not make heavier"`
	Supply     plan.Supply `json:"supply" enum:"public,wholesale,premium" doc:"the best supply that the tier draws on, where the plan allows for it"`
	LatencyMS  *float64    `json:"latency_ms" nullable:"true" doc:"what the upstream of that supply that is best for the call takes; null when none is measured and usable"`
	From       string      `json:"latency_from,omitempty" enum:"calls,probes" doc:"calls: the time that nine of ten answers of the last minutes stayed under; probes: what the last probe took"`
	Usable     int         `json:"usable_upstreams" doc:"how many upstreams of that supply could answer"`
	PublicMS   *float64    `json:"latency_ms_on_public_supply" nullable:"true" doc:"the same for keys whose plan has public supply: keys of a door, Free and Builder"`
}

func (h *handlers) recommendRoute() *operation.Operation[RecommendRouteInput, RecommendedRoute] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "recommend_route", Title: "Recommend a route tier", Access: operation.Everybody, PerNetwork: true,
		Reads:    true,
		Computes: true,
		Description: "Recommends the route tier of a call, with what each tier costs in units and how quickly its " +
			"upstreams were measured to answer. It costs nothing and changes nothing.",
	}, func(_ context.Context, _ *operation.Call, in RecommendRouteInput) (RecommendedRoute, error) {
		return h.runRecommendRoute(&in), nil
	})
}

func (h *handlers) runRecommendRoute(in *RecommendRouteInput) RecommendedRoute {
	r := RecommendedRoute{Chain: in.Chain, Method: in.Method, Tiers: []RouteTier{}}
	o := h.offerOf(in.Chain, in.Method)
	r.Offered, r.Note = o.offered, o.note
	here, ok := h.Pool.Chain(in.Chain)
	if ok {
		r.MeasuredAt = measuredAt(here)
	}
	if !o.offered {
		r.Reason = "The method is not offered on this chain, so there is no route to recommend."
		return r
	}
	r.Class = o.method.Class
	for _, t := range plan.PerCallTiers() {
		r.Tiers = append(r.Tiers, tierOf(here, o.method, t, r.fresh(h.Now())))
	}
	r.choose(o.method, cmp.Or(in.Need, plan.Balanced))
	r.Note += " The plan bounds the supply: keys of a door, Free and Builder have public supply on every tier."
	return r
}

// fresh reports whether the measurements are recent enough to use.
func (r *RecommendedRoute) fresh(now time.Time) bool {
	return r.MeasuredAt != nil && now.Sub(*r.MeasuredAt) <= measureLasts
}

func tierOf(here *upstream.Chain, m *chain.Method, t plan.PerCallTier, fresh bool) RouteTier {
	tier := RouteTier{
		Tier: t.Tier, Multiplier: factor(t.Tier.Multiplier()), Units: plan.Cost(weightOf(m), t.Tier), Supply: t.Supply,
	}
	if !fresh || m.Cache == chain.Local {
		return tier
	}
	best, ok := here.Expect(m, t.Supply, t.Tier)
	if ok && best.Latency > 0 {
		ms := status.Milliseconds(best.Latency)
		tier.LatencyMS, tier.From = &ms, "probes"
		if best.FromCalls {
			tier.From = "calls"
		}
	}
	tier.Usable = best.Usable
	if public, ok := here.Expect(m, plan.Public, t.Tier); ok && public.Latency > 0 {
		ms := status.Milliseconds(public.Latency)
		tier.PublicMS = &ms
	}
	return tier
}

func (r *RecommendedRoute) tier(t plan.Tier) *RouteTier {
	for i := range r.Tiers {
		if r.Tiers[i].Tier == t {
			return &r.Tiers[i]
		}
	}
	return nil
}

// clearly is the factor by which balanced must be measured faster than fast before fast is not
// worth its price.
const clearly = 1.25

// choose picks the tier that was asked for, unless measurements contradict it.
func (r *RecommendedRoute) choose(m *chain.Method, need plan.Tier) {
	pick := need
	cheap, balanced, fast := r.tier(plan.Cheap), r.tier(plan.Balanced), r.tier(plan.Fast)
	switch {
	case m.Cache == chain.Local:
		pick, r.Reason = plan.Cheap, "The gateway answers it by itself, at 0 units on every tier."
	case cheap.LatencyMS == nil && balanced.LatencyMS == nil && fast.LatencyMS == nil:
		r.Reason = fmt.Sprintf(
			"Nothing that could answer it is measured and usable now, so this goes by what was asked for alone: %s.",
			r.tier(need).price())
	case need == plan.Cheap && cheap.LatencyMS == nil:
		pick = plan.Balanced
		r.Reason = fmt.Sprintf(
			"No upstream of public supply could answer it now, so cheap would be served late or not at all; balanced "+
				"is the next: %s.", balanced.price())
	case need == plan.Fast && fast.LatencyMS != nil && balanced.LatencyMS != nil &&
		*balanced.LatencyMS*clearly < *fast.LatencyMS:
		pick = plan.Balanced
		r.Reason = fmt.Sprintf(
			"Balanced is measured quicker than fast now (%.1f ms beside %.1f ms) and takes half the units: %s.",
			*balanced.LatencyMS, *fast.LatencyMS, balanced.price())
	case need == plan.Fast && fast.LatencyMS != nil && balanced.LatencyMS != nil &&
		*fast.LatencyMS >= *balanced.LatencyMS:
		r.Reason = fmt.Sprintf(
			"Fast was asked for: %s. Its upstreams are not measured quicker than those of balanced now; what it adds "+
				"is a second request when the first one is slow.", fast.price())
	default:
		r.Reason = fmt.Sprintf("%s was asked for: %s.", need, r.tier(need).price())
	}
	r.Pick, r.Units = &pick, &r.tier(pick).Units
}

// price returns the cost of a call and the measured latency of its upstream, as text.
func (t *RouteTier) price() string {
	text := fmt.Sprintf("a call takes %s units", t.Units)
	if t.LatencyMS != nil {
		text += fmt.Sprintf(", and the upstream that it would meet is measured at %.1f ms (%s)", *t.LatencyMS, t.From)
	}
	return text
}
