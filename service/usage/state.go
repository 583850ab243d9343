package usage

import (
	"context"
	"slices"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/accountdb"
)

// State is where a caller stands: its terms, and the counters that limit its calls.
type State struct {
	*operation.Call

	Terms     account.Terms
	States    limits.CounterStates
	Budgets   []Budget
	Packs     []account.Pack // with units left
	DrawsPack bool           // whether calls beyond the plan draw from a pack, even if the caller does not see it
	// Part reports whether the caller sees only its agent's or its key's usage, and no budgets and
	// packs of the account.
	Part bool
}

// State reads the caller's counters from the meter.
func (r *Reader) State(ctx context.Context, c *operation.Call) (*State, error) {
	terms, err := c.Account.Terms()
	if err != nil {
		return nil, err
	}
	scope, _ := c.Sees()
	s := &State{Call: c, Part: scope != statement.OfAccount}
	if s.States, err = r.limits.CounterStates(ctx, &c.Account, keysOfCaller(c), true); err != nil {
		return nil, operation.MeterUnavailable(err)
	}
	s.Terms = terms.At(s.States.At)
	if s.Terms.DrawsPacks() {
		packs := drawable(c.Account.Packs, s.States.Counters, s.States.At)
		if s.DrawsPack = len(packs) > 0; !s.Part {
			s.Packs = packs
		}
	}
	s.Budgets = budgetsOf(s)
	return s, nil
}

// keysOfCaller returns the caller's key, if it has one.
func keysOfCaller(c *operation.Call) []accountdb.Key {
	if c.Key.ID.IsZero() {
		return nil
	}
	return []accountdb.Key{c.Key}
}

// drawable returns the packs that can be drawn at a time, with their usage from the meter.
func drawable(packs []account.Pack, counters []limits.CounterState, at time.Time) []account.Pack {
	var left []account.Pack
	for _, p := range packs {
		if i := slices.IndexFunc(counters, func(s limits.CounterState) bool {
			return s.Source == p.ID.Source()
		}); i >= 0 {
			p.Used = counters[i].ShouldBe
		}
		if at.Before(p.Expires) && p.Used < p.Units {
			left = append(left, p)
		}
	}
	return left
}
