package advice_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store/accountdb"
)

func TestWhatCanIDo_AnonymousKeyLearnsItsDayAndItsDoors(t *testing.T) {
	t.Parallel()
	o := servicetest.OpenEnv(t)
	key := o.DoorKey(t)
	fresh := o.Can(t, servicetest.Holder(key.Key))
	in := expect.In(t, "a fresh key")
	expect.Equal(in, fresh.You.Door, account.DoorPublic)
	expect.Equal(in, fresh.You.KeyPrefix, key.KeyPrefix)
	expect.Equal(in, fresh.You.Kind, accountdb.KindDoor)
	expect.Equal(in, fresh.You.Plan, plan.Door1)
	expect.False(in, fresh.You.Manages)
	expect.Equal(in, fresh.You.Supply, plan.Public)
	expect.Equal(in, fresh.You.Rate.Requests, 5)
	expect.Equal(in, fresh.You.Rate.PerSeconds, 1)
	expect.Equal(in, fresh.Volume, 0)
	expect.Empty(in, fresh.Advice)
	expect.Nil(in, fresh.AsOf)
	if a := o.Admit(t, key.Key, 8_500*plan.Unit); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	can := o.Can(t, servicetest.Holder(key.Key))
	midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	if len(can.Budgets) != 1 {
		t.Fatalf("its budgets are %+v", can.Budgets)
	}
	b := can.Budgets[0]
	expect.Equal(t, b.Kind, usage.BudgetKeyDay)
	expect.Equal(t, b.Limit, 10_000*plan.Unit)
	expect.Equal(t, b.Used, 8_500*plan.Unit)
	expect.Equal(t, b.Left, 1_500*plan.Unit)
	expect.True(t, b.ResetsAt.Equal(midnight), midnight)
	expect.Equal(t, b.Code, -32016)
	expect.Equal(t, b.Then, "refused")
	day := servicetest.LimitNamed(t, &can, "units_per_day")
	in = expect.In(t, "past its day")
	expect.Equal(in, day.Code, -32016)
	expect.True(in, day.Ways["bind"].Open)
	expect.True(in, day.Ways["adopt"].Open)
	expect.Equal(in, day.Ways["adopt"].ClaimCode, key.Doorways["adopt"].ClaimCode)
	expect.True(in, day.Ways["wait"].Open)
	expect.False(in, day.Ways["buy_pack"].Open)
	for _, name := range []string{"requests", "supply", "data_service", "keys_per_address_and_day"} {
		f := servicetest.LimitNamed(t, &can, name)
		in := expect.In(t, "%s", name)
		expect.AtLeast(in, len(f.Ways), 2, f.Ways)
		expect.NotEqual(in, f.Limit, "")
		expect.Equal(in, f.Ways["ticket"], o.TicketPast(name))
	}
	near := servicetest.AdviceOf(&can, "budget_near_its_end")
	in = expect.In(t, "it is advised")
	require.Len(in, near, 1, can.Advice)
	expect.Contains(in, near[0].Finding, "8,500 of 10,000", can.Advice)
	expect.Equal(in, near[0].Tool, "bind_key_start", can.Advice)
	open := map[string]bool{}
	for _, d := range can.Doors {
		if d.Open == nil != (d.Name == "public_key") { // the keys left for its address are unknown here
			t.Errorf("whether one may go through %s is %v", d.Name, d.Open)
		}
		open[d.Name] = d.Open != nil && *d.Open
	}
	expect.Len(t, can.Doors, 6)
	expect.True(t, open["wallet_bound"])
	expect.True(t, open["owner_adopted"])
	expect.False(t, open["account_key"])
	expect.False(t, open["agent_key"])
	expect.False(t, open["pay_per_call"])
	expect.False(t, can.Features.Data)
	expect.False(t, can.Features.Premium)
	expect.False(t, can.Features.PaymentsLive)
	expect.False(t, can.Features.Agents.MayClaim)
	require.Len(t, can.Features.Services, 8)
	expect.True(t, can.Features.Services[0].On)
	r := can.Recommendation
	in = expect.In(t, "it is recommended")
	expect.Equal(in, r.Rung, plan.Door1)
	expect.True(in, r.Current)
	expect.Equal(in, r.Cost, 0)
	expect.Equal(in, r.Premium, "pack_s")
	if can.BreakEven != "At 0 units in 30 days Public key is the cheapest at $0.00; from 300,001 units on it is "+
		"Free, at $0.00." {
		t.Errorf("it breaks even: %s", can.BreakEven)
	}
	expect.Equal(t, can.Pricing.URL, "https://gateway.example/pricing")
	expect.Equal(t, can.Pricing.Tool, "list_plans")
	expect.Contains(t, can.Pricing.Tax, "20%")
}

