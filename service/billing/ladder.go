package billing

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
)

// PriceLadder is every way to buy units, with what the account's volume would cost on each.
type PriceLadder struct {
	Volume   plan.Units   `json:"volume_30d_units" doc:"weighted units of 30 days: those that the account used, as recorded, or those that were asked about"`
	Current  string       `json:"current" doc:"key of the rung that the account is on; empty for a contract, and where no account asks"`
	Cheapest string       `json:"cheapest" doc:"key of the rung on sale that costs least at this volume, whatever its supply"`
	Premium  string       `json:"cheapest_premium" doc:"the same among those that premium upstreams serve; per_call, whose balanced tier is a wholesale blend, is none of them"`
	Rungs    []LadderRung `json:"rungs" doc:"in the order of the price list"`
}

// LadderRung is one way to buy units.
type LadderRung struct {
	Key        string            `json:"key"`
	Title      string            `json:"title"`
	Kind       plan.Kind         `json:"kind" enum:"subscription,pack,per_call,flat,free,custom"`
	Interval   string            `json:"interval,omitempty" enum:"month,year" doc:"how often it is paid; absent for what is not by subscription"`
	Commitment operation.Dollars `json:"commitment_usd" doc:"paid at once, net"`
	Price      operation.Dollars `json:"price_usd" doc:"net, per month for subscriptions, else for units"`
	Units      plan.Units        `json:"units"`
	PerMillion operation.Dollars `json:"usd_per_million" doc:"a million units of the balanced tier"`
	Supply     plan.Supply       `json:"supply" enum:"public,wholesale,premium" doc:"as the price list has it, which counts per_call as premium; the menu says what serves a payment's calls: balanced a wholesale blend"`
	FastShare  int64             `json:"fast_share_percent" doc:"share of calls that the fast tier is meant to serve"`
	Live       bool              `json:"live" doc:"whether it is given or sold now"`
	OnSale     bool              `json:"on_sale" doc:"whether it can be bought here by card now"`
	SeatsLeft  *int              `json:"seats_left,omitempty" doc:"of an offer with seats"`
	Ends       *time.Time        `json:"ends_at,omitempty" doc:"of an offer that ends"`
	AtVolume   operation.Dollars `json:"cost_at_volume_usd" doc:"net, for a month of the account's volume; packs are added for what goes beyond a subscription's units"`
	Covered    bool              `json:"covers_volume" doc:"false where calls beyond its units are refused or slowed"`
	Current    bool              `json:"current"`
	Cheapest   bool              `json:"cheapest"`
}

func (h *handlers) priceLadder() *operation.Operation[operation.Nothing, PriceLadder] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_price_ladder", Title: "Prices at the account's volume", Access: operation.Managers, Reads: true,
		Description: "Lists every way to buy units with what the account's last 30 days would cost on it, the rung " +
			"that it is on, and the cheapest. It costs nothing.",
		Fails: []fault.Reason{fault.DurableUnavailable},
	}, h.runPriceLadder)
}

// LadderDays is the number of days whose volume is priced.
const LadderDays = 30

func (h *handlers) runPriceLadder(ctx context.Context, c *operation.Call, _ operation.Nothing) (PriceLadder, error) {
	volume, err := h.volume(ctx, c)
	if err != nil {
		return PriceLadder{}, err
	}
	return h.Prices.LadderAt(ctx, c, volume)
}

// Prices prices volumes on the ladder, for callers of every noun.
type Prices struct {
	store *store.Store
	terms x402.Terms
	sells bool // plans and packs, by card
	now   func() time.Time
	seats seatCount
}

// NewPrices returns the prices of a gateway. sells reports whether plans and packs can be bought.
func NewPrices(s *store.Store, terms x402.Terms, sells bool, now func() time.Time) *Prices { //nolint:gocritic // kept
	return &Prices{store: s, terms: terms, sells: sells, now: now}
}

// LadderAt prices a month's volume on every rung of the ladder.
func (p *Prices) LadderAt(ctx context.Context, c *operation.Call, volume plan.Units) (PriceLadder, error) {
	taken, err := p.store.SeatsTaken(ctx)
	if err != nil {
		return PriceLadder{}, operation.ToFault(err, "offer")
	}
	current, err := p.CurrentRung(ctx, c)
	if err != nil {
		return PriceLadder{}, err
	}
	return p.RungsAt(volume, taken, current), nil
}

// RungsAt prices a volume on every rung. current is empty without an account.
func (p *Prices) RungsAt(volume plan.Units, taken int, current string) PriceLadder {
	ladder := PriceLadder{Volume: volume, Current: current}
	for _, r := range plan.Ladder() {
		ladder.add(p.rungOf(&r, volume, taken), current)
	}
	for i := range ladder.Rungs {
		ladder.Rungs[i].Cheapest = ladder.Rungs[i].Key == ladder.Cheapest
	}
	return ladder
}

