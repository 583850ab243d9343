package advice_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
)

// Paying per call is the cheapest at 1,050,000 units, but only where it is sold. It is never the
// cheapest of premium supply, because its supply is a blend.
func TestWhatCanIDo_RecommendsPerCallOnlyWhereItIsSold(t *testing.T) {
	t.Parallel()
	seller, err := wallet.ParseAddress(servicetest.SellerAt)
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
			b := servicetest.OpenUsageEnv(t, servicetest.AtNoon, func(o *service.Options) { o.Terms = c.terms })
			b.Commit(t, servicetest.Noon, nil,
				b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 1_050_000,
					1_050_000*plan.Unit))
			can := b.Can(t, b.Key)
			at := slices.IndexFunc(can.Ladder, func(r billing.LadderRung) bool { return r.Key == "per_call" })
			r := can.Recommendation
			expect.Equal(t, can.Ladder[at].Live, c.live)
			expect.Equal(t, can.Ladder[at].Supply, plan.Premium)
			expect.Equal(t, r.Rung, c.rung)
			expect.Equal(t, servicetest.TextOf(t, r.Cost), c.cost)
			expect.Equal(t, r.Supply, c.supply)
			expect.Contains(t, r.Why, "from "+string(c.supply)+" upstreams")
			expect.Equal(t, r.Premium, "pack_s")
			expect.Equal(t, servicetest.TextOf(t, r.Extra), "10.0")
			ladder := servicetest.Must[billing.PriceLadder](t)(b.PriceLadder.Invoke(b.Ctx, b.Key, operation.Nothing{}))
			expect.Equal(t, ladder.Cheapest, c.rung)
			expect.Equal(t, ladder.Premium, "pack_s")
			expect.Equal(t, ladder.Rungs[at].Live, c.live)
			plans := servicetest.Must[advice.PlanList](t)(b.ListPlans.Invoke(b.Ctx, servicetest.Browser(""),
				operation.Nothing{}))
			if plans.PerCall.Live != c.live {
				t.Errorf("list_plans says %+v", plans.PerCall)
			}
		})
	}
}

// Only callers who manage the account learn what the owner pays and where it is billed.
func TestWhatCanIDo_UnprivilegedKeysSeeTheRuleAndThePlanOnly(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Buy(t, "pro_yearly", stripe.Visa)
	b := &servicetest.UsageEnv{
		Env: d.Env, AccountID: d.AccountID, Ann: servicetest.Browser(d.Owner),
		Period: "2026-11-01",
	}
	door := d.DoorKey(t)
	d.Adopted(t, door, d.Owner)
	secret, agent := d.AgentKey(t, d.AccountID)
	adopted, refusal := d.Limits.Identify(d.Ctx, door.Key, servicetest.Browser("").Network)
	if refusal != nil {
		t.Fatal(refusal)
	}
	for _, key := range []account.KeyID{agent, adopted.Key} {
		b.Commit(t, servicetest.Opened.Add(-time.Hour), nil,
			b.Written(key, "eth_mainnet", "eth_getBlockByHash", "standard", "hit",
				1_000_000, 0))
	}

	owner := d.Can(t, b.Ann)
	if !strings.Contains(owner.Pricing.Tax, "billed in DE") || currentOf(&owner) != "pro_yearly" {
		t.Errorf("the owner is told %q, and to be on %q", owner.Pricing.Tax, currentOf(&owner))
	}
	if cache := servicetest.Stats(t, b, b.Ann, "cache", "24h").Summary.Cache; cache.Rung != "pro_yearly" ||
		servicetest.TextOf(t, cache.Money) != "11.0" {
		t.Errorf("to the owner savings are %s", servicetest.TextOf(t, cache))
	}
	for what, key := range map[string]*operation.Caller{
		"an adopted key": servicetest.Holder(door.Key), "an agent's key": servicetest.Holder(secret),
	} {
		can := d.Can(t, key)
		in := expect.In(t, "%s", what)
		expect.NotContains(in, servicetest.TextOf(t, can), "billed in")
		expect.Contains(in, can.Pricing.Tax, "20% VAT")
		expect.Equal(in, currentOf(&can), "pro_monthly")
		expect.Empty(in, servicetest.AdviceOf(&can, "costs_more_than_needed"))
		if cache := servicetest.Stats(t, b, key, "cache", "24h").Summary.Cache; cache.Rung != "pro_monthly" ||
			servicetest.TextOf(t, cache.Money) != "6.6" {
			t.Errorf("to %s savings are %s", what, servicetest.TextOf(t, cache))
		}
		expect.Equal(in, can.You.Plan, plan.Pro)
		expect.False(in, can.You.Manages)
		expect.False(in, can.You.Door == account.DoorAccount && can.You.Agent == "")
	}
}

func currentOf(can *advice.WhatICanDo) string {
	for i := range can.Ladder {
		if can.Ladder[i].Current {
			return can.Ladder[i].Key
		}
	}
	return ""
}
