package service_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/store/accountdb"
)

// Paying per call is the cheapest at 1,050,000 units, but only where it is sold. It is never the
// cheapest of premium supply, because its supply is a blend.
func TestWhatCanIDo_RecommendsPerCallOnlyWhereItIsSold(t *testing.T) {
	t.Parallel()
	seller, err := wallet.ParseAddress(sellerAt)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		terms  x402.Terms
		live   bool
		rung   string
		cost   string
		supply plan.Supply
	}{
		{"open", x402.Terms{Chain: 8453, PayTo: seller}, true, "per_call", "9.45", plan.Wholesale},
		{"closed", x402.Terms{Chain: 8453}, false, "pack_s", "10.0", plan.Premium},
		{"on a test network", x402.Terms{Chain: 84532, PayTo: seller}, false, "pack_s", "10.0", plan.Premium},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			b := openBooks(t, atNoon, func(o *service.Options) { o.Terms = c.terms })
			b.commit(t, noon, nil, b.written(b.keyID, "eth_mainnet", "eth_call", "standard", "ok", 1_050_000,
				1_050_000*plan.Unit))
			can := b.can(t, b.key)
			at := slices.IndexFunc(can.Ladder, func(r service.LadderRung) bool { return r.Key == "per_call" })
			r := can.Recommendation
			if can.Ladder[at].Live != c.live || can.Ladder[at].Supply != plan.Premium || r.Rung != c.rung ||
				textOf(t, r.Cost) != c.cost || r.Supply != c.supply ||
				!strings.Contains(r.Why, "from "+string(c.supply)+" upstreams") || r.Premium != "pack_s" ||
				textOf(t, r.Extra) != "10.0" {
				t.Errorf("its rung is %+v, recommended %+v", can.Ladder[at], r)
			}
			ladder := must[service.PriceLadder](t)(b.PriceLadder.Invoke(b.ctx, b.key, service.Nothing{}))
			if ladder.Cheapest != c.rung || ladder.Premium != "pack_s" || ladder.Rungs[at].Live != c.live {
				t.Errorf("the ladder says %s and %s, %+v", ladder.Cheapest, ladder.Premium, ladder.Rungs[at])
			}
			plans := must[service.PlanList](t)(b.ListPlans.Invoke(b.ctx, browser(""), service.Nothing{}))
			if plans.PerCall.Live != c.live {
				t.Errorf("list_plans says %+v", plans.PerCall)
			}
		})
	}
}

// Only callers who manage the account learn what the owner pays and where it is billed.
func TestWhatCanIDo_UnprivilegedKeysSeeTheRuleAndThePlanOnly(t *testing.T) {
	t.Parallel()
	d := openTill(t)
	d.buy(t, "pro_yearly", stripe.Visa)
	b := &books{office: d.office, id: d.id, ann: browser(d.owner), period: "2026-11-01"}
	door := d.doorKey(t)
	d.adopted(t, door, d.owner)
	secret, agent := d.agentKey(t, d.id)
	adopted, refusal := d.limits.Identify(d.ctx, door.Key, browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	for _, key := range []account.KeyID{agent, adopted.Key} {
		b.commit(t, opened.Add(-time.Hour), nil, b.written(key, "eth_mainnet", "eth_getBlockByHash", "standard", "hit",
			1_000_000, 0))
	}

	owner := d.can(t, b.ann)
	if !strings.Contains(owner.Pricing.Tax, "billed in DE") || currentOf(&owner) != "pro_yearly" {
		t.Errorf("the owner is told %q, and to be on %q", owner.Pricing.Tax, currentOf(&owner))
	}
	if cache := stats(t, b, b.ann, "cache", "24h").Summary.Cache; cache.Rung != "pro_yearly" ||
		textOf(t, cache.Money) != "11.0" {
		t.Errorf("to the owner savings are %s", textOf(t, cache))
	}
	for what, key := range map[string]*service.Caller{
		"an adopted key": holder(door.Key), "an agent's key": holder(secret),
	} {
		can := d.can(t, key)
		if strings.Contains(textOf(t, can), "billed in") || !strings.Contains(can.Pricing.Tax, "20% VAT") ||
			currentOf(&can) != "pro_monthly" || len(adviceOf(&can, "costs_more_than_needed")) != 0 {
			t.Errorf("%s is told %q, %+v, and to be on %q", what, can.Pricing.Tax, can.Advice, currentOf(&can))
		}
		if cache := stats(t, b, key, "cache", "24h").Summary.Cache; cache.Rung != "pro_monthly" ||
			textOf(t, cache.Money) != "6.6" {
			t.Errorf("to %s savings are %s", what, textOf(t, cache))
		}
		if can.You.Plan != plan.Pro || can.You.Manages || can.You.Door == account.DoorAccount && can.You.Agent == "" {
			t.Errorf("%s is %+v", what, can.You)
		}
	}
}

// adopted moves a door key into the account of a user, as the adoption workflow does.
func (d *till) adopted(t *testing.T, door service.Welcome, owner string) { //nolint:gocritic // a copy does no harm
	t.Helper()
	code, _ := account.ParseClaimCode(door.Doorways["adopt"].ClaimCode)
	digest := code.Digest(d.hasher)
	key, _, err := d.store.FindClaim(d.ctx, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	user := account.UserID{UUID: uuid.MustParse(d.whoIs(t, owner).UserID)}
	if _, err := d.limits.AdoptKey(d.ctx, key.ID, d.id, user, accountdb.Author{
		Actor: user.Actor(), Origin: "console",
	}); err != nil {
		t.Fatal(err)
	}
}

func currentOf(can *service.WhatICanDo) string {
	for i := range can.Ladder {
		if can.Ladder[i].Current {
			return can.Ladder[i].Key
		}
	}
	return ""
}
