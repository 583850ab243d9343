package meter_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// of returns a charge for a service.
func of(service string, units plan.Units) *meter.Call {
	c := charge(units)
	c.Service = service
	return c
}

func TestLimits_SwitchedOffServiceIsRefusedForHitsToo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, func(a *account.AccountLimits, k *account.KeyLimits) {
			a.Services.Off = []account.Service{account.Gas, account.RPC}
			k.Services.Off = []account.Service{account.RPC, account.ENS}
		})
		for _, call := range []*meter.Call{charge(1000), hit()} {
			a := b.mustRefuse(t, c, call, "service_off")
			if a.Scope != meter.ScopeAccount ||
				!slices.Equal(a.Also, []meter.Refusal{{Reason: "service_off", Scope: meter.ScopeKey}}) {
				t.Errorf("refused with %+v, want the account before the key", a)
			}
		}
		if a := b.mustRefuse(t, c, of("ens", 1000), "service_off"); a.Scope != meter.ScopeKey || len(a.Also) > 0 {
			t.Errorf("refused with %+v, want the key's own switch", a)
		}
		b.mustAdmit(t, c, of("prices", 1000))
		b.mustAdmit(t, c, windowOnly("method_not_served")) // the request's own fault outranks the switch
		b.change(t, c, func(a *account.AccountLimits, k *account.KeyLimits) {
			a.Services.Off, k.Services.Off = nil, nil
		})
		b.mustAdmit(t, c, charge(1000))
		b.wantUsage(t, c, usage{"service_off": {3, 0}, "ok": {2, 2000}, "method_not_served": {1, 0}})
	})
}

func TestLimits_DataNeedsAPlanThatHasIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, unlimited, 5000))
		if a := b.mustRefuse(t, c, of("data", 10_000), "plan_lacks_service"); !slices.Equal(a.Also,
			[]meter.Refusal{{Reason: "plan_quota"}}) {
			t.Errorf("also %v, want the quota that is too small as well", a.Also)
		}
		b.change(t, c, func(a *account.AccountLimits, _ *account.KeyLimits) { a.Data = true })
		b.mustAdmit(t, c, of("data", 5000))
	})
}

// The customer's own limits take precedence over ours, and each refusal names the others.
func TestLimits_RefuseInTheirOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		const used, most = 900, 1000
		c := b.client(t, func(a *account.AccountLimits, k *account.KeyLimits) {
			a.Current.Quota = most
			a.Services.Caps = map[account.Service]plan.Units{account.RPC: most}
			k.MonthlyCap, k.Daily = most, most
			k.Services.Caps = map[account.Service]plan.Units{account.RPC: most}
		})
		b.mustAdmit(t, c, charge(used))
		order := []meter.Refusal{
			{Reason: "key_budget", Scope: meter.ScopeKey},
			{Reason: "service_cap", Scope: meter.ScopeKey},
			{Reason: "service_cap", Scope: meter.ScopeAccount},
			{Reason: "door_key_day"},
			{Reason: "plan_quota"},
		}
		lift := []func(a *account.AccountLimits, k *account.KeyLimits){
			func(_ *account.AccountLimits, k *account.KeyLimits) { k.MonthlyCap = 0 },
			func(_ *account.AccountLimits, k *account.KeyLimits) { k.Services.Caps = nil },
			func(a *account.AccountLimits, _ *account.KeyLimits) { a.Services.Caps = nil },
			func(_ *account.AccountLimits, k *account.KeyLimits) { k.Daily = unlimited },
			func(a *account.AccountLimits, _ *account.KeyLimits) { a.Current.Quota = unlimited },
		}
		for i, first := range order {
			before := b.snapshot(t, c, "b:", "dirty")
			a := b.mustRefuse(t, c, charge(200), first.Reason)
			expect.Equal(t, a.Scope, first.Scope)
			expect.EqualSlices(t, a.Also, order[i+1:])
			expect.Equal(t, a.Limit, most)
			expect.Equal(t, a.Remaining, most-used)
			if after := b.snapshot(t, c, "b:", "dirty"); !maps.Equal(before, after) {
				t.Errorf("a refusal for %s changed counters from\n%v to\n%v", first.Reason, before, after)
			}
			b.mustAdmit(t, c, hit()) // a hit spends nothing
			b.change(t, c, lift[i])
		}
		b.mustAdmit(t, c, charge(200))
	})
}

