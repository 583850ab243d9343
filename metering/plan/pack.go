package plan

import (
	"slices"
	"time"
)

// Pack is a prepayment of units, drawn after the plan's quota in order of expiry
// (docs/interface.md, 2.8.2).
type Pack struct {
	Key    string
	Size   string // s, m or l
	Title  string
	Price  Cents // net, once
	Units  Units
	Supply Supply
}

// PackMonths is how long a pack stays valid.
const PackMonths = 12

// packs lists the packs from the smallest to the largest.
var packs = []Pack{
	{Key: "pack_s", Size: "s", Title: "Pack S", Price: 10_00, Units: 1_200_000 * Unit, Supply: Premium},
	{Key: "pack_m", Size: "m", Title: "Pack M", Price: 50_00, Units: 7_000_000 * Unit, Supply: Premium},
	{Key: "pack_l", Size: "l", Title: "Pack L", Price: 200_00, Units: 32_000_000 * Unit, Supply: Premium},
}

// Packs lists the packs from the smallest to the largest.
func Packs() []Pack { return slices.Clone(packs) }

// FindPack returns the pack of a size: s, m or l.
func FindPack(size string) (Pack, bool) {
	for _, p := range packs {
		if p.Size == size {
			return p, true
		}
	}
	return Pack{}, false
}

// Expires returns the instant from which a pack granted then is no longer drawn.
func (p Pack) Expires(granted time.Time) time.Time { return AddMonths(granted, PackMonths) }

// Offer is a price for a limited time.
type Offer struct {
	Key  string
	Plan string
	// Price is net, per month, locked for LockedMonths from the day the subscription begins.
	Price        Cents
	LockedMonths int
	Seats        int
	// Ends is the first instant at which it is no longer offered.
	Ends time.Time
}

// Founding returns the offer of Pro at a lower price, through 2026-12-05 UTC or while seats last
// (docs/interface.md, 2.8.5).
func Founding() Offer {
	return Offer{
		Key: "founding", Plan: Pro, Price: 79_00, LockedMonths: 12, Seats: 100,
		Ends: time.Date(2026, time.December, 6, 0, 0, 0, 0, time.UTC),
	}
}

// Open reports whether the offer can still be taken; taken counts the seats sold or held by an open
// checkout.
func (o Offer) Open(at time.Time, taken int) bool { return at.Before(o.Ends) && taken < o.Seats }
