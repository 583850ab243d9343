package advice

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/status"
)

// RecommendChainInput is which chains to rank, and by what.
type RecommendChainInput struct {
	Family     string     `json:"family,omitempty" enum:"evm,solana" doc:"only chains of this family; leave it out for all"`
	Candidates []chain.ID `json:"candidates,omitempty" maxItems:"6" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"only these chains, up to six; leave it out for all" example:"[\"base_mainnet\",\"arbitrum_one\"]"`
	Prefer     string     `json:"prefer,omitempty" enum:"latency,uptime" default:"latency" doc:"latency: what answers quickest; uptime: what is most likely to answer"`
}

// check refuses candidates of another family.
func (in *RecommendChainInput) check(known *chain.Set) *fault.Error {
	for _, id := range in.Candidates {
		if c, ok := known.Lookup(string(id)); ok && in.Family != "" && c.Family.String() != in.Family {
			return operation.RefuseField("candidates", "%s is no chain of the family %s. Leave one of the two out.", id,
				in.Family)
		}
	}
	return nil
}

// RecommendedChain is the chain to use according to measurements.
type RecommendedChain struct {
	Pick       *chain.ID      `json:"pick" nullable:"true" doc:"the first of ranked; null when nothing is ranked"`
	Reason     string         `json:"reason"`
	Prefer     string         `json:"prefer" enum:"latency,uptime"`
	Ranked     []RankedChain  `json:"ranked" doc:"the best first"`
	NotRanked  []UnrankedHere `json:"not_ranked" doc:"chains that were asked about and cannot be judged or used now"`
	MeasuredAt *time.Time     `json:"measured_at" nullable:"true" doc:"when probes last looked at the ranked chain that was looked at longest ago; null when nothing is ranked"`
	Note       string         `json:"note"`
}

// RankedChain is a chain with its measurements.
type RankedChain struct {
	Chain         chain.ID  `json:"chain"`
	Title         string    `json:"title"`
	Family        string    `json:"family" enum:"evm,solana"`
	LatencyMS     float64   `json:"latency_ms" doc:"what a probe of its quickest usable upstream took, from the gateway"`
	Usable        int       `json:"usable_upstreams" doc:"how many upstreams calls may go to now"`
	Upstreams     int       `json:"upstreams" doc:"how many there are"`
	HeadLagBlocks uint64    `json:"head_lag_blocks" doc:"how far the quickest one is behind the chain's head"`
	ErrorPercent  *float64  `json:"error_percent" nullable:"true" doc:"share of attempts that upstreams failed within five minutes, as this server saw them; null when there were too few"`
	UptimePercent *float64  `json:"uptime_percent" nullable:"true" doc:"share of the measured time of the last 30 days in which it was not down, rounded down; null without any"`
	MeasuredAt    time.Time `json:"measured_at"`

	blockTime time.Duration
}

// UnrankedHere is a chain that is not ranked.
type UnrankedHere struct {
	Chain chain.ID `json:"chain"`
	Why   string   `json:"why"`
}

// measureLasts is the maximum age of probes that a recommendation uses. It covers several rounds at
// the slowest configurable interval.
const measureLasts = 5 * time.Minute

const whatIsMeasured = "Latency is measured from the gateway to its upstreams, not from you. Chains hold different " +
	"state: choose by it only where your work can run on either."

const whatUptimeIs = "Uptime is first whether two upstreams are usable now, then the share of the last 30 days in " +
	"which the chain was not down, to a tenth of a percent (not measured counts as never down), then the share of " +
	"attempts that failed within five minutes to the percent (too few count as none failed), then how many are " +
	"usable and how fresh the head is. The days are at /status."

func (h *handlers) recommendChain() *operation.Operation[RecommendChainInput, RecommendedChain] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "recommend_chain", Title: "Recommend a chain", Access: operation.Everybody, PerNetwork: true, Reads: true,
		Description: "Ranks chains by latency or by uptime, from what probes measured and how calls went. With " +
			"nothing measured it ranks nothing. It costs nothing and changes nothing.",
	}, func(ctx context.Context, _ *operation.Call, in RecommendChainInput) (RecommendedChain, error) {
		if refusal := in.check(h.Pool.Known()); refusal != nil {
			return RecommendedChain{}, refusal
		}
		return h.runRecommendChain(&in, h.Status.Uptimes(ctx)), nil
	})
}

