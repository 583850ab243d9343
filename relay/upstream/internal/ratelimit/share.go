package ratelimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	exchangeEvery   = 100 * time.Millisecond
	exchangeGap     = 25 * time.Millisecond // at least, however often calls ask for one
	unlimitedEvery  = time.Second           // for an upstream without a rate, whose demand alone is of interest
	exchangeTimeout = 150 * time.Millisecond
	presence        = 2 * time.Second // for which a process that is not heard of counts as one
)

// Offer is what a process brings to an exchange about one upstream.
type Offer struct {
	Key      string
	Holder   string  // whose tokens they are; unique among all processes
	Rate     float64 // declared calls a second of all processes; 0 for none
	Held     int64   // tokens; negative if some were spent in advance
	Demand   float64 // calls a second that it was asked for
	Hungry   bool    // it refused a call
	Refused  int64   // milliseconds that the provider asked to wait for its rate; -1 for no refusal, or usedUp
	Answered bool    // the provider answered a call
}

// Grant is what a process gets.
type Grant struct {
	Tokens    int64   // negative for those that it gives back
	Processes int64   // that share the rate
	Rate      float64 // in force, calls a second; 0 for none
	UsedUp    bool    // the provider said so of its plan
}

// usedUp is the refusal of a provider whose plan with the operator is used up.
const usedUp = -2

// Exchange makes offers and returns a grant for each.
type Exchange func(ctx context.Context, offers []Offer) ([]Grant, error)

//go:embed share_rate.lua
var shareSource string

var shareScript = redis.NewScript(shareSource)

var errReply = errors.New("share rates: the reply cannot be read")

// Redis returns an exchange through Redis. All keys have the same hash tag.
func Redis(rdb redis.UniversalClient) Exchange {
	return func(ctx context.Context, offers []Offer) ([]Grant, error) {
		keys := make([]string, len(offers))
		args := []any{leaseTime.Microseconds(), presence.Microseconds()}
		for i, o := range offers {
			keys[i] = o.Key
			args = append(args, o.Holder, number(o.Rate), o.Held, number(o.Demand), o.Hungry, o.Refused, o.Answered)
		}
		reply, err := shareScript.Run(ctx, rdb, keys, args...).Int64Slice()
		if err != nil {
			return nil, fmt.Errorf("share rates: %w", err)
		}
		if len(reply) != 4*len(offers) {
			return nil, errReply
		}
		grants := make([]Grant, len(offers))
		for i := range grants {
			of := reply[4*i:]
			grants[i] = Grant{of[0], of[1], float64(of[2]) / 1000, of[3] == 1}
		}
		return grants, nil
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }

// Sharer shares the rates of upstreams with the other processes.
type Sharer struct {
	exchange Exchange
	books    Books
	process  string
	now      func() time.Time
	log      *slog.Logger
	nudge    chan struct{}
}

// NewSharer returns a sharer for the process of a unique name.
func NewSharer(exchange Exchange, books Books, process string, now func() time.Time, log *slog.Logger) *Sharer {
	return &Sharer{exchange, books, process, now, log, make(chan struct{}, 1)}
}

// Add makes limits those of all processes under the keys of their rate and their budget, from the
// next exchange on. A second call for the same limits does nothing.
func (s *Sharer) Add(l *Limits, key, budgetKey string) {
	if l.lease.shared.Load() {
		return
	}
	l.key, l.budgetKey, l.lease.nudge = key, budgetKey, s.nudge
	l.lease.setRate(l.perSecond)
	l.lease.shared.Store(true)
}

// Run exchanges until ctx ends. current returns the limits of this process that were added.
func (s *Sharer) Run(ctx context.Context, current func() []*Limits) {
	tick := time.NewTicker(exchangeEvery)
	defer tick.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		s.round(ctx, current())
		pause.Reset(exchangeGap)
		select {
		case <-ctx.Done():
			s.last(ctx, current())
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			s.last(ctx, current())
			return
		case <-s.nudge:
		case <-tick.C:
		}
	}
}

// round exchanges once.
func (s *Sharer) round(ctx context.Context, current []*Limits) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	s.shareRates(ctx, current)
	s.spendBudgets(ctx, current)
}

// last adds to Redis what was spent since the last exchange.
func (s *Sharer) last(ctx context.Context, current []*Limits) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTimeout)
	defer cancel()
	s.spendBudgets(ctx, current)
}

func (s *Sharer) shareRates(ctx context.Context, current []*Limits) {
	began := s.now()
	offers := make([]Offer, 0, len(current))
	shared := make([]*Limits, 0, len(current))
	for _, l := range current {
		if l.lease.shared.Load() && !l.lease.idles(began) {
			offer := l.lease.offer(began)
			offer.Key, offer.Holder, offer.Rate = l.key, l.holder(s.process), l.perSecond
			offers, shared = append(offers, offer), append(shared, l)
		}
	}
	if len(offers) == 0 {
		return
	}
	grants, err := s.exchange(ctx, offers)
	for i, l := range shared {
		if err != nil {
			l.lease.keep(&offers[i])
			l.lease.earn(s.now())
		} else {
			l.lease.adopt(began, grants[i])
		}
	}
}
