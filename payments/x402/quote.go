package x402

import (
	"fmt"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Quote is what a bundle of calls costs a caller: the terms, and an offer for each tier, the one
// that was asked for first, because stock clients take the first.
type Quote struct {
	Terms    Terms
	Token    Token
	Country  string // that the tax goes by; empty when the caller is not located
	Resource string // URL of what is paid for
	Asked    bool   // the caller named the tier of the first offer
	Offers   []Offer
}

// Offer is a tier with what its bundle costs, VAT included where it applies.
type Offer struct {
	Tier   plan.PerCallTier
	Amount plan.Atomic
}

// Quote returns what a bundle costs on each tier. Nobody asked for a tier when asked is empty: then
// the cheapest is offered first.
func (t Terms) Quote(token Token, asked plan.Tier, country, resource string) Quote {
	q := Quote{Terms: t, Token: token, Country: country, Resource: resource, Asked: asked != ""}
	for _, tier := range plan.PerCallTiers() {
		o := Offer{Tier: tier, Amount: tier.NetAmountRequired()}
		if plan.VATApplies(country) {
			o.Amount = tier.MaxAmountRequired()
		}
		if tier.Tier == asked {
			q.Offers = append([]Offer{o}, q.Offers...)
		} else {
			q.Offers = append(q.Offers, o)
		}
	}
	return q
}

// Meant is the offer that pays exactly what an authorization of version 1 moves: the one that the
// caller asked for, or any when nobody asked. No amount is taken for another offer's; the words say
// what to sign instead.
func (q *Quote) Meant(paid plan.Atomic) (o Offer, wrong string) {
	offers := q.Offers
	if q.Asked {
		offers = offers[:1]
	}
	for _, o := range offers {
		if o.Amount == paid {
			return o, ""
		}
	}
	return Offer{},
		fmt.Sprintf(
			"The authorization is for %d atomic units, which is no offer's amount: %d are required for %s. Sign one "+
				"for exactly what one of accepts asks.",
			paid, q.Offers[0].Amount, q.Offers[0].Tier.Tier)
}

// accepted is the offer that a payment of version 2 says it accepted, while that is an offer of
// now.
func (q *Quote) accepted(tier plan.Tier, amount string) (o Offer, wrong string) {
	for _, o := range q.Offers {
		if o.Tier.Tier == tier && o.amount() == amount {
			return o, ""
		}
	}
	return Offer{},
		wrongFieldPrefix +
			"accepted is no offer of now: its amount and extra.tier are not those of one. Accept one of the offers " +
			"in " +
			RequiredV2Header + ", and sign again."
}

func (o Offer) description() string {
	return fmt.Sprintf("%d units of calls on the %s tier, to be used within %d seconds: %s",
		plan.UnitsPerPayment/plan.Unit, o.Tier.Tier, plan.SettlementWindow/time.Second, o.Tier.Label)
}

func (o Offer) amount() string { return strconv.FormatInt(int64(o.Amount), 10) }

// caip2 is the chain as version 2 names it (CAIP-2).
func (t Terms) caip2() string { return "eip155:" + strconv.FormatUint(t.Chain, 10) }

// namedNetworks are the names that version 1 has for the chains of the asset. Other chains keep the
// name of version 2, which stock clients of version 1 do not know.
var namedNetworks = map[uint64]string{baseMainnet: plan.X402Network, 84532: "base-sepolia"}

func (t Terms) networkV1() string {
	if name, ok := namedNetworks[t.Chain]; ok {
		return name
	}
	return t.caip2()
}

// Network is the chain as a version of the protocol names it.
func (t Terms) Network(version int) string {
	if version == Version1 {
		return t.networkV1()
	}
	return t.caip2()
}