func TestCaps_EndWithThePeriod(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.client(t, func(a *account.AccountLimits, k *account.KeyLimits) {
		a.Services.Caps = map[account.Service]plan.Units{account.RPC: 3000}
		k.MonthlyCap = 1000
	})
	b.mustAdmit(t, c, charge(1000))
	if a := b.mustRefuse(t, c, charge(1), "key_budget"); !near(a.Reset, c.account.Current.End.Sub(b.now(t))) {
		t.Errorf("the cap is said to open in %s", a.Reset)
	}
	b.mini.SetTime(c.account.Current.End)
	if a := b.admit(t, c, charge(1)); !slices.Equal(a.Missing, []string{"key_units", "service"}) {
		t.Fatalf("the meter said %+v in the new period, want its counters missing", a)
	}
	next := c.account.Next.Key()
	b.seedCounters(t, c, figure{}, account.Counter{
		Period: next, Key: c.Key,
	}, account.Counter{Period: next, Service: "rpc"})
	b.mustAdmit(t, c, charge(1000))
	b.mustRefuse(t, c, charge(1), "key_budget")
}

func TestSoftCeiling_SlowsDownAndNeverRefusesForUnits(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.client(t, func(a *account.AccountLimits, _ *account.KeyLimits) {
		a.Rate = account.RateWindow{Limit: 6, Per: time.Second}
		a.SoftRate, a.SoftCeiling = account.RateWindow{Limit: 2, Per: time.Second}, 5000
		a.Packs = []account.Pack{{ID: account.NewPackID(), Units: 1000, Expires: b.now(t).AddDate(1, 0, 0)}}
	})
	for range 5 {
		b.mustAdmit(t, c, charge(1000))
	}
	if a := b.mustRefuse(t, c, charge(1000), "rate_window"); a.Limit != 2 {
		t.Errorf("refused with %+v once the ceiling is reached, want the slower window", a)
	}
	b.mini.SetTime(b.now(t).Add(2 * time.Second))
	b.mustAdmit(t, c, charge(1000))
	b.mustAdmit(t, c, hit())
	b.mustRefuse(t, c, hit(), "rate_window") // hits count in the slower window too
	b.mini.SetTime(c.account.Current.End.Add(time.Second))
	b.seedPeriod(t, c, c.account.Next.Key(), figure{})
	for range 5 {
		b.mustAdmit(t, c, charge(1000))
	}
	for _, bucket := range b.buckets(t, c) {
		for _, line := range bucket.Lines {
			if line.Units > 0 && line.Source != account.SourcePlan {
				t.Errorf("drawn from %s: packs stay whole where nothing refuses", line.Source)
			}
		}
	}
}

func TestSoftCeiling_MissingCounterAdmitsNobodyTooFast(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, func(a *account.AccountLimits, _ *account.KeyLimits) {
			a.SoftRate, a.SoftCeiling = account.RateWindow{Limit: 1, Per: time.Hour}, 5000
		})
		b.rdb.Del(b.ctx, periodKey(c, c.account.Current.Key()))
		for _, call := range []*meter.Call{charge(1), hit(), windowOnly("not_json")} {
			if a := b.admit(t, c, call); !slices.Equal(a.Missing, []string{"plan"}) {
				t.Errorf("the meter said %+v without the counter, want it missing", a)
			}
		}
		b.seed(t, c, figure{units: 5000})
		b.mustAdmit(t, c, charge(1))
		b.mustRefuse(t, c, charge(1), "rate_window")
	})
}

// The counter of a lifted limit is deleted, so that it never comes back stale.
func TestCaps_RestoredOneCountsWhatWasUsedWithoutIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		capped := func(units plan.Units) func(*account.AccountLimits, *account.KeyLimits) {
			return func(a *account.AccountLimits, k *account.KeyLimits) {
				a.Current.Quota, k.MonthlyCap = units, max(units, 0)
				k.Daily = units
				k.Services.Caps, a.Services.Caps = nil, nil
				if units > 0 {
					k.Services.Caps = map[account.Service]plan.Units{account.RPC: units}
					a.Services.Caps = map[account.Service]plan.Units{account.RPC: units}
				}
			}
		}
		c := b.client(t, capped(1000))
		b.mustAdmit(t, c, charge(300))
		b.change(t, c, capped(unlimited))
		b.mustAdmit(t, c, charge(600)) // not counted
		b.change(t, c, capped(1000))
		a := b.admit(t, c, charge(200))
		if !slices.Equal(a.Missing, []string{"key_units", "key_service", "service", "plan", "day"}) {
			t.Fatalf("the meter said %+v, want every counter missing", a)
		}
		b.seed(t, c, figure{})
		if a := b.mustRefuse(t, c, charge(200), "key_budget"); len(a.Also) != 4 || a.Remaining != 100 {
			t.Errorf("refused with %+v, want every fence to know the 900", a)
		}
	})
}

// A projection of a version from before limits and packs has -1 where there is no quota, and is
// loaded again.
func TestProjection_OfAnOlderProgramIsLoadedAnew(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.stranger(t, nil)
		b.rdb.HSet(b.ctx, tagOf(c)+"cfg:"+c.Account.String(), "v", 1, "st", "active", "rl", -1, "rw", 1000, "p",
			c.account.Current.Key(), "pe", c.account.Current.End.UnixMilli(), "q", -1)
		b.rdb.HSet(b.ctx, tagOf(c)+"key:"+c.Key.String(), "v", 1, "st", "active", "dy", -1)
		if a := b.admit(t, c, charge(1)); !slices.Equal(a.Missing, []string{meter.MissingAccount, meter.MissingKey}) {
			t.Fatalf("the meter said %+v, want both missing", a)
		}
		b.push(t, c)
		b.mustAdmit(t, c, charge(1))
	})
}

