package upstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Overview is what is known of one upstream, put together for operators from the file, the probes,
// the cordons and the processes.
type Overview struct {
	Chain    chain.ID    `json:"chain"`
	Upstream string      `json:"upstream"`
	Supply   plan.Supply `json:"supply"`
	// Score is by which standard reads choose, in milliseconds, the lower the better: the time that
	// nine of ten answers stay under, worsened by failures, throttling and lag. nil when nothing
	// was measured.
	Score *float64 `json:"score"`
	// P50 and P95 are times of answers in milliseconds; nil when nothing was measured.
	P50 *float64 `json:"p50_ms"`
	P95 *float64 `json:"p95_ms"`
	// Source is where the times are from: calls, or probes while there were too few calls; empty
	// for neither.
	Source string `json:"source"`
	// ErrorRate and ThrottledRate are shares of Calls, those of the last five minutes in all
	// Processes; nil without calls.
	ErrorRate     *float64 `json:"error_rate"`
	ThrottledRate *float64 `json:"throttled_rate"`
	Calls         int64    `json:"calls"`
	Processes     int      `json:"processes"`
	// HeadLag is how many blocks it is behind; nil when its head is not known.
	HeadLag *uint64 `json:"head_lag"`
	// Capabilities says what probes found: true, false, or null when they do not know.
	Capabilities map[chain.Capability]*bool `json:"capabilities"`
	// State is usable, or why no call goes there: cordoned, unmeasured, wrong_chain, unreachable,
	// bad_answer, lagging, implausibly_ahead, excluded. Detail says more, for people.
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
	// MeasuredAt is when probes last looked at the chain; zero when they did not yet.
	MeasuredAt time.Time `json:"measured_at,omitzero"`
}

// States that no probe gives.
const (
	StateUsable     = "usable"
	StateCordoned   = "cordoned"
	StateUnmeasured = "unmeasured"
	StateExcluded   = "excluded"
)

// Overview puts together what the board says about the pool's upstreams, chain by chain in the
// order of the pool and upstream by upstream in the order of the file.
func (b *Board) Overview(ctx context.Context, p *Pool) ([]Overview, error) {
	ids := p.Chains()
	posted, err := b.ReadAll(ctx, ids...)
	if err != nil {
		return nil, err
	}
	figures, err := b.ReadFigures(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var all []Overview
	for _, id := range ids {
		c, _ := p.Chain(id)
		for _, e := range c.endpoints {
			snapshot := posted[id].Snapshot
			o := Overview{Chain: id, Upstream: e.Name, Supply: e.Supply, MeasuredAt: snapshot.MeasuredAt}
			s, measured := snapshot.of(e)
			i := slices.IndexFunc(figures[id], func(f Figures) bool {
				return f.Upstream == e.Name && f.Fingerprint == e.fingerprint
			})
			var seen Figures
			if i >= 0 {
				seen = figures[id][i]
			}
			o.figures(seen, s, c.toleratedLag())
			o.state(posted[id], seen, s, measured)
			o.capabilities(c, s, p.now())
			all = append(all, o)
		}
	}
	return all, nil
}

func milliseconds(d time.Duration) *float64 {
	ms := float64(d) / float64(time.Millisecond)
	return &ms
}

// figures fills in what calls showed, and what probes did where there were none.
func (o *Overview) figures(f Figures, s UpstreamState, toleratedLag uint64) {
	o.Calls, o.Processes = f.Calls, f.Processes
	var bad float64
	if f.Calls > 0 {
		failed, throttled := float64(f.Failed)/float64(f.Calls), float64(f.Throttled)/float64(f.Calls)
		o.ErrorRate, o.ThrottledRate = &failed, &throttled
		if f.Calls >= minSamples {
			bad = failed + throttled
		}
	}
	usual := time.Duration(s.LatencyMicros) * time.Microsecond
	if q := f.quantiles(standardReads); q.known {
		usual = q.p90
	}
	switch q := f.quantiles(standardReads, heavyReads); {
	case q.known:
		o.P50, o.P95, o.Source = milliseconds(q.p50), milliseconds(q.p95), "calls"
	case usual > 0:
		o.P50, o.P95, o.Source = milliseconds(usual), milliseconds(usual), "probes"
	default:
		return
	}
	if usual == 0 {
		return
	}
	o.Score = milliseconds(time.Duration(rating(usual, bad, s.Lag, toleratedLag)))
}

// state reports whether calls go there.
func (o *Overview) state(posted Posted, f Figures, s UpstreamState, measured bool) {
	if s.Head > 0 {
		o.HeadLag = &s.Lag
	}
	cordon, cordoned := posted.Cordons[o.Upstream]
	switch {
	case cordoned:
		o.State, o.Detail = StateCordoned, cordon.String()
	case !measured:
		o.State, o.Detail = StateUnmeasured, "no probe of this address yet"
	case !s.Usable:
		o.State = s.Reason
	case f.Out > 0:
		o.State, o.Detail = StateExcluded, fmt.Sprintf("by %d of %d processes, for its failures or at its wish", f.Out,
			f.Processes)
	default:
		o.State = StateUsable
	}
}

// capabilities tells those that the chain's upstreams are probed for.
func (o *Overview) capabilities(c *Chain, s UpstreamState, now time.Time) {
	o.Capabilities = make(map[chain.Capability]*bool)
	for i := range capabilityProbes {
		p := &capabilityProbes[i]
		if !p.on(c) {
			continue
		}
		o.Capabilities[p.of] = nil
		if able, known := s.Capable(p.of, now); known {
			o.Capabilities[p.of] = &able
		}
	}
}

// Able lists what the upstream was found to be capable of, and Unknown what is not known, both
// sorted.
func (o *Overview) Able() (able, unknown []string) {
	for of, can := range o.Capabilities {
		switch {
		case can == nil:
			unknown = append(unknown, string(of))
		case *can:
			able = append(able, string(of))
		}
	}
	slices.Sort(able)
	slices.Sort(unknown)
	return able, unknown
}

// String says who took an upstream out of rotation, when and why.
func (c Cordon) String() string {
	text := "by " + c.By + " at " + c.At.UTC().Format(time.RFC3339)
	if c.By == "" {
		text = "by somebody"
	}
	if c.Reason != "" {
		text += ": " + strings.Join(strings.Fields(c.Reason), " ")
	}
	return text
}
