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
)

// hedgeCost is how many fast reads earn one hedge, so that at most a twentieth of them is asked
// twice; maxHedgeCredit is what may be saved up, ten hedges.
const (
	hedgeCost      = 20
	maxHedgeCredit = 10 * hedgeCost
)

// hedges bounds the second attempts that start beside slow first ones.
type hedges struct {
	credit atomic.Int64
	racing *sync.WaitGroup // of the pool: attempts that may outlive their read
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

// hedgeAfter is how long the first attempt of a fast read may take before a second starts beside
// it: what nineteen of twenty answers of the upstream stay under. It may not when that is not
// known, nobody else could be asked, or the budget is used up.
func (c *Chain) hedgeAfter(s *search, to choice, o *outcome) (after time.Duration, may bool) {
	if s.r.Tier != plan.Fast || o.attempts > 1 {
		return 0, false
	}
	c.hedges.earn()
	usual := &to.health.snapshot(c.now()).latency[classOf(s.r.Heavy)]
	return usual.p95, usual.known && to.more > 0 && c.hedges.affordable()
}

var errPanicked = errors.New("an attempt panicked")

// racer is one of the attempts of a race.
type racer struct {
	to      *Endpoint
	callOff context.CancelFunc
}

// race makes a read's first attempt, and a second beside it when the first takes longer than after.
// The first usable answer wins; the other attempt is called off, which blames nobody, and its
// answer released. It gives nil when neither was usable.
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
				ask.body = renumbered(ask.body)
				racers = append(racers, c.start(ctx, second, ask, maxAttempts-o.attempts, results, decided))
				running++
			}
		case a := <-results:
			running--
			answer := o.take(a, s.r)
			if answer == nil {
				continue
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

// start makes an attempt of a race. What is not taken from results when the race is decided is
// released.
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

// attemptSafely makes an attempt in a goroutine of its own, where a panic would end the process: it
// counts as a broken answer instead. It is logged here, because nobody hears of it when the other
// attempt answers.
func (c *Chain) attemptSafely(ctx context.Context, to choice, ask question, left int) (a attempted) {
	defer func() {
		if p := recover(); p != nil {
			cause := to.scrub.text(fmt.Sprint(p))
			c.panics.write(c.ID, to.Name, cause, debug.Stack())
			a = attempted{
				to: to.Endpoint, verdict: verdicts[isBroken],
				err: fmt.Errorf("upstream %s: %w: %s", to.Name, errPanicked, cause),
			}
			to.observe(observation{verdict: a.verdict, heavy: ask.heavy})
		}
	}()
	return c.attempt(ctx, to, ask, left)
}

// finish calls off what is still running, and counts the second attempt when there was one. The
// winner's answer may go on until it is released.
func finish(racers []racer, winner *Endpoint, answer *Answer) {
	if len(racers) > 1 {
		racers[1].to.metrics.Hedged(racers[1].to == winner)
	}
	for _, r := range racers {
		if r.to == winner && answer.Rest != nil {
			answer.body = &releasingBody{answer.body, r.callOff}
		} else {
			r.callOff()
		}
	}
}

// hedge takes another upstream in good standing that has room, when the budget allows.
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
