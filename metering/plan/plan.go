// Package plan defines what is sold and how it is counted: plans, packs, route tiers, the price
// ladder and its rules, in integers only. It knows nothing of accounts, Stripe or Redis.
package plan

import (
	"slices"
	"time"
)

// Supply is the class of upstreams that may serve a call.
type Supply string

// The supply classes.
const (
	Public    Supply = "public"
	Wholesale Supply = "wholesale"
	Premium   Supply = "premium"
)

// RateWindow admits Limit requests in a sliding window of length Per. Plans and contracts state
// steady rates, such as 30 a second; Window is how the meter holds one.
type RateWindow struct {
	Limit int64
	Per   time.Duration
}

// How far ahead a steady rate may be used. Stock clients send dozens of calls at once, and give up
// or retry for a long time when one is refused: ethers puts 100 calls into a batch, and a fork of
// Hardhat makes 80 until its first call is answered. A slow rate therefore gets the time of
// burstRequests, but at most maxBurst.
const (
	burst         = 10 * time.Second
	maxBurst      = 20 * time.Second
	burstRequests = 100
)

// Window returns the window that holds a rate: with a shorter Per than ten seconds, what the rate
// admits in ten seconds may come at once. For less than ten requests a second it is what the rate
// admits in the time of 100 requests, at most 20 seconds.
func (w RateWindow) Window() RateWindow {
	if w.Limit <= 0 || w.Per <= 0 || w.Per >= burst {
		return w
	}
	perRequest := float64(w.Per) / float64(w.Limit)
	per := min(max(burst, time.Duration(burstRequests*perRequest)), maxBurst)
	return RateWindow{int64(float64(per) / perRequest), per}
}

// PeriodKind is how long a plan's included units last.
type PeriodKind string

// The period kinds: a UTC day or a month.
const (
	Daily   PeriodKind = "day"
	Monthly PeriodKind = "month"
)

// Kind is how a rung of the price ladder is paid (docs/interface.md, 2.8.5).
type Kind string

// The kinds. Custom is agreed in a contract and is on no rung.
const (
	Subscription Kind = "subscription"
	PackKind     Kind = "pack"
	PerCall      Kind = "per_call"
	Flat         Kind = "flat"
	FreeKind     Kind = "free"
	Custom       Kind = "custom"
)

// The keys of the plans.
const (
	Door1       = "door1"
	WalletBound = "wallet_bound"
	Free        = "free"
	Builder     = "builder"
	Pro         = "pro"
	Scale       = "scale"
	Growth      = "growth"
	Enterprise  = "enterprise"
)

// Plan is what an account has while it holds no pack. Plans are data of docs/interface.md, 2.8;
// they never change at run time.
type Plan struct {
	Key   string
	Title string
	Kind  Kind
	// Included units last one Period. With a soft ceiling they are that ceiling; Unlimited for a
	// custom agreement.
	Included Units
	Period   PeriodKind
	Rate     RateWindow // steady
	// SoftRate replaces Rate for the rest of the month once Included is used up, instead of a
	// refusal. Its Limit is 0 on plans whose quota refuses.
	SoftRate RateWindow
	Supply   Supply
	// MonthlyPrice is net, per month. YearlyPrice is net, per year; 0 where the plan is not sold by
	// the year.
	MonthlyPrice Cents
	YearlyPrice  Cents
	// FastShare is the share of calls that the fast tier is meant to serve, shown and not enforced.
	FastShare Thousandths
	// Data reports whether the data endpoints are included.
	Data bool
	// Live reports whether the plan is on sale, or given away, on the price ladder.
	Live bool
	// Tier is the pay-per-call tier whose plan this is; empty for other plans.
	Tier Tier
}