// A plain projection is not searched for further limits; every other one is.
func TestProjection_IsPlainOnlyWithoutFurtherLimits(t *testing.T) {
	t.Parallel()
	further := map[string]func(*account.AccountLimits, *account.KeyLimits){
		"a soft ceiling": func(a *account.AccountLimits, _ *account.KeyLimits) {
			a.SoftRate, a.SoftCeiling = account.RateWindow{Limit: 1, Per: time.Hour}, 5000
		},
		"a pack": func(a *account.AccountLimits, _ *account.KeyLimits) {
			a.Packs = []account.Pack{{Units: 1000}}
		},
		"an account's switch": func(a *account.AccountLimits, _ *account.KeyLimits) {
			a.Services.Off = []account.Service{account.Gas}
		},
		"an account's service cap": func(a *account.AccountLimits, _ *account.KeyLimits) {
			a.Services.Caps = map[account.Service]plan.Units{account.Gas: 1}
		},
		"a key's switch": func(_ *account.AccountLimits, k *account.KeyLimits) {
			k.Services.Off = []account.Service{account.Gas}
		},
		"a key's service cap": func(_ *account.AccountLimits, k *account.KeyLimits) {
			k.Services.Caps = map[account.Service]plan.Units{account.Gas: 1}
		},
		"a key's cap": func(_ *account.AccountLimits, k *account.KeyLimits) { k.MonthlyCap = 1000 },
	}
	onBoth(t, func(t *testing.T, b *bundle) {
		plain := func(c *client) (ofAccount, ofKey bool) {
			return b.rdb.HGet(b.ctx, tagOf(c)+"cfg:"+c.Account.String(), "pw").Val() == "1",
				b.rdb.HGet(b.ctx, tagOf(c)+"key:"+c.Key.String(), "pl").Val() == "1"
		}
		c := b.client(t, limits(wideWindow, 10_000, 10_000))
		if ofAccount, ofKey := plain(c); !ofAccount || !ofKey {
			t.Fatalf("plain are the account: %t, the key: %t; want both, with a window, a quota and a day", ofAccount,
				ofKey)
		}
		b.mustAdmit(t, c, charge(1))
		b.rdb.HSet(b.ctx, tagOf(c)+"cfg:"+c.Account.String(), "pw", "3")
		b.rdb.HSet(b.ctx, tagOf(c)+"cfg:"+c.Account.String(), "off", "c:rpc,")
		b.mustRefuse(t, c, charge(1), "service_off")
		for name, limit := range further {
			c := b.client(t, limit)
			if ofAccount, ofKey := plain(c); ofAccount && ofKey {
				t.Errorf("both projections are plain with %s", name)
			}
		}
	})
}

func TestLimits_ThatRefuseWithoutACounterWaitForNone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.stranger(t, func(a *account.AccountLimits, k *account.KeyLimits) {
			a.Current.Quota, k.Daily, k.MonthlyCap = 1000, 1000, 1000
			k.Services.Off = []account.Service{account.RPC}
		})
		b.push(t, c)
		b.mustRefuse(t, c, charge(1), "service_off")
		b.mustRefuse(t, c, of("data", 1), "plan_lacks_service")
		if a := b.admit(t, c, of("gas", 1)); !slices.Equal(a.Missing, []string{"key_units", "plan", "day"}) {
			t.Errorf("the meter said %+v", a)
		}
	})
}

// The projection was loaded after the turn of a period, to which the clock then steps back.
func TestCounters_MissingAreThoseOfThePeriodInForce(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.stranger(t, limits(noWindow, 1000, 1000))
	c.account.Current.Start, c.account.Next.Start = b.now(t), c.account.Current.End
	b.push(t, c)
	b.mini.SetTime(c.account.Current.Start.Add(-15 * time.Second))
	a := b.admit(t, c, charge(1))
	if a.Period != c.account.Current.Key() || !a.At.Equal(b.now(t)) {
		t.Fatalf("missing are counters of %s at %s, want %s at %s", a.Period, a.At, c.account.Current.Key(), b.now(t))
	}
	var counters []account.Counter
	for _, what := range a.Missing {
		counter, ok := a.CounterOf(what, c.Key, "rpc")
		if !ok {
			t.Fatalf("nobody knows %q", what)
		}
		counters = append(counters, counter)
	}
	b.seedCounters(t, c, figure{}, counters...)
	if r := b.mustAdmit(t, c, charge(1)); r.Period != c.account.Current.Key() {
		t.Errorf("charged to %s", r.Period)
	}
}
