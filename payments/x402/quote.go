package x402

import (
	"fmt"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Quote is what the units of one payment cost a caller: the terms and an offer for each tier. The
// tier that was asked for is first because stock clients take the first offer.
type Quote struct {
	Terms    Terms
	Token    Token
	Country  string // for VAT; empty when the caller is not located
	Resource string // URL of the paid resource
	Asked    bool   // whether the caller named a tier; it is that of the first offer
	Offers   []Offer
}

// Offer is a tier and the price of its units, VAT included where it applies.
type Offer struct {
	Tier   plan.PerCallTier
	Amount plan.Atomic
}

// Quote returns the offers of all tiers. An empty asked means that the caller named no tier; the
// cheapest is first then.
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

// Meant returns the offer whose amount equals what an authorization of version 1 moves. If the
// caller named a tier, only that offer counts. If none matches, wrong states what to sign instead.
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

// accepted returns the offer that a payment of version 2 accepted, if it is still offered.
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

// caip2 returns the chain's CAIP-2 name, which version 2 uses.
func (t Terms) caip2() string { return "eip155:" + strconv.FormatUint(t.Chain, 10) }

// namedNetworks are version 1's names of chains. Other chains keep their name of version 2, which
// stock clients of version 1 do not know.
var namedNetworks = map[uint64]string{baseMainnet: plan.X402Network, 84532: "base-sepolia"}

func (t Terms) networkV1() string {
	if name, ok := namedNetworks[t.Chain]; ok {
		return name
	}
	return t.caip2()
}

// Network returns the chain's name in a version of the protocol.
func (t Terms) Network(version int) string {
	if version == Version1 {
		return t.networkV1()
	}
	return t.caip2()
}
