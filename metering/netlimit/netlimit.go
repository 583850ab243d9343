// Package netlimit rate-limits callers without a key: per address, per area around it, and in
// total. It has the limits, the networks that they apply to, and the words of a refusal. Package
// meter counts, and the caller refuses.
package netlimit

import (
	"context"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// Action is a limited action. It is also a metric label.
type Action string

// The actions.
const (
	NewKeys      Action = "new_keys"      // anonymous keys
	SignInMails  Action = "sign_in_mails" // requests for a sign-in mail
	SignIns      Action = "sign_ins"      // attempts with a link or code, valid or not
	Invitations  Action = "invitations"
	Waitlist     Action = "waitlist"
	Wishes       Action = "wishes"
	RedeemLooks  Action = "redeem_looks" // redeems that read PostgreSQL
	Redeems      Action = "redeems"      // redeems that read the chain
	RedeemCalls  Action = "redeem_calls" // upstream calls for redeems
	RedeemsStuck Action = "redeems_stuck"
	Payments     Action = "payments"   // presented by stock x402 clients
	Challenges   Action = "challenges" // messages to sign, for binding a key or claiming an agent
	Tickets      Action = "tickets"
)

// Bounds are the limits of an action. 0 means no limit.
type Bounds struct {
	Address int64         // from one IPv4 address or IPv6 /64
	Area    int64         // from one IPv4 /24 or IPv6 /48
	Whole   int64         // from everywhere
	Per     time.Duration // window: a limit is available at once and refilled evenly over it
	Daily   bool          // a fixed window instead: counts restart at 00:00 UTC
}

// Figures are the bounds of all actions.
type Figures map[Action]Bounds

// Defaults returns the limits that apply unless NETWORK_LIMITS changes them.
// docs/decisions/0004-network-limits.md explains them. The three keys per address are the
// interface's (docs/interface.md, 2.3).
func Defaults() Figures {
	const day = 24 * time.Hour
	return Figures{
		NewKeys:      {Address: 3, Area: 60, Whole: 20_000, Per: day, Daily: true},
		SignInMails:  {Address: 20, Area: 40, Whole: 5_000, Per: time.Hour},
		SignIns:      {Address: 120, Area: 480, Whole: 50_000, Per: time.Hour},
		Invitations:  {Address: 50, Area: 100, Whole: 5_000, Per: day},
		Waitlist:     {Address: 20, Area: 40, Whole: 5_000, Per: day},
		Wishes:       {Address: 5, Area: 10, Whole: 500, Per: day},
		RedeemLooks:  {Address: 240, Area: 960, Whole: 48_000, Per: time.Minute},
		Redeems:      {Address: 30, Area: 90, Whole: 4_500, Per: time.Minute},
		RedeemCalls:  {Address: 240, Area: 720, Whole: 36_000, Per: time.Minute},
		RedeemsStuck: {Address: 10, Area: 30, Whole: 1_500, Per: time.Hour},
		Payments:     {Address: 30, Area: 120, Whole: 6_000, Per: time.Minute},
		Challenges:   {Address: 30, Area: 90, Whole: 9_000, Per: time.Hour},
		Tickets:      {Address: 30, Area: 60, Whole: 3_000, Per: day},
	}
}

// Actions lists all actions, sorted.
func Actions() []Action {
	var all []Action
	for a := range Defaults() {
		all = append(all, a)
	}
	slices.Sort(all)
	return all
}

// Level is the scope of a limit. It is also a metric label.
type Level string

// The levels, narrowest first.
const (
	Address Level = "address"
	Area    Level = "area"
	Whole   Level = "whole"
)

// Levels lists all levels, narrowest first.
func Levels() []Level { return []Level{Address, Area, Whole} }

// Layer is one limit to count, under Name.
type Layer struct {
	Name  string
	Limit int64
}

// Counted is the result of Counter.TakeQuota.
type Counted struct {
	Refused int           // index of the refusing layer with the longest wait; -1 when allowed
	Wait    time.Duration // until the next is allowed; 0 while some are left in every layer
	Layers  []LayerCount
	Names   []string // the daily counts, for ReturnQuota; empty unless daily
}

// LayerCount is the state of a layer after TakeQuota.
type LayerCount struct {
	Left  int64
	Reset time.Duration // until the limit is full again, or the day ends
}

// Counter counts actions; *meter.Meter implements it. TakeQuota takes n from all layers or from
// none. ReturnQuota returns one to each daily count of Counted.Names.
type Counter interface {
	TakeQuota(ctx context.Context, name string, n int64, b Bounds, layers []Layer) (Counted, error)
	ReturnQuota(ctx context.Context, names []string) error
}

// Taken is the result of Take.
type Taken struct {
	Refused Level         // the level that refused; empty when allowed
	Limit   int64         // of that level, else of the one with the fewest left
	Left    int64         // the fewest of any level
	Wait    time.Duration // until the next is allowed; 0 while some are left
	Reset   time.Duration // until that level's limit is full again, or the day ends
	counts  []string
}

// OK reports whether the action was allowed.
func (t *Taken) OK() bool { return t.Refused == "" }

// Whose returns whose limit refused, for sentences such as "too many mails from …".
func (t *Taken) Whose() string {
	switch t.Refused {
	case Area:
		return "the networks around yours"
	case Whole:
		return "all networks together"
	default:
		return "this network"
	}
}

// Limits allows or refuses actions. It is safe for concurrent use.
type Limits struct {
	counter Counter
	figures Figures
	now     func() time.Time
	state   map[Action]*state
}

// state is what this process knows of an action.
type state struct {
	refused map[Level]*atomic.Int64
	whole   atomic.Pointer[wholeCount]
}

// wholeCount is the state of the whole level when it was last read.
type wholeCount struct {
	share float64 // used, 0 to 1
	until time.Time
}

// New returns Limits. Actions without figures are not limited.
func New(counter Counter, figures Figures, now func() time.Time) *Limits {
	l := &Limits{counter: counter, figures: figures, now: now, state: map[Action]*state{}}
	for _, a := range Actions() {
		s := &state{refused: map[Level]*atomic.Int64{}}
		for _, level := range Levels() {
			s.refused[level] = new(atomic.Int64)
		}
		l.state[a] = s
	}
	return l
}

// Take allows or refuses one action of a client, in one round trip. A refusal uses nothing at any
// level. network is the client's, from NetworkOf.
func (l *Limits) Take(ctx context.Context, action Action, network netip.Prefix) (Taken, error) {
	return l.TakeSome(ctx, action, 1, network)
}

// TakeSome is Take for n of an action: all or none.
func (l *Limits) TakeSome(ctx context.Context, action Action, n int64, network netip.Prefix) (Taken, error) {
	b := l.figures[action]
	levels, layers := b.layers(network)
	if len(layers) == 0 {
		return Taken{}, nil
	}
	counted, err := l.counter.TakeQuota(ctx, string(action), n, b, layers)
	if err != nil {
		return Taken{}, err
	}
	at := counted.Refused
	if at < 0 {
		at = 0
		for i := range counted.Layers {
			if counted.Layers[i].Left < counted.Layers[at].Left {
				at = i
			}
		}
	}
	t := Taken{
		Limit: layers[at].Limit, Left: counted.Layers[at].Left, Wait: counted.Wait, Reset: counted.Layers[at].Reset,
		counts: counted.Names,
	}
	if counted.Refused >= 0 {
		t.Refused, t.counts = levels[at], nil
		l.state[action].refused[t.Refused].Add(1)
	}
	if last := len(levels) - 1; levels[last] == Whole {
		l.noteWhole(action, layers[last].Limit, counted.Layers[last])
	}
	return t, nil
}

// ReturnQuota undoes a Take whose purpose failed, of an action with a daily limit. For any other
// Taken it does nothing.
func (l *Limits) ReturnQuota(ctx context.Context, t Taken) error {
	if len(t.counts) == 0 {
		return nil
	}
	return l.counter.ReturnQuota(ctx, t.counts)
}

// layers returns the limits that apply to a network, narrowest first.
func (b *Bounds) layers(network netip.Prefix) (levels []Level, layers []Layer) {
	for _, one := range []struct {
		level Level
		name  string
		limit int64
	}{
		{Address, network.String(), b.Address},
		{Area, "area:" + AreaOf(network).String(), b.Area},
		{Whole, "whole", b.Whole},
	} {
		if one.limit > 0 {
			levels, layers = append(levels, one.level), append(layers, Layer{one.name, one.limit})
		}
	}
	return levels, layers
}

// noteWhole stores the state of the whole level, for Share.
func (l *Limits) noteWhole(action Action, limit int64, c LayerCount) {
	l.state[action].whole.Store(&wholeCount{share: 1 - float64(c.Left)/float64(limit), until: l.now().Add(c.Reset)})
}

// Share returns how much of the whole level's limit is used, from 0 to 1, as of this process' last
// Take: other processes may have used more since.
func (l *Limits) Share(action Action) float64 {
	seen, b := l.state[action].whole.Load(), l.figures[action]
	if seen == nil {
		return 0
	}
	left := seen.until.Sub(l.now())
	if left <= 0 {
		return 0
	}
	if b.Daily {
		return seen.share
	}
	return min(1, float64(left)/float64(b.Per))
}

// Refusals returns how many of an action a level refused in this process.
func (l *Limits) Refusals(action Action, level Level) int64 {
	return l.state[action].refused[level].Load()
}

// Figure returns the limit of an action at a level; 0 for none.
func (l *Limits) Figure(action Action, level Level) int64 {
	b := l.figures[action]
	return map[Level]int64{Address: b.Address, Area: b.Area, Whole: b.Whole}[level]
}