func TestWhatCanIDo_AccountsKeyLearnsEveryBudgetAndTheWayPastIt(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t)
	limit := int64(100)
	change := servicetest.Must[keys.ConfiguredKey](t)
	change(b.ConfigureKey.Invoke(b.Ctx, b.Ann, keys.ConfigureKeyInput{
		ID: b.KeyID.String(), MonthlyRequestCap: &limit, Caps: &map[string]int64{"rpc": 90},
	}))
	servicetest.Must[keys.ConfiguredServices](t)(b.ConfigureServices.Invoke(b.Ctx, b.Ann, keys.ConfigureServicesInput{
		Enabled: &[]string{"rpc", "data", "gas", "tx_status", "ens", "prices", "contracts"},
		Caps:    &map[string]int64{"rpc": 5000},
	}))
	expires := time.Now().UTC().Add(10 * 24 * time.Hour).Truncate(time.Second)
	pack := accountdb.Pack{
		Pack:    account.Pack{ID: account.NewPackID(), Units: 1_200_000 * plan.Unit, Expires: expires},
		Account: b.AccountID,
		Kind:    "pack_s", Origin: "test", GrantedAt: time.Now(),
	}
	if _, _, err := b.Limits.GrantPack(b.Ctx, pack, accountdb.Author{Actor: "test", Origin: "ops"}); err != nil {
		t.Fatal(err)
	}
	if a := b.Admit(t, b.KeyText, 85*plan.Unit); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	can := b.Can(t, b.Key)
	start := time.Now().UTC()
	turn := time.Date(start.Year(), start.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	want := map[usage.BudgetKind][3]plan.Units{ // limit, used, left
		usage.BudgetPlan:       {1_000_000 * plan.Unit, 85 * plan.Unit, 999_915 * plan.Unit},
		usage.BudgetKey:        {100 * plan.Unit, 85 * plan.Unit, 15 * plan.Unit},
		usage.BudgetKeyService: {90 * plan.Unit, 85 * plan.Unit, 5 * plan.Unit},
		usage.BudgetService:    {5000 * plan.Unit, 85 * plan.Unit, 4915 * plan.Unit},
		usage.BudgetPack:       {1_200_000 * plan.Unit, 0, 1_200_000 * plan.Unit},
	}
	if len(can.Budgets) != len(want) {
		t.Errorf("the budgets are %+v", can.Budgets)
	}
	for _, budget := range can.Budgets {
		if got := [3]plan.Units{budget.Limit, budget.Used, budget.Left}; got != want[budget.Kind] {
			t.Errorf("%s is %v, want %v", budget.Kind, got, want[budget.Kind])
		}
		pack := budget.Kind == usage.BudgetPack
		in := expect.In(t, "%s", budget.Kind)
		expect.Equal(in, pack, budget.ResetsAt == nil)
		if pack {
			expect.True(in, budget.ExpiresAt.Equal(expires), expires)
		}
		if !pack {
			expect.True(in, budget.ResetsAt.Equal(turn), turn)
		}
	}
	for limit, way := range map[string]string{
		"units_per_month": "buy_pack", "key_cap": "raise", "key_service_cap": "raise", "service_cap": "raise",
		"service_off": "switch_on", "data_service": "upgrade", "requests": "upgrade", "supply": "buy_pack",
	} {
		t.Run(limit, func(t *testing.T) {
			f := servicetest.LimitNamed(t, &can, limit)
			in := expect.In(t, "past %s", limit)
			expect.Equal(in, f.Ways["ticket"], b.TicketPast(limit))
			expect.NotEqual(in, f.Ways[way].Do, "")
			if strings.HasPrefix(way, "raise") {
				expect.True(in, f.Ways[way].Open)
				expect.Contains(in, f.Ways[way].Do, "configure_")
			}
		})
	}
	expect.True(t, can.You.Manages)
	expect.Equal(t, can.You.Plan, plan.Free)
	expect.Equal(t, can.You.KeyName, "indexer")
	expect.Equal(t, can.You.Door, account.DoorAccount)
	expect.True(t, can.Features.Premium)
	expect.False(t, can.Features.Data)
	if off := can.Features.Services[7]; off.Service != account.Utils || off.On {
		t.Errorf("switched off is %+v", off)
	}
	if near := servicetest.AdviceOf(&can, "budget_near_its_end"); len(near) != 2 || near[0].Tool != "configure_key" {
		t.Errorf("near their end are %+v", near)
	}
	packs := servicetest.AdviceOf(&can, "pack_expires")
	in := expect.In(t, "of packs")
	require.Len(in, packs, 1)
	expect.Contains(in, packs[0].Finding, "1,200,000 units")
	expect.Contains(in, packs[0].Finding, expires.UTC().Format("2 Jan 2006, 15:04")+" UTC")
	// A user who signed in has no key and sees no limits of one.
	user := b.Can(t, b.Ann)
	expect.Equal(t, user.You.KeyID, "")
	expect.Equal(t, user.You.Door, "")
	expect.True(t, user.You.Manages)
	expect.Len(t, user.Budgets, 3)
	eve := b.Can(t, b.Eve)
	in = expect.In(t, "another account")
	require.Len(in, eve.Budgets, 1)
	expect.Equal(in, eve.Budgets[0].Used, 0)
	expect.Empty(in, eve.Advice)
	expect.Equal(in, eve.Volume, 0)
}

