package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Overview is what is known of one upstream, for operators, from the upstreams file, the probes,
// the cordons and the processes.
type Overview struct {
	Chain    chain.ID `json:"chain"`
	Upstream string   `json:"upstream"`
	// Kind is what the upstream is asked for: node, private or bundler.
	Kind   string      `json:"kind"`
	Supply plan.Supply `json:"supply"`
	// Score is the score by which standard reads choose, in milliseconds, lower is better: the p90
	// latency, increased by failures, throttling and lag. nil without measurements.
	Score *float64 `json:"score"`
	// P50 and P95 are response times in milliseconds; nil without measurements.
	P50 *float64 `json:"p50_ms"`
	P95 *float64 `json:"p95_ms"`
	// Source is the source of P50 and P95: "calls", or "probes" if there were too few calls; empty
	// if neither.
	Source string `json:"source"`
	// ErrorRate and ThrottledRate are shares of Calls, which are those of the last five minutes in
	// all Processes; nil without calls.
	ErrorRate     *float64 `json:"error_rate"`
	ThrottledRate *float64 `json:"throttled_rate"`
	Calls         int64    `json:"calls"`
	// Compared counts results of verified reads in the last ten minutes, Disagreed those that
	// contradicted most upstreams.
	Compared  int64 `json:"compared"`
	Disagreed int64 `json:"disagreed"`
	Processes int   `json:"processes"`
	// HeadLag is how many blocks the upstream is behind; nil if its head is unknown.
	HeadLag *uint64 `json:"head_lag"`
	// LogBlocks is the most blocks that the upstream takes in one eth_getLogs, by its refusals or
	// the upstreams file; nil if no limit is known. LogBlocksUntil is until when a refusal counts;
	// zero if the file's limit is the lower one.
	LogBlocks      *uint64   `json:"log_blocks"`
	LogBlocksUntil time.Time `json:"log_blocks_until,omitzero"`
	// Rate is how many calls a second all processes together may start: the upstreams file's, or
	// less after refusals of the provider, then Lowered; nil for no limit.
	Rate    *float64 `json:"rate"`
	Lowered bool     `json:"rate_lowered,omitempty"`
	// Budget is what the upstream may cost a month in the provider's units, Spent what it cost
	// since the month of the budget began; nil without a budget, and while Redis does not know.
	Budget *int64 `json:"budget_units,omitempty"`
	Spent  *int64 `json:"spent_units,omitempty"`
	// Capabilities are the probes' findings: true, false, or null if unknown.
	Capabilities map[chain.Capability]*bool `json:"capabilities"`
	// State is usable, or why the upstream gets no calls: cordoned, unmeasured, wrong_chain,
	// unreachable, bad_answer, lagging, implausibly_ahead, excluded. Detail explains it for people.
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
	// MeasuredAt is the time of the chain's last round of probes; zero before the first.
	MeasuredAt time.Time `json:"measured_at,omitzero"`
}

// States that do not come from probes.
const (
	StateUsable     = "usable"
	StateCordoned   = "cordoned"
	StateUnmeasured = "unmeasured"
	StateExcluded   = "excluded"
)

// Overview returns what the board holds about the pool's upstreams, by chain in the order of the
// pool and by upstream in the order of the file.
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
	quotas, err := b.quotas(ctx, p)
	if err != nil {
		return nil, err
	}
	var all []Overview
	for _, id := range ids {
		c, _ := p.Chain(id)
		for e := range c.all() {
			snapshot := posted[id].Snapshot
			o := Overview{
				Chain: id, Upstream: e.Name, Kind: e.role(), Supply: e.Supply, MeasuredAt: snapshot.MeasuredAt,
			}
			s, measured := snapshot.of(e)
			i := slices.IndexFunc(figures[id], func(f Figures) bool {
				return f.Upstream == e.Name && f.Fingerprint == e.fingerprint
			})
			var seen Figures
			if i >= 0 {
				seen = figures[id][i]
			}
			o.quota(e.configured, quotas[e])
			o.figures(seen, s, c.toleratedLag())
			o.state(posted[id], seen, s, measured)
			if e.kind == node {
				o.capabilities(c, s, p.now())
				o.logLimit(e.logLimit.declared, posted[id].LogLimits[e.fingerprint], p.now())
			}
			all = append(all, o)
		}
	}
	return all, nil
}

