package advice_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
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
	if fresh.You.Door != account.DoorPublic || fresh.You.KeyPrefix != key.KeyPrefix ||
		fresh.You.Kind != accountdb.KindDoor || fresh.You.Plan != plan.Door1 || fresh.You.Manages ||
		fresh.You.Supply != plan.Public || fresh.You.Rate.Requests != 5 || fresh.You.Rate.PerSeconds != 1 ||
		fresh.Volume != 0 || len(fresh.Advice) != 0 || fresh.AsOf != nil {
		t.Errorf("a fresh key is told %+v", fresh.You)
	}
	if a := o.Admit(t, key.Key, 8_500*plan.Unit); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	can := o.Can(t, servicetest.Holder(key.Key))
	midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	if len(can.Budgets) != 1 {
		t.Fatalf("its budgets are %+v", can.Budgets)
	}
	if b := can.Budgets[0]; b.Kind != usage.BudgetKeyDay || b.Limit != 10_000*plan.Unit ||
		b.Used != 8_500*plan.Unit || b.Left != 1_500*plan.Unit || !b.ResetsAt.Equal(midnight) ||
		b.Code != -32016 || b.Then != "refused" {
		t.Errorf("its day is %+v", b)
	}
	day := servicetest.FenceNamed(t, &can, "units_per_day")
	if day.Code != -32016 || !day.Ways["bind"].Open || !day.Ways["adopt"].Open ||
		day.Ways["adopt"].ClaimCode != key.Doorways["adopt"].ClaimCode || !day.Ways["wait"].Open ||
		day.Ways["buy_pack"].Open {
		t.Errorf("past its day lead %+v", day)
	}
	for _, name := range []string{"requests", "supply", "data_service", "keys_per_address_and_day"} {
		if f := servicetest.FenceNamed(t, &can, name); len(f.Ways) < 2 || f.Limit == "" ||
			f.Ways["ticket"] != o.TicketPast(name) {
			t.Errorf("%s is %+v", name, f)
		}
	}
	if near := servicetest.AdviceOf(&can, "budget_near_its_end"); len(near) != 1 ||
		!strings.Contains(near[0].Finding, "8,500 of 10,000") || near[0].Tool != "bind_key_start" {
		t.Errorf("it is advised %+v", can.Advice)
	}
	open := map[string]bool{}
	for _, d := range can.Doors {
		if d.Open == nil != (d.Name == "public_key") { // the keys left for its address are unknown here
			t.Errorf("whether one may go through %s is %v", d.Name, d.Open)
		}
		open[d.Name] = d.Open != nil && *d.Open
	}
	if len(can.Doors) != 6 || !open["wallet_bound"] || !open["owner_adopted"] || open["account_key"] ||
		open["agent_key"] || open["pay_per_call"] {
		t.Errorf("its doors are %+v", can.Doors)
	}
	if can.Features.Data || can.Features.Premium || can.Features.PaymentsLive || can.Features.Agents.MayClaim ||
		len(can.Features.Services) != 8 || !can.Features.Services[0].On {
		t.Errorf("its features are %+v", can.Features)
	}
	if r := can.Recommendation; r.Rung != plan.Door1 || !r.Current || r.Cost != 0 || r.Premium != "pack_s" {
		t.Errorf("it is recommended %+v", r)
	}
	if can.BreakEven != "At 0 units in 30 days Public key is the cheapest at $0.00; from 300,001 units on it is "+
		"Free, at $0.00." {
		t.Errorf("it breaks even: %s", can.BreakEven)
	}
	if can.Pricing.URL != "https://gateway.example/pricing" || can.Pricing.Tool != "list_plans" ||
		!strings.Contains(can.Pricing.Tax, "20%") {
		t.Errorf("prices are at %+v", can.Pricing)
	}
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
		if pack := budget.Kind == usage.BudgetPack; pack != (budget.ResetsAt == nil) ||
			pack && !budget.ExpiresAt.Equal(expires) || !pack && !budget.ResetsAt.Equal(turn) {
			t.Errorf("%s ends at %v and %v", budget.Kind, budget.ResetsAt, budget.ExpiresAt)
		}
	}
	for fence, way := range map[string]string{
		"units_per_month": "buy_pack", "key_cap": "raise", "key_service_cap": "raise", "service_cap": "raise",
		"service_off": "switch_on", "data_service": "upgrade", "requests": "upgrade", "supply": "buy_pack",
	} {
		if f := servicetest.FenceNamed(t, &can, fence); f.Ways["ticket"] != b.TicketPast(fence) ||
			f.Ways[way].Do == "" ||
			strings.HasPrefix(way, "raise") && (!f.Ways[way].Open || !strings.Contains(f.Ways[way].Do, "configure_")) {
			t.Errorf("past %s lead %+v", fence, f)
		}
	}
	if !can.You.Manages || can.You.Plan != plan.Free || can.You.KeyName != "indexer" ||
		can.You.Door != account.DoorAccount || !can.Features.Premium || can.Features.Data {
		t.Errorf("it is %+v with %+v", can.You, can.Features)
	}
	if off := can.Features.Services[7]; off.Service != account.Utils || off.On {
		t.Errorf("switched off is %+v", off)
	}
	if near := servicetest.AdviceOf(&can, "budget_near_its_end"); len(near) != 2 || near[0].Tool != "configure_key" {
		t.Errorf("near their end are %+v", near)
	}
	if packs := servicetest.AdviceOf(&can, "pack_expires"); len(packs) != 1 ||
		!strings.Contains(packs[0].Finding, "1,200,000 units") ||
		!strings.Contains(packs[0].Finding, expires.UTC().Format("2 Jan 2006, 15:04")+" UTC") {
		t.Errorf("of packs it says %+v", packs)
	}
	// A user who signed in has no key and sees no limits of one.
	if user := b.Can(t, b.Ann); user.You.KeyID != "" || user.You.Door != "" || !user.You.Manages ||
		len(user.Budgets) != 3 {
		t.Errorf("a user is told %+v and %+v", user.You, user.Budgets)
	}
	if eve := b.Can(t, b.Eve); len(eve.Budgets) != 1 || eve.Budgets[0].Used != 0 || len(eve.Advice) != 0 ||
		eve.Volume != 0 {
		t.Errorf("another account is told %+v, %+v", eve.Budgets, eve.Advice)
	}
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
		if cost[rung] != want {
			t.Errorf("%s costs %s, want %s", rung, cost[rung], want)
		}
	}
	if r := can.Recommendation; r.Rung != plan.Builder || servicetest.TextOf(t, r.Cost) != "12.0" || r.Current ||
		r.OnSale ||
		r.Premium != "pack_s" || servicetest.TextOf(t, r.Extra) != "50.0" ||
		!strings.Contains(r.Why, "5,000,000 units") || !strings.Contains(r.Why, "Free, does not cover it") {
		t.Errorf("recommended is %+v", r)
	}
	if want := "At 5,000,000 units in 30 days Builder by the month is the cheapest at $12.00; from 20,000,001 units " +
		"on it is "; !strings.HasPrefix(can.BreakEven, want) {
		t.Errorf("it breaks even: %s", can.BreakEven)
	}
	if heavy := servicetest.AdviceOf(&can, "heavy_ranges"); len(heavy) != 1 ||
		!strings.Contains(heavy[0].Finding, "4,000,000 of 5,000,000") ||
		!strings.Contains(heavy[0].Do, "eth_getLogs") || !strings.Contains(heavy[0].Finding, "25%") {
		t.Errorf("of heavy calls it says %+v", heavy)
	}
	if refused := servicetest.AdviceOf(&can, "refusals"); len(refused) != 1 ||
		!strings.Contains(refused[0].Finding, "1,234 calls") || !strings.Contains(refused[0].Finding, "-32005") ||
		refused[0].Do != fault.RateWindow.Entry().Steps[0] {
		t.Errorf("of refusals it says %+v", refused)
	}
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
	if can.Volume != 3*plan.Unit || len(can.Budgets) != 1 || can.Budgets[0].Kind != usage.BudgetKey ||
		can.Budgets[0].Used != 3*plan.Unit || can.Budgets[0].Limit != 1000*plan.Unit {
		t.Errorf("it is told of %s units and %+v", can.Volume, can.Budgets)
	}
	if can.You.Scope != "agent" || can.You.Agent == "" || can.You.Manages || can.Features.Agents.MayClaim {
		t.Errorf("it is %+v", can.You)
	}
	if way := servicetest.FenceNamed(t, &can, "key_cap").Ways["raise"]; way.Open || !strings.Contains(way.Do, "owner") {
		t.Errorf("past its cap leads %+v", way)
	}
	if text := servicetest.TextOf(t, can); strings.Contains(text, b.KeyID.String()) ||
		strings.Contains(text, "indexer") {
		t.Errorf("it is shown the other key: %s", text)
	}
	if spend := servicetest.Stats(t, b, b.Agent, "spend", "7d").Summary.Spend; spend.Used != 3*plan.Unit ||
		*spend.Limit != 1000*plan.Unit || spend.Then != "refused" {
		t.Errorf("its spend is %+v", spend)
	}
	b.Refuses(t, b.WhatCanIDo, servicetest.Browser(""), nil, fault.KeyInvalid)
}

func TestWhatCanIDo_FoundingOfferIsAdvisedWhileItIsOpen(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	can := d.Can(t, servicetest.Browser(d.Owner))
	if offer := servicetest.AdviceOf(&can, "founding_offer"); len(offer) != 1 ||
		!strings.Contains(offer[0].Finding, "$79.00") ||
		!strings.Contains(offer[0].Finding, "100 seats") || !can.Features.PaymentsLive {
		t.Errorf("it is advised %+v", can.Advice)
	}
	d.Buy(t, "pro_monthly", "4242424242424242")
	can = d.Can(t, servicetest.Browser(d.Owner))
	if offer := servicetest.AdviceOf(&can, "founding_offer"); len(offer) != 0 || can.You.Supply != plan.Premium ||
		!can.Features.Data {
		t.Errorf("on Pro it is advised %+v", can.Advice)
	}
	if dear := servicetest.AdviceOf(&can, "costs_more_than_needed"); len(dear) != 1 ||
		!strings.Contains(dear[0].Finding, "$99.00") || !strings.Contains(can.Pricing.Tax, "DE, so it is added") {
		t.Errorf("without use it is advised %+v, %s", can.Advice, can.Pricing.Tax)
	}
}
