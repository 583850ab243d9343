package upstream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// hedgeCost is the number of fast reads that earn one hedge, so that at most one read in twenty is
// hedged. maxHedgeCredit is the credit for ten hedges.
const (
	hedgeCost      = 20
	maxHedgeCredit = 10 * hedgeCost
)

// hedges is the budget for second attempts that run in parallel with slow first ones.
type hedges struct {
	credit atomic.Int64
	racing *sync.WaitGroup // the pool's: attempts that may outlive their read
}

// earn counts a fast read.
func (h *hedges) earn() {
	for {
		credit := h.credit.Load()
		if credit >= maxHedgeCredit || h.credit.CompareAndSwap(credit, credit+1) {
			return
		}
	}
}

func (h *hedges) affordable() bool { return h.credit.Load() >= hedgeCost }

func (h *hedges) spend() bool {
	for {
		credit := h.credit.Load()
		if credit < hedgeCost {
			return false
		}
		if h.credit.CompareAndSwap(credit, credit-hedgeCost) {
			return true
		}
	}
}

func (h *hedges) giveBack() { h.credit.Add(hedgeCost) }

// hedgeAfter returns how long the first attempt of a fast read may take before a hedge starts: the
// upstream's p95. may is false if that is unknown, no other upstream can be asked, or the budget is
// used up.
func (c *Chain) hedgeAfter(s *search, to choice, o *outcome) (after time.Duration, may bool) {
	if s.r.Tier != plan.Fast || o.attempts > 1 {
		return 0, false
	}
	c.hedges.earn()
	usual := &to.health.snapshot(c.now()).latency[classOf(s.r.Heavy)]
	return usual.P95, usual.Known && to.more > 0 && c.hedges.affordable()
}

var errPanicked = errors.New("an attempt panicked")

// racer is one of the attempts of a race.
type racer struct {
	to      *Endpoint
	callOff context.CancelFunc
}

// race makes a read's first attempt, and a hedge if the first takes longer than after. The first
// usable answer wins. The other attempt is cancelled, which blames nobody, and its answer released.
// race returns nil if neither answer was usable.
func (c *Chain) race(ctx context.Context, s *search, first choice, ask question, after time.Duration,
	o *outcome,
) *Answer {
	started := c.now()
	results, decided := make(chan attempted), make(chan struct{})
	defer close(decided)
	racers := append(make([]racer, 0, 2), c.start(ctx, first, ask, maxAttempts-o.attempts, results, decided))
	timer := time.NewTimer(after)
	defer timer.Stop()
	for running := 1; running > 0; {
		select {
		case <-timer.C:
			if second, ok := c.hedge(s); ok {
				o.begin(s.r, second)
				ask.body = transport.Renumber(ask.body)
				racers = append(racers, c.start(ctx, second, ask, maxAttempts-o.attempts, results, decided))
				running++
			}
		case a := <-results:
			running--
			answer := o.take(a, s.r)
			if answer == nil {
				continue
			}
			if running > 0 { // the other was asked too, and its provider charges for it
				s.r.Asked.Cost += loser(racers, a.to).tariff.Of(s.r.Method).Nanos
			}
			if running > 0 && a.to != first.Endpoint {
				first.observe(observation{took: c.now().Sub(started), heavy: ask.heavy, slow: true})
			}
			finish(racers, a.to, answer)
			return answer
		}
	}
	finish(racers, nil, nil)
	return nil
}

// start starts an attempt of a race. An answer that arrives after the race is decided is released.
func (c *Chain) start(ctx context.Context, to choice, ask question, left int, results chan<- attempted,
	decided <-chan struct{},
) racer {
	ctx, callOff := context.WithCancel(ctx)
	c.hedges.racing.Go(func() {
		a := c.attemptSafely(ctx, to, ask, left)
		select {
		case results <- a:
		case <-decided:
			if a.answer != nil {
				a.answer.Release()
			}
		}
	})
	return racer{to.Endpoint, callOff}
}

// attemptSafely makes an attempt in a goroutine of its own, where a panic would end the process.
// The panic counts as a broken answer instead. It is logged here, because the read does not report
// it if the other attempt succeeds.
func (c *Chain) attemptSafely(ctx context.Context, to choice, ask question, left int) (a attempted) {
	defer func() {
		if p := recover(); p != nil {
			a = attempted{
				to: to.Endpoint, verdict: verdicts[rules.Broken], err: c.panicked(to.Endpoint, p, ask.heavy),
			}
		}
	}()
	return c.attempt(ctx, to, ask, left)
}

// panicked logs a panic of an attempt, which counts as a broken answer, and returns it as an error.
func (c *Chain) panicked(e *Endpoint, p any, heavy bool) error {
	cause := e.scrub.Text(fmt.Sprint(p))
	c.panics.write(c.ID, e.Name, cause, debug.Stack())
	e.observe(observation{verdict: verdicts[rules.Broken], heavy: heavy})
	return fmt.Errorf("upstream %s: %w: %s", e.Name, errPanicked, cause)
}

// loser returns the endpoint of a race of two that did not win.
func loser(racers []racer, winner *Endpoint) *Endpoint {
	if racers[0].to == winner {
		return racers[1].to
	}
	return racers[0].to
}

// finish cancels the attempts that still run, and counts the hedge if there was one. The winner's
// stream continues until it is released.
func finish(racers []racer, winner *Endpoint, answer *Answer) {
	if len(racers) > 1 {
		racers[1].to.metrics.Hedged(racers[1].to == winner)
	}
	for _, r := range racers {
		if r.to == winner && answer.Rest != nil {
			answer.OnRelease(r.callOff)
		} else {
			r.callOff()
		}
	}
}

// hedge takes another usable upstream with room, if the budget allows.
func (c *Chain) hedge(s *search) (choice, bool) {
	if !c.hedges.spend() {
		return choice{}, false
	}
	full := s.full
	s.strict = true
	second, ok := c.next(s)
	s.strict, s.full = false, full
	if !ok {
		c.hedges.giveBack()
	}
	return second, ok
}