// quota is what Redis knows of the rate and the budget of an upstream.
type quota struct{ rate, spent *redis.StringCmd }

func (b *Board) quotas(ctx context.Context, p *Pool) (map[*Endpoint]quota, error) {
	asked := make(map[*Endpoint]quota)
	_, err := b.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for id, c := range p.set.Load().chains {
			for e := range c.all() {
				asked[e] = quota{
					pipe.HGet(ctx, rateKey(id, e), "rate"), pipe.HGet(ctx, budgetKey(id, e.Name), "spent"),
				}
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read rates and budgets: %w", err)
	}
	return asked, nil
}

// quota fills in the rate in force, which is the declared one or a lower one that refusals led to,
// and the budget.
func (o *Overview) quota(u config.Upstream, q quota) {
	lowered, err := q.rate.Float64()
	switch {
	case err == nil && (u.MaxPerSecond == 0 || lowered < u.MaxPerSecond):
		o.Rate, o.Lowered = &lowered, true
	case u.MaxPerSecond > 0:
		o.Rate = &u.MaxPerSecond
	}
	if u.Budget == nil {
		return
	}
	o.Budget = &u.Budget.Units
	if spent, err := q.spent.Int64(); err == nil {
		o.Spent = &spent
	}
}

func milliseconds(d time.Duration) *float64 {
	ms := float64(d) / float64(time.Millisecond)
	return &ms
}

// figures fills in the results of calls, or of probes if there were none.
func (o *Overview) figures(f Figures, s UpstreamState, toleratedLag uint64) {
	o.Calls, o.Processes, o.Compared, o.Disagreed = f.Calls, f.Processes, f.Compared, f.Disagreed
	var bad float64
	if f.Calls > 0 {
		failed, throttled := float64(f.Failed)/float64(f.Calls), float64(f.Throttled)/float64(f.Calls)
		o.ErrorRate, o.ThrottledRate = &failed, &throttled
		if f.Calls >= minSamples {
			bad = failed + throttled
		}
	}
	share, _ := disagreement(f.Compared, f.Disagreed)
	bad += share
	usual := time.Duration(s.LatencyMicros) * time.Microsecond
	if q := f.quantiles(standardReads); q.Known {
		usual = q.P90
	}
	switch q := f.quantiles(standardReads, heavyReads); {
	case q.Known:
		o.P50, o.P95, o.Source = milliseconds(q.P50), milliseconds(q.P95), "calls"
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

// state fills in State, Detail and HeadLag.
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

// logLimit fills in the lower one of the declared limit and the learned one, which holds for a
// while.
func (o *Overview) logLimit(declared uint64, learned LogLimit, now time.Time) {
	if declared > 0 {
		o.LogBlocks = &declared
	}
	if now.Before(learned.Until) && (declared == 0 || learned.Blocks < declared) {
		o.LogBlocks, o.LogBlocksUntil = &learned.Blocks, learned.Until.UTC()
	}
}

// capabilities fills in the capabilities that the chain's upstreams are probed for.
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

// Able returns the capabilities that the upstream has, and those that are unknown, both sorted.
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

// String returns who cordoned the upstream, when and why.
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

// Condition is the state of a chain's upstreams, from probes and this process's calls. It names no
// upstream.
type Condition struct {
	MeasuredAt time.Time // time of the last round of probes; zero before the first
	Head       uint64    // corroborated; zero if unknown
	Upstreams  int       // configured
	Usable     int       // of those, how many may get calls now
	// Latency is the probe latency of the fastest usable upstream, zero if none is usable. Behind
	// is its lag in blocks.
	Latency time.Duration
	Behind  uint64
	// Failed is the share of attempts in the last five minutes that failed or were throttled.
	// Judged is false if there were too few calls.
	Failed float64
	Judged bool
}

// Condition returns what is known now.
func (c *Chain) Condition() Condition {
	now := c.now()
	head, _ := c.CorroboratedHead()
	known := Condition{Head: head, Upstreams: len(c.endpoints)}
	if at := c.measuredAt.Load(); at != 0 {
		known.MeasuredAt = time.Unix(0, at).UTC()
	}
	var calls, failed int64
	for _, e := range c.endpoints {
		f := e.health.figures(now)
		calls, failed = calls+f.Calls, failed+f.Failed+f.Throttled
		s := e.state.Load()
		if !e.serves(s, now) {
			continue
		}
		known.Usable++
		if took := time.Duration(s.LatencyMicros) * time.Microsecond; known.Latency == 0 || took < known.Latency {
			known.Latency, known.Behind = took, s.Lag
		}
	}
	if known.Judged = calls >= minSamples; known.Judged {
		known.Failed = float64(failed) / float64(calls)
	}
	return known
}

// serves reports whether an endpoint is usable, not cordoned and not excluded.
func (e *Endpoint) serves(s *UpstreamState, now time.Time) bool {
	return s != nil && s.Usable && s.ChainIDOK && !e.cordoned.Load() && !e.health.snapshot(now).out
}

// Expectation is what a call can expect now.
type Expectation struct {
	Supply plan.Supply // of the best upstream for the call
	// Latency is the p90 of its answers, or the latency of its last probe if FromCalls is false;
	// zero if neither is known.
	Latency   time.Duration
	FromCalls bool
	Usable    int // number of upstreams that can answer
}

// Expect returns what a call of a method can expect within a supply and on a tier; false if no
// usable upstream can answer it. It chooses as a read does, except that it does not prefer the
// favourite.
func (c *Chain) Expect(m *chain.Method, supply plan.Supply, tier plan.Tier) (Expectation, bool) {
	r := &Request{Method: []byte(m.Name), Supply: supply, Tier: tier, Needs: m.Needs, Heavy: m.Class == chain.Heavy}
	now, lag, limit := c.now(), c.toleratedLag(), supplyRank(supply)
	best, usable := rated{place: -1}, 0
	for i, e := range c.endpoints {
		s := e.state.Load()
		if e.rank > limit || !e.serves(s, now) || e.lacks(r, s) {
			continue
		}
		usable++
		if a := (rated{i, rankFor(tier, e.rank, false), e.score(e.health.snapshot(now), s, r, lag)}); a.betterThan(
			best) {
			best = a
		}
	}
	if best.place < 0 {
		return Expectation{}, false
	}
	e := c.endpoints[best.place]
	s, h := e.state.Load(), e.health.snapshot(now)
	x := Expectation{
		Supply: e.Supply, Usable: usable, FromCalls: h.latency[classOf(r.Heavy)].Known ||
			h.latency[standardReads].Known,
	}
	if x.FromCalls || s.LatencyMicros > 0 {
		x.Latency = h.usual(r.Heavy, s)
	}
	return x, true
}

// Availability reports whether a chain's upstreams have a capability, as far as the probes know.
type Availability uint8

// The values, in ascending order of what is known.
const (
	// Unmeasured: no upstream is known to have the capability, and not all are known to lack it. A
	// call may be tried.
	Unmeasured Availability = iota
	// Absent: every upstream of the chain was probed, and lacks it.
	Absent
	// Away: some upstream has it, but none of those is usable now. A cordoned upstream is not
	// usable.
	Away
	// Live: a usable upstream has it.
	Live
)

// Availability returns the chain's availability of a capability.
func (c *Chain) Availability(of chain.Capability) Availability {
	now, best, open := c.now(), Unmeasured, false
	if of == chain.Bundler {
		return c.ofBundlers(now)
	}
	for _, e := range c.eligible() {
		stands, counts := e.availability(of, now)
		if !counts {
			continue
		}
		best, open = max(best, stands), open || stands == Unmeasured
	}
	if best == Absent && open {
		return Unmeasured
	}
	return best
}

// ofBundlers is the availability of the ERC-4337 methods.
func (c *Chain) ofBundlers(now time.Time) Availability {
	on := c.Bundlers()
	if on == nil {
		return Absent
	}
	if slices.ContainsFunc(on.endpoints, func(e *Endpoint) bool { return e.serves(e.state.Load(), now) }) {
		return Live
	}
	return Away
}

// availability returns the value for one upstream. counts is false for an upstream of another
// chain.
func (e *Endpoint) availability(of chain.Capability, now time.Time) (stands Availability, counts bool) {
	s := e.state.Load()
	if s == nil {
		return Unmeasured, true
	}
	if s.Reason == ReasonWrongChain {
		return Unmeasured, false
	}
	switch able, known := s.Capable(of, now); {
	case !known:
		return Unmeasured, true
	case !able:
		return Absent, true
	case !s.Usable || e.cordoned.Load():
		return Away, true
	}
	return Live, true
}
