package ratelimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	exchangeEvery   = 100 * time.Millisecond
	exchangeGap     = 25 * time.Millisecond // at least, however often calls ask for one
	exchangeTimeout = 150 * time.Millisecond
	presence        = 2 * time.Second // for which a process that is not heard of counts as one
)

// Offer is what a process brings to an exchange about one upstream.
type Offer struct {
	Key    string
	Rate   float64 // calls a second of all processes
	Held   int64   // tokens; negative if some were spent in advance
	Demand float64 // calls a second that it was asked for
	Hungry bool    // it refused a call
}

// Grant is what a process gets.
type Grant struct {
	Tokens    int64 // negative for those that it gives back
	Processes int64 // that share the rate
}

// Exchange makes offers and returns a grant for each.
type Exchange func(ctx context.Context, process string, offers []Offer) ([]Grant, error)

//go:embed share_rate.lua
var shareSource string

var shareScript = redis.NewScript(shareSource)

var errReply = errors.New("share rates: the reply cannot be read")

// Redis returns an exchange through Redis. All keys have the same hash tag.
func Redis(rdb redis.UniversalClient) Exchange {
	return func(ctx context.Context, process string, offers []Offer) ([]Grant, error) {
		keys := make([]string, len(offers))
		args := []any{process, leaseTime.Microseconds(), presence.Microseconds()}
		for i, o := range offers {
			keys[i] = o.Key
			args = append(args, number(o.Rate), o.Held, number(o.Demand), o.Hungry)
		}
		reply, err := shareScript.Run(ctx, rdb, keys, args...).Int64Slice()
		if err != nil {
			return nil, fmt.Errorf("share rates: %w", err)
		}
		if len(reply) != 2*len(offers) {
			return nil, errReply
		}
		grants := make([]Grant, len(offers))
		for i := range grants {
			grants[i] = Grant{Tokens: reply[2*i], Processes: reply[2*i+1]}
		}
		return grants, nil
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', 6, 64) }

// Sharer shares the rates of upstreams with the other processes.
type Sharer struct {
	exchange Exchange
	process  string
	now      func() time.Time
	nudge    chan struct{}
}

// NewSharer returns a sharer for the process of a unique name.
func NewSharer(exchange Exchange, process string, now func() time.Time) *Sharer {
	return &Sharer{exchange: exchange, process: process, now: now, nudge: make(chan struct{}, 1)}
}

// Add makes limits those of all processes under a key, from the next exchange on. It does nothing
// for limits that have no rate, or that it was called for before.
func (s *Sharer) Add(l *Limits, key string) {
	if l == nil || l.pace == nil || l.lease.shared.Load() {
		return
	}
	l.key, l.lease.rate, l.lease.nudge = key, l.perSecond, s.nudge
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
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-s.nudge:
		case <-tick.C:
		}
	}
}

// round exchanges once.
func (s *Sharer) round(ctx context.Context, current []*Limits) {
	began := s.now()
	offers := make([]Offer, 0, len(current))
	shared := make([]*Limits, 0, len(current))
	for _, l := range current {
		if l != nil && l.lease.shared.Load() {
			offer := l.lease.offer(began)
			offer.Key = l.key
			offers, shared = append(offers, offer), append(shared, l)
		}
	}
	if len(offers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	grants, err := s.exchange(ctx, s.process, offers)
	for i, l := range shared {
		if err != nil {
			l.lease.earn(s.now())
		} else {
			l.lease.adopt(began, grants[i])
		}
	}
}
