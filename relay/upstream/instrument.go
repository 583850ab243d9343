package upstream

import (
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/relay/chain"
)

// What attempts come to besides their meaning, for the metrics.
const (
	timedOut   = int(isUnreachable) + 1 + iota
	calledOff  // given up before its time, because another was faster or the call takes long everywhere
	writeLost  // a submission that left and was not answered usably
	outcomeEnd // how many there are
)

// attemptOutcomes are the words for what attempts come to.
var attemptOutcomes = [outcomeEnd]string{
	isAnswer: "answer", isRange: "range_refused", isPlan: "plan_refused", isBilling: "billing",
	isThrottled: "throttled", isMissingData: "missing_data", isExecTimeout: "execution_timeout",
	isAbsent: "method_absent", isUnsupported: "unsupported", isDenied: "denied", isNullID: "null_id",
	isBroken: "broken", isUnreachable: "unreachable", timedOut: "timeout", calledOff: "called_off",
	writeLost: "write_lost",
}

// counted returns the place of an observation among attemptOutcomes.
func (o *observation) counted() int {
	switch {
	case o.slow:
		return calledOff
	case o.lost:
		return writeLost
	case o.timedOut:
		return timedOut
	}
	return int(o.meaning)
}

// mark notes on the span of an attempt whom it asked and what came of it.
func (e *Endpoint) mark(span *telemetry.Span, o *observation) {
	if span != nil {
		span.Set("gateway.upstream", e.Name)
		span.Set("gateway.outcome", attemptOutcomes[o.counted()])
	}
}

// Instrument has what upstreams do counted and traced, and mistakes of ours logged; each may be
// nil. It is called before the first call.
func (p *Pool) Instrument(m *telemetry.Upstreams, t *telemetry.Tracer, log *slog.Logger) {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	p.metrics, p.tracer = m, t
	if log != nil {
		p.panics = &panicLog{
			log, telemetry.NewLogLimit[panicKind](telemetry.LinesPerKind, telemetry.LogInterval, p.now),
		}
	}
	p.instrument(p.set.Load())
	m.Watch(p.states)
}

// instrument begins the series of a set's upstreams, before the set is in force.
func (p *Pool) instrument(set *chainSet) {
	for id, c := range set.chains {
		c.tracer, c.panics = p.tracer, p.panics
		for _, e := range c.endpoints {
			if e.metrics == nil {
				e.metrics = p.metrics.Upstream(string(id), e.Name, attemptOutcomes[:])
				e.health.metrics = e.metrics
				if e.limits != nil {
					e.limits.metrics = e.metrics
				}
			}
		}
	}
}

// forget ends the series of upstreams that the next set does not name any more.
func (p *Pool) forget(old, next *chainSet) {
	for id, c := range old.chains {
		for _, e := range c.endpoints {
			if on, ok := next.chains[id]; !ok || on.Fingerprint(e.Name) == "" {
				p.metrics.Remove(string(id), e.Name)
			}
		}
	}
}

// states is what a scrape reads.
func (p *Pool) states() []telemetry.ChainState {
	set, now := p.set.Load(), p.now()
	all := make([]telemetry.ChainState, 0, len(set.order))
	for _, id := range set.order {
		c := set.chains[id]
		head, _ := c.Head()
		of := telemetry.ChainState{Chain: string(id), Head: head}
		if at := c.measuredAt.Load(); at > 0 {
			of.MeasuredAt = time.Unix(0, at)
		}
		for _, e := range c.endpoints {
			u := telemetry.UpstreamState{
				Name: e.Name, Excluded: e.health.snapshot(now).out, Cordoned: e.cordoned.Load(),
			}
			if s := e.state.Load(); s != nil {
				//nolint:gosec // far from its end
				u.Usable, u.Head, u.Lag, u.LagTime = s.Usable && s.ChainIDOK, s.Head, s.Lag,
					time.Duration(s.Lag)*c.BlockTime
			}
			of.Upstreams = append(of.Upstreams, u)
		}
		all = append(all, of)
	}
	return all
}

// panicLog writes a few of the panics of attempts; nil writes none.
type panicLog struct {
	logger *slog.Logger
	limit  *telemetry.LogLimit[panicKind]
}

type panicKind struct {
	chain    chain.ID
	upstream string
}

// write tells of a panic whose cause is without what an upstream's address holds.
func (l *panicLog) write(on chain.ID, upstream, cause string, stack []byte) {
	if l == nil {
		return
	}
	if leftOut, ok := l.limit.Let(panicKind{on, upstream}); ok {
		l.logger.Error("an attempt panicked", "chain", on, "upstream", upstream, "cause", cause, "stack", string(stack),
			"left_out", leftOut)
	}
}