func TestWhatCanIDo_LadderIsPricedAtTheVolumeOfThirtyDays(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	edge := time.Date(2026, time.October, 24, 0, 0, 0, 0, time.UTC)
	old, first := b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 9, 9_000_000*plan.Unit),
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 1, 1_000_000*plan.Unit)
	old.Period, first.Period = "2026-10-01", "2026-10-01"
	b.Commit(t, edge.Add(-time.Second), nil, old)
	b.Commit(t, edge, nil, first)
	b.Commit(t, servicetest.Noon, nil,
		b.Written(b.KeyID, "eth_mainnet", "eth_getLogs", "heavy", "ok", 2, 4_000_000*plan.Unit),
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "hit", 1, 0),
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "rate_window", 1234, 0))
	can := b.Can(t, b.Key)
	if can.Volume != 5_000_000*plan.Unit || len(can.Ladder) != len(plan.Ladder()) {
		t.Fatalf("the volume is %s on %d rungs", can.Volume, len(can.Ladder))
	}
	cost := map[string]string{}
	for _, r := range can.Ladder {
		cost[r.Key] = servicetest.TextOf(t, r.AtVolume)
	}
	// Five packs of 1,200,000 cover it, or one of 7,000,000; per call it costs 5 · $9.
	for rung, want := range map[string]string{
		"builder": "12.0", "pack_s": "50.0", "pack_m": "50.0", "pack_l": "200.0",
		"per_call": "45.0", "pro_yearly": "82.5", "free": "0.0", "growth_monthly": "899.0",
	} {
		t.Run(rung, func(t *testing.T) {
			if cost[rung] != want {
				t.Errorf("%s costs %s, want %s", rung, cost[rung], want)
			}
		})
	}
	r := can.Recommendation
	expect.Equal(t, r.Rung, plan.Builder)
	expect.Equal(t, servicetest.TextOf(t, r.Cost), "12.0")
	expect.False(t, r.Current)
	expect.False(t, r.OnSale)
	expect.Equal(t, r.Premium, "pack_s")
	expect.Equal(t, servicetest.TextOf(t, r.Extra), "50.0")
	expect.Contains(t, r.Why, "5,000,000 units")
	expect.Contains(t, r.Why, "Free, does not cover it")
	if want := "At 5,000,000 units in 30 days Builder by the month is the cheapest at $12.00; from 20,000,001 units " +
		"on it is "; !strings.HasPrefix(can.BreakEven, want) {
		t.Errorf("it breaks even: %s", can.BreakEven)
	}
	heavy := servicetest.AdviceOf(&can, "heavy_ranges")
	in := expect.In(t, "of heavy calls")
	require.Len(in, heavy, 1)
	expect.Contains(in, heavy[0].Finding, "4,000,000 of 5,000,000")
	expect.Contains(in, heavy[0].Do, "eth_getLogs")
	expect.Contains(in, heavy[0].Finding, "25%")
	refused := servicetest.AdviceOf(&can, "refusals")
	in = expect.In(t, "of refusals")
	require.Len(in, refused, 1)
	expect.Contains(in, refused[0].Finding, "1,234 calls")
	expect.Contains(in, refused[0].Finding, "-32005")
	expect.Equal(in, refused[0].Do, fault.RateWindow.Entry().Steps[0])
}