// volume returns the units used on the last 30 UTC days, including today.
func (h *handlers) volume(ctx context.Context, c *operation.Call) (plan.Units, error) {
	now := h.Now()
	days, err := h.Store.UsageByDay(ctx, c.Account.ID, now.AddDate(0, 0, 1-LadderDays), now, account.Period{})
	if err != nil {
		return 0, operation.ToFault(err, "usage")
	}
	var sum plan.Units
	for _, d := range days {
		sum += d.Standard + d.Heavy + d.Other
	}
	return max(0, sum), nil
}

// CurrentRung returns the key of the rung that the account pays for, or the plan's own key if it is
// not paid through Stripe. Callers who do not manage the account get the plan's monthly rung: what
// the owner pays is shown only to the owner.
func (p *Prices) CurrentRung(ctx context.Context, c *operation.Call) (string, error) {
	if c.Account.Custom != nil {
		return "", nil
	}
	if !c.Manages() {
		return plan.ListedRung(c.Account.Plan), nil
	}
	sub, err := p.store.LastSubscription(ctx, c.Account.ID)
	if errors.Is(err, store.ErrNotFound) {
		return c.Account.Plan, nil
	}
	if err != nil {
		return "", operation.ToFault(err, "subscription")
	}
	item, known := plan.FindItem(sub.HeldAt(p.now()))
	switch {
	case sub.Status.Over() || !known || item.Plan != c.Account.Plan:
		return c.Account.Plan, nil
	case sub.Founding:
		return plan.Founding().Key, nil
	}
	return item.Key, nil
}

func (p *Prices) rungOf(r *plan.Rung, volume plan.Units, taken int) LadderRung {
	cost, covered := r.Cost(volume)
	rung := LadderRung{
		Key: r.Key, Title: r.Title(), Kind: r.Kind, Commitment: operation.Dollars(r.Commitment),
		Price: operation.Dollars(r.Price),
		Units: r.Units, PerMillion: operation.Dollars(r.CentsPerMillion()), Supply: r.Supply,
		FastShare: r.FastShare.Percent(), Live: r.Live, AtVolume: operation.Dollars(cost), Covered: covered,
	}
	if r.Kind == plan.PerCall {
		rung.Live = p.SellsPerCall()
	}
	item, sold := plan.FindItem(r.Key)
	rung.Interval, rung.OnSale = string(item.Interval), sold && p.sells
	if offer := plan.Founding(); r.Key == offer.Key {
		left, ends := max(0, offer.Seats-taken), offer.Ends
		rung.SeatsLeft, rung.Ends = &left, &ends
		rung.Live = offer.Open(p.now(), taken)
		rung.OnSale = rung.OnSale && rung.Live
	}
	return rung
}

// SellsPerCall reports whether calls can be paid on the main network without an account.
func (p *Prices) SellsPerCall() bool { return p.terms.Open() && p.terms.OnMainnet() }

// add appends a rung and notes whether it is the cheapest so far.
func (l *PriceLadder) add(r LadderRung, current string) { //nolint:gocritic // it is stored
	r.Current = current != "" && r.Key == current
	l.Rungs = append(l.Rungs, r)
	if !r.Live || !r.Covered {
		return
	}
	if r.cheaperThan(l.Find(l.Cheapest)) {
		l.Cheapest = r.Key
	}
	if r.Served() == plan.Premium && r.cheaperThan(l.Find(l.Premium)) {
		l.Premium = r.Key
	}
}

// Served returns the supply that serves calls of the rung: that of the plan or pack, and for pay
// per call that of the menu's balanced tier. The price list counts pay per call as premium, which
// applies only to the displayed ladder.
func (r *LadderRung) Served() plan.Supply {
	if tier, ok := plan.FindPerCallTier(plan.Balanced); ok && r.Kind == plan.PerCall {
		return tier.Supply
	}
	return r.Supply
}

// cheaperThan reports whether r costs less than best, or the same with a commitment that is not
// larger: nobody without usage needs a pack. best is nil for the first rung.
func (r *LadderRung) cheaperThan(best *LadderRung) bool {
	return best == nil || r.AtVolume < best.AtVolume || r.AtVolume == best.AtVolume && r.Commitment <= best.Commitment
}

// Find returns the rung with a key, or nil.
func (l *PriceLadder) Find(key string) *LadderRung {
	for i := range l.Rungs {
		if l.Rungs[i].Key == key {
			return &l.Rungs[i]
		}
	}
	return nil
}

// Lane returns the cheapest rung that covers the volume. The account's own rung wins a tie. There
// is always one, because packs cover every volume.
func (l *PriceLadder) Lane() *LadderRung {
	best, current := l.Find(l.Cheapest), l.Find(l.Current)
	if current != nil && current.Covered && current.AtVolume <= best.AtVolume {
		return current
	}
	return best
}
