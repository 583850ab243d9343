package ratelimit

import (
	"math"
	"sync/atomic"
	"time"
)

// leaseTime is how long a process may spend tokens after it asked for them. With room for the
// tokens of one lease, a rate is exceeded by at most that.
const leaseTime = 300 * time.Millisecond

// lease is what this process may spend of a rate that all processes share. Calls take tokens
// without waiting for anybody; a Sharer refills them in the background.
type lease struct {
	shared  atomic.Bool   // false until a Sharer has it
	inForce atomic.Uint64 // the rate as float bits, calls a second; 0 for none
	closed  atomic.Bool   // the provider's plan is used up, and a call now and then tries it
	tokens  atomic.Int64
	until   atomic.Int64 // unix nanoseconds; later there are none
	wanted  atomic.Int64 // calls since the start, with those that were refused
	hungry  atomic.Bool  // a call was refused since the last exchange
	alone   atomic.Bool  // Redis is away, and the process keeps to its last share
	// what the provider did since the last exchange
	answered atomic.Bool
	refused  atomic.Int64 // milliseconds that it asked to wait, plus one; 0 if it refused nothing
	usedUp   atomic.Bool  // it refused a call because the plan is used up
	nudge    chan<- struct{}

	// of the Sharer's goroutine
	asked     time.Time // of the last exchange
	counted   int64     // wanted at that time
	demand    float64   // calls a second, averaged over one lease, or one call at the rate
	processes int64     // last seen
	carry     float64   // part of a token that a process on its own has earned
	earned    time.Time
}

// take takes a token if there is one. It does not wait.
func (l *lease) take(now time.Time) bool {
	if !l.shared.Load() {
		return true
	}
	l.wanted.Add(1)
	if l.inForce.Load() == 0 && !l.closed.Load() {
		return true
	}
	if now.UnixNano() < l.until.Load() {
		for n := l.tokens.Load(); n > 0; n = l.tokens.Load() {
			if l.tokens.CompareAndSwap(n, n-1) {
				if n == 1 {
					l.ask()
				}
				return true
			}
		}
	}
	l.hungry.Store(true)
	l.ask()
	return false
}

// putBack returns the token of a call that is not made.
func (l *lease) putBack() {
	if l.shared.Load() {
		l.tokens.Add(1)
	}
}

// force spends a token that the process does not have. It is repaid from the next ones.
func (l *lease) force() {
	if l.shared.Load() {
		l.tokens.Add(-1)
	}
}

// rate returns the rate in force, 0 for none.
func (l *lease) rate() float64 { return math.Float64frombits(l.inForce.Load()) }

// setRate puts a rate in force, 0 for none.
func (l *lease) setRate(perSecond float64) { l.inForce.Store(math.Float64bits(perSecond)) }

// idles reports whether the lease has no news and no rate, so that it can be exchanged less often.
func (l *lease) idles(now time.Time) bool {
	news := l.refused.Load() != 0 || l.usedUp.Load()
	return l.inForce.Load() == 0 && !l.closed.Load() && !news && now.Sub(l.asked) < unlimitedEvery
}

// ask has the Sharer exchange soon.
func (l *lease) ask() {
	select {
	case l.nudge <- struct{}{}:
	default: // it is about to
	}
}

// offer returns what the process brings to an exchange.
func (l *lease) offer(now time.Time) Offer {
	if now.UnixNano() >= l.until.Load() {
		l.drop()
	}
	held := l.tokens.Load()
	if l.alone.Load() { // what it earned on its own is not of Redis
		held = min(held, 0)
	}
	wanted := l.wanted.Load()
	if passed := now.Sub(l.asked).Seconds(); !l.asked.IsZero() && passed > 0 {
		span := leaseTime.Seconds()
		if rate := l.rate(); rate > 0 {
			span = max(span, 1/rate)
		}
		weight := 1 - math.Exp(-passed/span)
		l.demand += weight * (float64(wanted-l.counted)/passed - l.demand)
	}
	l.asked, l.counted = now, wanted
	refused := l.refused.Swap(0) - 1
	if l.usedUp.Swap(false) {
		refused = usedUp
	}
	return Offer{
		Held: held, Demand: l.demand, Hungry: l.hungry.Swap(false), Refused: refused, Answered: l.answered.Swap(false),
	}
}

// keep takes back what an exchange that failed was to tell the others.
func (l *lease) keep(o *Offer) {
	switch {
	case o.Refused == usedUp:
		l.usedUp.Store(true)
	case o.Refused >= 0:
		l.refused.CompareAndSwap(0, o.Refused+1)
	}
	if o.Answered {
		l.answered.Store(true)
	}
}

// drop discards tokens, but not a debt.
func (l *lease) drop() {
	for n := l.tokens.Load(); n > 0; n = l.tokens.Load() {
		if l.tokens.CompareAndSwap(n, 0) {
			return
		}
	}
}

// adopt takes over what an exchange that began at a time brought.
func (l *lease) adopt(began time.Time, g Grant) {
	if l.alone.Swap(false) {
		l.drop()
	}
	l.processes = g.Processes
	l.setRate(g.Rate)
	l.closed.Store(g.UsedUp)
	l.tokens.Add(g.Tokens)
	l.until.Store(began.Add(leaseTime).UnixNano())
}

// earn adds what the process earns on its own when an exchange failed and its lease is over: its
// part of the rate, were all processes that were last seen on their own.
func (l *lease) earn(now time.Time) {
	switch {
	case now.UnixNano() < l.until.Load() && !l.alone.Load():
		return
	case !l.alone.Swap(true):
		l.drop()
		l.carry, l.earned = 0, now
	}
	share := l.rate() / float64(max(1, l.processes))
	l.carry += share * now.Sub(l.earned).Seconds()
	l.earned = now
	whole := int64(l.carry)
	l.carry -= float64(whole)
	room := max(1, int64(share*leaseTime.Seconds()))
	l.tokens.Add(min(whole, room-l.tokens.Load()))
	l.until.Store(now.Add(leaseTime).UnixNano())
}
