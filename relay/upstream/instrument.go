package upstream

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// Outcomes of attempts besides their meaning, for the metrics.
const (
	timedOut   = int(rules.Unreachable) + 1 + iota
	calledOff  // cancelled early, because another was faster or the call takes long everywhere
	writeLost  // a submission that was sent and not answered usably
	outcomeEnd // number of outcomes
)

// attemptOutcomes are the metric labels of outcomes, of meanings their names.
var attemptOutcomes = func() (labels [outcomeEnd]string) {
	for m := rules.Answer; m <= rules.Unreachable; m++ {
		labels[m] = m.String()
	}
	labels[timedOut], labels[calledOff], labels[writeLost] = "timeout", "called_off", "write_lost"
	return labels
}()

// counted returns the index of an observation in attemptOutcomes.
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

// mark sets the upstream and the outcome of an attempt on its span.
func (e *Endpoint) mark(span *telemetry.Span, o *observation) {
	if span != nil {
		span.Set("gateway.upstream", e.Name)
		span.Set("gateway.outcome", attemptOutcomes[o.counted()])
	}
}

// spending is where an endpoint's requests are counted with what they cost.
type spending struct {
	ledger *price.Ledger // nil counts nothing
	chain  string
}

// spend counts a request that the provider charges for, and returns its cost.
func (e *Endpoint) spend(method []byte) price.Nanos {
	if e.tariff == nil {
		return 0
	}
	cost := e.tariff.Of(method)
	e.limits.Spend(cost.Units)
	e.spending.ledger.Request(e.health.now(), e.spending.chain, e.Name, method, cost)
	return cost.Nanos
}

// charged reports whether providers charge for a request that ended so: one that was answered, with
// a result or an error of the node, and one whose answer nobody waited for. They charge for none
// that was refused by status, key, plan or rate, or that did not arrive.
func charged(v verdict, answered bool, err error) bool {
	if m := v.meaning; m == rules.Throttled || m == rules.Billing || m == rules.Plan || m == rules.Denied {
		return false
	}
	if v.meaning == rules.Unreachable {
		return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	}
	_, byStatus := errors.AsType[*httpStatusError](err)
	return answered || !byStatus
}

// CountCosts sets the ledger of what requests cost. It must be called before the first call.
func (p *Pool) CountCosts(l *price.Ledger) {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	p.ledger = l
	p.instrument(p.set.Load())
}

// Instrument sets the metrics, the tracer and the log for panics of attempts; each may be nil. It
// must be called before the first call.
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

// instrument creates the series of a set's upstreams, before the set is in force.
func (p *Pool) instrument(set *chainSet) {
	for id, c := range set.chains {
		for _, of := range append(c.special[:], c) {
			if of != nil {
				of.tracer, of.panics = p.tracer, p.panics
			}
		}
		for e := range c.all() {
			if p.rates != nil {
				p.rates.Add(e.limits, rateKey(id, e), budgetKey(id, e.Name))
			}
			if e.spending.chain == "" || e.spending.ledger != p.ledger { // calls in flight read it
				e.spending = spending{p.ledger, string(id)}
			}
			if e.metrics == nil {
				e.metrics = p.metrics.Upstream(string(id), e.Name, attemptOutcomes[:])
				e.health.metrics = e.metrics
				e.limits.Metrics = e.metrics
			}
		}
	}
}

// forget removes the series of upstreams that the next set no longer has.
func (p *Pool) forget(old, next *chainSet) {
	for id, c := range old.chains {
		for e := range c.all() {
			if on, ok := next.chains[id]; !ok || on.Fingerprint(e.Name) == "" {
				p.metrics.Remove(string(id), e.Name)
			}
		}
	}
}

// states returns the gauges for a scrape.
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
		for e := range c.all() {
			u := telemetry.UpstreamState{
				Name: e.Name, Excluded: e.health.snapshot(now).out, Cordoned: e.cordoned.Load(),
				Rate: e.limits.Rate(), RateAlone: e.limits.Alone(),
			}
			u.Budget, u.Spent, _ = e.limits.Budget()
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

// panicLog logs panics of attempts, rate limited; nil logs none.
type panicLog struct {
	logger *slog.Logger
	limit  *telemetry.LogLimit[panicKind]
}

type panicKind struct {
	chain    chain.ID
	upstream string
}

// write logs a panic. cause must be free of the upstream's secrets.
func (l *panicLog) write(on chain.ID, upstream, cause string, stack []byte) {
	if l == nil {
		return
	}
	if leftOut, ok := l.limit.Let(panicKind{on, upstream}); ok {
		l.logger.Error("an attempt panicked", "chain", on, "upstream", upstream, "cause", cause, "stack", string(stack),
			"left_out", leftOut)
	}
}