// plans lists the plans from the smallest to the largest.
var plans = []Plan{
	{
		Key: Door1, Title: "Public key", Kind: FreeKind, Included: 10_000 * Unit, Period: Daily,
		Rate: RateWindow{5, time.Second}, Supply: Public,
	},
	{
		Key: WalletBound, Title: "Wallet-bound key", Kind: FreeKind, Included: 1_000_000 * Unit, Period: Monthly,
		Rate: RateWindow{5, time.Second}, Supply: Public, Live: true,
	},
	{
		Key: Free, Title: "Free", Kind: FreeKind, Included: 1_000_000 * Unit, Period: Monthly,
		Rate: RateWindow{100, 15 * time.Minute}, Supply: Public, Live: true,
	},
	{
		Key: Builder, Title: "Builder", Kind: Flat, Included: 20_000_000 * Unit, Period: Monthly,
		Rate: RateWindow{30, time.Second}, SoftRate: RateWindow{10, time.Second}, Supply: Public,
		MonthlyPrice: 12_00, Data: true, Live: true,
	},
	{
		Key: Pro, Title: "Pro", Kind: Subscription, Included: 15_000_000 * Unit, Period: Monthly,
		Rate: RateWindow{6_000, time.Minute}, Supply: Premium,
		MonthlyPrice: 99_00, YearlyPrice: 990_00, FastShare: 300, Data: true, Live: true,
	},
	{
		Key: Scale, Title: "Scale", Kind: Subscription, Included: 60_000_000 * Unit, Period: Monthly,
		Rate: RateWindow{12_000, time.Minute}, Supply: Premium,
		MonthlyPrice: 299_00, YearlyPrice: 2_990_00, FastShare: 250, Data: true, Live: true,
	},
	{
		Key: Growth, Title: "Growth", Kind: Subscription, Included: 200_000_000 * Unit, Period: Monthly,
		Rate: RateWindow{18_000, time.Minute}, Supply: Premium,
		MonthlyPrice: 899_00, YearlyPrice: 8_990_00, FastShare: 200, Data: true, Live: true,
	},
	{
		// The figures of a contract replace these. Until then the account has the widest public
		// window.
		Key: Enterprise, Title: "Enterprise", Kind: Custom, Included: Unlimited, Period: Monthly,
		Rate: RateWindow{18_000, time.Minute}, Supply: Premium, Data: true, Live: true,
	},
}

// All lists the plans from the smallest to the largest.
func All() []Plan { return slices.Clone(plans) }

// Lookup returns a plan by its key, including the plans of settlements, which All does not list.
func Lookup(key string) (Plan, bool) {
	for _, p := range plans {
		if p.Key == key {
			return p, true
		}
	}
	for _, p := range perCallPlans {
		if p.Key == key {
			return p, true
		}
	}
	return Plan{}, false
}

// Must returns a plan by one of the keys above. It panics for any other key.
func Must(key string) Plan {
	p, ok := Lookup(key)
	if !ok {
		panic("plan: no plan " + key)
	}
	return p
}

// DailyQuota returns the units of a UTC day, after which calls are refused (-32016). It is
// Unlimited when the plan counts by the month.
func (p Plan) DailyQuota() Units {
	if p.Period == Daily {
		return p.Included
	}
	return Unlimited
}

// MonthlyQuota returns the units of a month, after which packs are drawn and then calls are refused
// (-32007). It is Unlimited when the plan counts by the day, has a soft ceiling, or is a custom
// agreement.
func (p Plan) MonthlyQuota() Units {
	if p.Period == Daily || p.SoftCeiling() != Unlimited {
		return Unlimited
	}
	return p.Included
}

// SoftCeiling returns the monthly use after which SoftRate replaces Rate; Unlimited for none.
func (p Plan) SoftCeiling() Units {
	if p.SoftRate.Limit == 0 {
		return Unlimited
	}
	return p.Included
}

// YearlyPerMonth returns the yearly price divided by twelve, rounded half up to the cent; 0 for
// none.
func (p Plan) YearlyPerMonth() Cents { return Cents(roundHalfUp(int64(p.YearlyPrice), monthsPerYear)) }
