// Package ratelimit limits the concurrency and the rate of calls to an upstream.
package ratelimit

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
)

// Limits keep calls within the concurrency and rate that the operator set for an upstream, so that
// the plan with a provider is not exceeded. The rate is shared by all processes once a Sharer has
// the limits. An endpoint at its limit is skipped, but not blamed.
type Limits struct {
	maxConcurrent int64 // concurrent calls; 0 for no limit
	inFlight      atomic.Int64
	perSecond     float64
	pace          *pace // of this process alone; nil for no rate limit
	lease         lease
	budget        *budget             // nil for none
	instance      int64               // numbers the limits of this process
	key           string              // of the rate in Redis, set by the Sharer
	budgetKey     string              // of the budget
	Metrics       *telemetry.Upstream // set before the first call; nil counts nothing
}

// instances counts Limits. After a reload, an upstream's old ones and its new ones spend for a
// while under the same keys, each under a name of its own.
var instances atomic.Int64

func (l *Limits) holder(process string) string {
	return process + ":" + strconv.FormatInt(l.instance, 10)
}

// New returns the limits of an upstream.
func New(u config.Upstream) *Limits {
	l := &Limits{
		maxConcurrent: int64(u.MaxConcurrent), perSecond: u.MaxPerSecond, budget: newBudget(u.Budget),
		instance: instances.Add(1),
	}
	if u.MaxPerSecond > 0 {
		l.pace = newPace(u.MaxPerSecond)
	}
	return l
}

// Take reserves room for one call, and reports whether there was some. After true the caller must
// call Release.
func (l *Limits) Take(now time.Time) bool {
	if l.spentBudget() {
		l.Metrics.Limited(telemetry.BudgetLimit)
		return false
	}
	if !l.enter() {
		l.Metrics.Limited(telemetry.ConcurrencyLimit)
		return false
	}
	if l.spend(now) > 0 {
		l.Release()
		l.Metrics.Limited(telemetry.RateLimit)
		return false
	}
	return true
}

func (l *Limits) spentBudget() bool { return l.budget != nil && l.budget.usedUp.Load() }

// Exhausted reports whether the upstream gets no calls for long, because its budget is spent or the
// provider's plan is used up. Waiting a moment does not help then.
func (l *Limits) Exhausted() bool { return l.lease.closed.Load() || l.spentBudget() }

// retryLease is how long a probe waits before it looks for a token of the shared rate again.
const retryLease = 50 * time.Millisecond

// spend counts a call against the rate if there is room, and otherwise returns how long until it
// is worth trying again.
func (l *Limits) spend(now time.Time) (wait time.Duration) {
	if !l.lease.take(now) {
		return retryLease
	}
	if l.pace == nil {
		return 0
	}
	if wait = l.pace.take(now); wait > 0 {
		l.lease.putBack()
	}
	return wait
}

// Alone reports whether the rate is not shared at the moment because Redis is away. The process
// then keeps to its part of it.
func (l *Limits) Alone() bool { return l.lease.alone.Load() }

// Rate returns the rate in force, in calls a second of all processes: the operator's, or a lower
// one that the provider's refusals led to; 0 for none.
func (l *Limits) Rate() float64 {
	if !l.lease.shared.Load() {
		return l.perSecond
	}
	return l.lease.rate()
}

// Refused records that the provider refused a call for its rate, and the time that it asked to
// wait. The rate in force becomes lower for all processes.
func (l *Limits) Refused(wait time.Duration) {
	if !l.lease.shared.Load() {
		return
	}
	l.lease.refused.Store(max(l.lease.refused.Load(), wait.Milliseconds()+1))
	l.lease.ask()
}

// UsedUp records that the provider refused a call because the operator's plan is used up. No
// process calls it until it answers one of the calls that try it now and then.
func (l *Limits) UsedUp() {
	if l.lease.shared.Load() {
		l.lease.usedUp.Store(true)
		l.lease.ask()
	}
}

// Answered records that the provider answered a call. A rate that it lowered rises again.
func (l *Limits) Answered() {
	if !l.lease.answered.Load() {
		l.lease.answered.Store(true)
	}
}

// Concurrency returns how many calls may be in flight; zero for no limit.
func (l *Limits) Concurrency() int64 { return l.maxConcurrent }

func (l *Limits) enter() bool {
	for l.maxConcurrent > 0 {
		n := l.inFlight.Load()
		if n >= l.maxConcurrent {
			return false
		}
		if l.inFlight.CompareAndSwap(n, n+1) {
			break
		}
	}
	return true
}

// Release returns the room of a call.
func (l *Limits) Release() {
	if l.maxConcurrent > 0 {
		l.inFlight.Add(-1)
	}
}

// probePatience is how long a probe waits for its turn. Then it is sent anyway, because a busy
// upstream must still be measured.
const probePatience = 500 * time.Millisecond

// WaitToProbe counts a probe against the rate limit, after at most probePatience. Probes do not
// count against the concurrency limit. While the provider's plan is used up, probes take no token:
// the few that there are belong to calls.
func (l *Limits) WaitToProbe(ctx context.Context, now func() time.Time) {
	if l.lease.closed.Load() {
		return
	}
	for left := probePatience; ; {
		wait := l.spend(now())
		if wait == 0 {
			return
		}
		if left == 0 {
			l.lease.force()
			if l.pace != nil {
				l.pace.force(now())
			}
			return
		}
		wait = min(wait, left)
		left -= wait
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// pace is a sliding-window rate limit: it allows at most so many calls in any second, even all at
// once. It remembers the times of the last calls; with a token bucket, a full bucket and its refill
// could fall into one second. Above maxRemembered per second it enforces the same rate over a
// shorter window.
type pace struct {
	window time.Duration

	mu   sync.Mutex // guards what follows
	sent []int64    // unix nanoseconds, in a ring
	next int        // the oldest
}

const maxRemembered = 10_000

// newPace takes calls per second; below one, it allows one call per 1/perSecond seconds.
func newPace(perSecond float64) *pace {
	n := min(int(math.Ceil(perSecond)), maxRemembered)
	return &pace{window: time.Duration(float64(n) / perSecond * float64(time.Second)), sent: make([]int64, n)}
}

// take counts a call if there is room, and otherwise returns how long until there is.
func (p *pace) take(now time.Time) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := now.UnixNano()
	// a clock that was set back must not block calls
	if ago := time.Duration(t - p.sent[p.next]); ago >= 0 && ago < p.window {
		return p.window - ago
	}
	p.count(t)
	return 0
}

// force counts a call that is sent in any case.
func (p *pace) force(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count(now.UnixNano())
}

func (p *pace) count(t int64) {
	p.sent[p.next] = t
	p.next = (p.next + 1) % len(p.sent)
}
