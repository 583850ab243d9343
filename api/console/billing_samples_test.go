package console

import (
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

const (
	checkoutOne = "019a9f2e-2222-7000-8000-000000000001"
	checkoutURL = "https://checkout.stripe.example/c/pay/1?x=1&y=2#f"
)

// sampleBilling is an account with monthly Scale, a card, packs and invoices.
func sampleBilling() (service.BillingStatus, service.PriceLadder, service.InvoiceList) {
	customer, end := "cus_1", sampleNow.AddDate(0, 0, 25)
	s := service.BillingStatus{
		Tier: plan.Scale, TierTitle: "Scale", Live: true, Customer: &customer, Country: "DE", VATPercent: 20,
		Packs: []service.PackView{
			{
				ID: "p1", Kind: "pack_m", Units: 7_000_000 * plan.Unit, Remaining: 5_250_000 * plan.Unit,
				GrantedAt: sampleNow.AddDate(0, -11, 0), ExpiresAt: sampleNow.AddDate(0, 0, 20),
			},
			{
				ID: "p2", Kind: "welcome", Units: 1_000 * plan.Unit, Remaining: 1_000 * plan.Unit, GrantedAt: sampleNow,
				ExpiresAt: sampleNow.AddDate(1, 0, 0),
			},
		},
	}
	s.Subscription.Value = &service.SubscriptionView{
		Plan: plan.Scale, Item: "scale_monthly", Interval: "month", PriceCents: 299_00, Status: subscription.Active,
		StartedAt: sampleNow.AddDate(0, -3, 0), PeriodStart: end.AddDate(0, -1, 0), PeriodEnd: end,
	}
	s.Payment.Value = &service.CardView{Brand: "visa", Last4: "4242", ExpMonth: 7, ExpYear: 2028}
	ladder := service.PriceLadder{
		Volume: 20_000_000 * plan.Unit, Current: "scale_monthly", Cheapest: "builder", Premium: "pro_yearly",
	}
	for _, r := range plan.Ladder() {
		item, sold := plan.FindItem(r.Key)
		cost, covered := r.Cost(ladder.Volume)
		rung := service.LadderRung{
			Key: r.Key, Title: itemTitle(r.Key), Kind: r.Kind, Interval: string(item.Interval), Units: r.Units,
			Supply: r.Supply, Live: r.Live, OnSale: sold, Covered: covered, Current: r.Key == ladder.Current,
			Cheapest: r.Key == ladder.Cheapest,
		}
		if p, known := plan.Lookup(r.Key); known && !sold {
			rung.Title = p.Title
		}
		if r.Kind == plan.PerCall {
			rung.Title = "Pay per call"
		}
		set(&rung, r.Commitment, r.Price, r.CentsPerMillion(), cost)
		if r.Key == plan.Founding().Key {
			seats, ends := 41, plan.Founding().Ends
			rung.SeatsLeft, rung.Ends = &seats, &ends
		}
		ladder.Rungs = append(ladder.Rungs, rung)
	}
	paid, next := sampleNow.AddDate(0, 0, -5), sampleNow.AddDate(0, 0, 3)
	return s, ladder, service.InvoiceList{More: true, Invoices: []service.InvoiceView{
		{
			ID: "in_2", Number: "CAG-0002", Status: "open", Reason: "subscription_cycle", Net: 299_00, VAT: 59_80,
			Total: 358_80, CreatedAt: sampleNow.AddDate(0, 0, -1), Attempts: 1, NextAttempt: &next, Failed: true,
		},
		{
			ID: "in_1", Number: "CAG-0001", Status: "paid", Reason: "subscription_create", Net: 299_00, VAT: 59_80,
			Total: 358_80, Paid: 358_80, CreatedAt: paid, PaidAt: &paid,
		},
	}}
}

// set fills the prices of a rung, whose type belongs to the operation.
func set(r *service.LadderRung, commitment, price, million, cost plan.Cents) {
	for to, from := range map[*plan.Cents]plan.Cents{
		(*plan.Cents)(&r.Commitment): commitment, (*plan.Cents)(&r.Price): price, (*plan.Cents)(&r.PerMillion): million,
		(*plan.Cents)(&r.AtVolume): cost,
	} {
		*to = from
	}
}

func sampleTotals(n int64) statement.Totals {
	return statement.Totals{
		Requests: 6 * n, Billable: 3 * n, Units: plan.Units(5*n) * plan.Unit, PlanUnits: plan.Units(4*n) * plan.Unit,
		PackUnits: plan.Units(n) * plan.Unit, CacheHits: 2 * n, Refusals: n,
	}
}

func sampleClass(name string, n int64) statement.Class {
	t := sampleTotals(n)
	return statement.Class{
		Class: name, Requests: t.Requests, Billable: t.Billable, Units: t.Units, PlanUnits: t.PlanUnits,
		PackUnits: t.PackUnits, CacheHits: t.CacheHits, Refusals: t.Refusals,
	}
}

// sampleStatements returns a list of periods, and the statement of a closed one whose figures add
// up.
func sampleStatements(at time.Time, name string) (service.StatementList, statement.Statement) {
	start := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	end := start.AddDate(0, 1, 0)
	requests, u := int64(600_006), 500_005*plan.Unit
	list := service.StatementList{Scope: statement.OfAccount, Periods: []service.StatementSummary{
		{Period: "2026-11-01", StartsAt: start, EndsAt: end, Status: statement.Open},
		{
			Period: "2026-10-01", StartsAt: start.AddDate(0, -1, 0), EndsAt: start, Status: statement.Closed,
			Requests: &requests, Units: &u,
		},
	}}
	var keys []statement.Key
	for i, of := range []string{name, "trader-7"} {
		k := statement.Key{
			ID: keyOne, Prefix: "cag_aHCrXoRO", Name: of, Door: "account", Totals: sampleTotals(50_000),
			Chains: []statement.Chain{
				{Chain: "eth_mainnet", Totals: sampleTotals(40_000), Classes: []statement.Class{
					sampleClass("standard", 30_000), sampleClass("heavy", 10_000),
				}},
				{Chain: "", Totals: sampleTotals(10_000), Classes: []statement.Class{sampleClass("", 10_000)}},
			},
		}
		if i == 1 {
			k.Agent = &statement.Agent{ID: "g1", Name: name}
		}
		keys = append(keys, k)
	}
	back := statement.Totals{Refusals: 1, Billable: -1, Units: -plan.Unit, PlanUnits: -plan.Unit, Refunded: 1}
	return list, statement.Statement{
		Account: "019a9f2e-1111-7000-8000-0000000000aa", Period: "2026-11-01", Scope: statement.OfAccount,
		Status: statement.Closed, StartsAt: start, EndsAt: end, Plan: plan.Scale,
		Invoices: []statement.Invoice{
			{
				ID: "in_1", Number: "CAG-0001", Status: "paid", Currency: "usd", NetCents: 299_00, VATCents: 59_80,
				TotalCents: 358_80, CreatedAt: start, PeriodStart: start, PeriodEnd: end,
			},
			{
				ID: "in_2", Number: name, Status: "void", Currency: "usd", NetCents: 10_00, VATCents: 2_00,
				TotalCents: 12_00, CreatedAt: start, PeriodStart: start, PeriodEnd: end,
			},
		},
		Totals: sampleTotals(100_000), AtTheLimit: []statement.Limit{
			{Reason: "plan_quota", Code: -32007, Requests: 12},
		}, Keys: keys,
		Adjustments: []statement.Adjustment{
			{Period: "2026-10-01", Totals: back, Keys: []statement.Key{
				{ID: keyTwo, Totals: back, Chains: []statement.Chain{}},
			}},
		},
		GeneratedAt: end.Add(10 * time.Minute), ContentHash: "sha256:" + long,
	}
}

// sampleBillingPage is the billing page with user-chosen names.
func sampleBillingPage(name string) *billingPage {
	bar := newMeterBar("Full speed", 21_000_000*plan.Unit, 20_000_000*plan.Unit, name)
	return &billingPage{
		Owner: true, Live: true, Portal: true, Volume: "1", Cheapest: name, VAT: name,
		Older: "/billing?invoices_before=x#invoices", Plan: planCard{
			Title: name, Status: status{warn, name},
			Facts: []fact{{"Subscription", name}}, Meter: &bar, Cancel: true, Resume: true,
		},
		Card: &cardOnFile{name, "4242", "07/2028"},
		Packs: []packRow{
			{
				Title: name, Remaining: "1", Units: "2", Used: "50 %", Granted: "1 Nov 2026",
				Expires: sampleReader().moment(sampleNow),
			},
		},
		Ladder: []ladderGroup{{Title: name, Rungs: []rungRow{
			{Title: name, Price: "$1.00", Supply: "premium", Short: name, Note: name, Current: true, Cheapest: true},
			{Title: "Pro", Price: "$1.00", Supply: "premium", Action: &link{
				"Change", "/billing/change?item=pro_monthly",
			}},
		}}},
		Invoices: []invoiceRow{
			{
				ID: "in_1", Number: name, Day: "1 Nov 2026", What: name, Status: status{bad, "charge declined"},
				Net: "$1.00", VAT: "$0.20", Total: "$1.20", Open: "Pay",
			},
		},
	}
}

func sampleStatementPage(name string) *statementPage {
	_, s := sampleStatements(sampleNow, name)
	v := &request{session: &service.CurrentSession{AccountName: name, Email: name}}
	return v.statementPage(&s)
}