func TestWhatCanIDo_AgentLearnsOfItsOwnKeyOnly(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t)
	b.Use(t, b.AccountID, b.KeyID, "", 40)
	b.Claim(t) // used 3
	limit := int64(1000)
	servicetest.Must[keys.ConfiguredKey](t)(b.ConfigureKey.Invoke(b.Ctx, b.Ann, keys.ConfigureKeyInput{
		ID: b.AgentKey.String(), MonthlyRequestCap: &limit,
	}))
	can := b.Can(t, b.Agent)
	expect.Equal(t, can.Volume, 3*plan.Unit)
	require.Len(t, can.Budgets, 1)
	expect.Equal(t, can.Budgets[0].Kind, usage.BudgetKey)
	expect.Equal(t, can.Budgets[0].Used, 3*plan.Unit)
	expect.Equal(t, can.Budgets[0].Limit, 1000*plan.Unit)
	expect.Equal(t, can.You.Scope, "agent")
	expect.NotEqual(t, can.You.Agent, "")
	expect.False(t, can.You.Manages)
	expect.False(t, can.Features.Agents.MayClaim)
	if way := servicetest.LimitNamed(t, &can, "key_cap").Ways["raise"]; way.Open || !strings.Contains(way.Do, "owner") {
		t.Errorf("past its cap leads %+v", way)
	}
	if text := servicetest.TextOf(t, can); strings.Contains(text, b.KeyID.String()) ||
		strings.Contains(text, "indexer") {
		t.Errorf("it is shown the other key: %s", text)
	}
	spend := servicetest.Stats(t, b, b.Agent, "spend", "7d").Summary.Spend
	expect.Equal(t, spend.Used, 3*plan.Unit)
	expect.Equal(t, *spend.Limit, 1000*plan.Unit)
	expect.Equal(t, spend.Then, "refused")
	b.Refuses(t, b.WhatCanIDo, servicetest.Browser(""), nil, fault.KeyInvalid)
}

func TestWhatCanIDo_FoundingOfferIsAdvisedWhileItIsOpen(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	can := d.Can(t, servicetest.Browser(d.Owner))
	offer := servicetest.AdviceOf(&can, "founding_offer")
	in := expect.In(t, "it is advised")
	require.Len(in, offer, 1)
	expect.Contains(in, offer[0].Finding, "$79.00")
	expect.Contains(in, offer[0].Finding, "100 seats")
	expect.True(in, can.Features.PaymentsLive)
	d.Buy(t, "pro_monthly", "4242424242424242")
	can = d.Can(t, servicetest.Browser(d.Owner))
	offer = servicetest.AdviceOf(&can, "founding_offer")
	in = expect.In(t, "on Pro it is advised")
	expect.Empty(in, offer)
	expect.Equal(in, can.You.Supply, plan.Premium)
	expect.True(in, can.Features.Data)
	dear := servicetest.AdviceOf(&can, "costs_more_than_needed")
	in = expect.In(t, "without use it is advised")
	require.Len(in, dear, 1)
	expect.Contains(in, dear[0].Finding, "$99.00")
	expect.Contains(in, can.Pricing.Tax, "DE, so it is added")
}