func (h *handlers) runRecommendChain(in *RecommendChainInput, uptimes map[chain.ID]float64) RecommendedChain {
	r := RecommendedChain{
		Prefer: cmp.Or(in.Prefer, "latency"), Ranked: []RankedChain{}, NotRanked: []UnrankedHere{},
		Note: whatIsMeasured,
	}
	for _, c := range h.Pool.Known().All() {
		asked := len(in.Candidates) == 0 || slices.Contains(in.Candidates, c.ID)
		if !asked || in.Family != "" && c.Family.String() != in.Family {
			continue
		}
		if ranked, why := h.rank(c); why != "" {
			r.NotRanked = append(r.NotRanked, UnrankedHere{c.ID, why})
		} else {
			if up, known := uptimes[c.ID]; known {
				ranked.UptimePercent = &up
			}
			r.Ranked = append(r.Ranked, ranked)
		}
	}
	if len(r.Ranked) == 0 {
		r.Reason = "No chain that was asked about is measured and usable now, so none is recommended. Ask again in a " +
			"minute."
		return r
	}
	slices.SortStableFunc(r.Ranked, byLatency)
	if r.Prefer == "uptime" {
		r.Note += " " + whatUptimeIs
		slices.SortStableFunc(r.Ranked, byUptime)
	}
	first := &r.Ranked[0]
	r.Pick, r.MeasuredAt, r.Reason = &first.Chain, &first.MeasuredAt, first.reason(r.Prefer, len(r.Ranked))
	for i := range r.Ranked {
		if at := &r.Ranked[i].MeasuredAt; at.Before(*r.MeasuredAt) {
			r.MeasuredAt = at
		}
	}
	return r
}

// rank returns a chain's measurements, or why it cannot be ranked.
func (h *handlers) rank(c *chain.Chain) (ranked RankedChain, why string) {
	here, ok := h.Pool.Chain(c.ID)
	if !ok {
		return RankedChain{}, "This gateway has no upstream for it."
	}
	is := here.Condition()
	switch {
	case is.MeasuredAt.IsZero():
		return RankedChain{}, "No probe has looked at it yet."
	case h.Now().Sub(is.MeasuredAt) > measureLasts:
		return RankedChain{}, fmt.Sprintf("Probes looked at it last on %s, which is too long ago to go by.",
			operation.InWords(is.MeasuredAt))
	case is.Usable == 0:
		return RankedChain{}, fmt.Sprintf("None of its %d upstreams can be used now.", is.Upstreams)
	}
	ranked = RankedChain{
		Chain: c.ID, Title: c.Title, Family: c.Family.String(), LatencyMS: status.Milliseconds(is.Latency),
		Usable: is.Usable, Upstreams: is.Upstreams, HeadLagBlocks: is.Behind, MeasuredAt: is.MeasuredAt,
		blockTime: c.BlockTime,
	}
	if is.Judged {
		percent := math.Round(is.Failed*10_000) / 100
		ranked.ErrorPercent = &percent
	}
	return ranked, ""
}

func byLatency(a, b RankedChain) int { //nolint:gocritic // sorted by value
	return cmp.Or(cmp.Compare(a.LatencyMS, b.LatencyMS), cmp.Compare(b.Usable, a.Usable))
}

// byUptime orders chains by these criteria: whether two upstreams are usable, so that one may fail;
// uptime to a tenth of a percent; failed attempts to a percent; usable upstreams; freshness of the
// head.
func byUptime(a, b RankedChain) int { //nolint:gocritic // sorted by value
	return cmp.Or(
		cmp.Compare(min(b.Usable, 2), min(a.Usable, 2)), cmp.Compare(b.uptime(), a.uptime()),
		cmp.Compare(a.errors(), b.errors()), cmp.Compare(b.Usable, a.Usable), cmp.Compare(a.behind(), b.behind()))
}

// uptime returns the uptime in tenths of a percent. Unknown counts as 100 percent.
func (r *RankedChain) uptime() int {
	if r.UptimePercent == nil {
		return 1000
	}
	return int(*r.UptimePercent * 10)
}

// errors returns the share of failed attempts in whole percent. Unknown counts as 0.
func (r *RankedChain) errors() int {
	if r.ErrorPercent == nil {
		return 0
	}
	return int(math.Round(*r.ErrorPercent))
}

// behind returns the age of the quickest upstream's head relative to the chain's head.
func (r *RankedChain) behind() time.Duration {
	return time.Duration(min(r.HeadLagBlocks, 1<<20)) * r.blockTime //nolint:gosec // bounded
}

func (r *RankedChain) reason(prefer string, of int) string {
	errors := "too few calls to tell a share of errors"
	if r.ErrorPercent != nil {
		errors = fmt.Sprintf("%.2f %% of attempts failed within five minutes", *r.ErrorPercent)
	}
	facts := fmt.Sprintf("%d of its %d upstreams are usable, the quickest answered a probe in %.1f ms, %s.", r.Usable,
		r.Upstreams, r.LatencyMS, errors)
	if r.UptimePercent != nil {
		facts += fmt.Sprintf(" Of the time measured in the last 30 days it was up for %.2f %%.", *r.UptimePercent)
	}
	switch {
	case of == 1:
		return fmt.Sprintf("%s is the only one that is measured and usable: %s", r.Title, facts)
	case prefer == "uptime":
		return fmt.Sprintf("Of %d chains %s is most likely to answer: %s", of, r.Title, facts)
	default:
		return fmt.Sprintf("Of %d chains %s answered quickest: %s", of, r.Title, facts)
	}
}

// measuredAt returns when a chain was last probed, or nil if it never was.
func measuredAt(c *upstream.Chain) *time.Time { return operation.NullTime(c.Condition().MeasuredAt) }
