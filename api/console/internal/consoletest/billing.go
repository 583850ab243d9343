package consoletest

import (
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/statements"
)

const (
	// CheckoutOne is the id of a checkout.
	CheckoutOne = "019a9f2e-2222-7000-8000-000000000001"
	// CheckoutURL is the page of a checkout at the payment provider.
	CheckoutURL = "https://checkout.stripe.example/c/pay/1?x=1&y=2#f"
)

// SampleBilling is an account with monthly Scale, a card, packs and invoices.
func SampleBilling() (billing.BillingStatus, billing.PriceLadder, billing.InvoiceList) {
	customer, end := "cus_1", Now.AddDate(0, 0, 25)
	s := billing.BillingStatus{
		Tier: plan.Scale, TierTitle: "Scale", Live: true, Customer: &customer, Country: "DE", VATPercent: 20,
		Packs: []billing.PackView{
			{
				ID: "p1", Kind: "pack_m", Units: 7_000_000 * plan.Unit, Remaining: 5_250_000 * plan.Unit,
				GrantedAt: Now.AddDate(0, -11, 0), ExpiresAt: Now.AddDate(0, 0, 20),
			},
			{
				ID: "p2", Kind: "welcome", Units: 1_000 * plan.Unit, Remaining: 1_000 * plan.Unit, GrantedAt: Now,
				ExpiresAt: Now.AddDate(1, 0, 0),
			},
		},
	}
	s.Subscription.Value = &billing.SubscriptionView{
		Plan: plan.Scale, Item: "scale_monthly", Interval: "month", PriceCents: 299_00, Status: subscription.Active,
		StartedAt: Now.AddDate(0, -3, 0), PeriodStart: end.AddDate(0, -1, 0), PeriodEnd: end,
	}
	s.Payment.Value = &billing.CardView{Brand: "visa", Last4: "4242", ExpMonth: 7, ExpYear: 2028}
	ladder := billing.PriceLadder{
		Volume: 20_000_000 * plan.Unit, Current: "scale_monthly", Cheapest: "builder", Premium: "pro_yearly",
	}
	for _, r := range plan.Ladder() {
		item, sold := plan.FindItem(r.Key)
		cost, covered := r.Cost(ladder.Volume)
		rung := billing.LadderRung{
			Key: r.Key, Title: view.ItemTitle(r.Key), Kind: r.Kind, Interval: string(item.Interval), Units: r.Units,
			Supply: r.Supply, Live: r.Live, OnSale: sold, Covered: covered, Current: r.Key == ladder.Current,
			Cheapest: r.Key == ladder.Cheapest,
		}
		if p, known := plan.Lookup(r.Key); known && !sold {
			rung.Title = p.Title
		}
		if r.Kind == plan.PerCall {
			rung.Title = "Pay per call"
		}
		Set(&rung, r.Commitment, r.Price, r.CentsPerMillion(), cost)
		if r.Key == plan.Founding().Key {
			seats, ends := 41, plan.Founding().Ends
			rung.SeatsLeft, rung.Ends = &seats, &ends
		}
		ladder.Rungs = append(ladder.Rungs, rung)
	}
	paid, next := Now.AddDate(0, 0, -5), Now.AddDate(0, 0, 3)
	return s, ladder, billing.InvoiceList{More: true, Invoices: []billing.InvoiceView{
		{
			ID: "in_2", Number: "CAG-0002", Status: "open", Reason: "subscription_cycle", Net: 299_00, VAT: 59_80,
			Total: 358_80, CreatedAt: Now.AddDate(0, 0, -1), Attempts: 1, NextAttempt: &next, Failed: true,
		},
		{
			ID: "in_1", Number: "CAG-0001", Status: "paid", Reason: "subscription_create", Net: 299_00, VAT: 59_80,
			Total: 358_80, Paid: 358_80, CreatedAt: paid, PaidAt: &paid,
		},
	}}
}

// Set fills the prices of a rung, whose type belongs to the operation.
func Set(r *billing.LadderRung, commitment, price, million, cost plan.Cents) {
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

// SampleClass returns the usage of a class of methods.
func SampleClass(name string, n int64) statement.Class {
	t := sampleTotals(n)
	return statement.Class{
		Class: name, Requests: t.Requests, Billable: t.Billable, Units: t.Units, PlanUnits: t.PlanUnits,
		PackUnits: t.PackUnits, CacheHits: t.CacheHits, Refusals: t.Refusals,
	}
}

// SampleStatements returns a list of periods, and the statement of a closed one whose figures add
// up.
func SampleStatements(at time.Time, name string) (statements.StatementList, statement.Statement) {
	start := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	end := start.AddDate(0, 1, 0)
	requests, u := int64(600_006), 500_005*plan.Unit
	list := statements.StatementList{Scope: statement.OfAccount, Periods: []statements.StatementSummary{
		{Period: "2026-11-01", StartsAt: start, EndsAt: end, Status: statement.Open},
		{
			Period: "2026-10-01", StartsAt: start.AddDate(0, -1, 0), EndsAt: start, Status: statement.Closed,
			Requests: &requests, Units: &u,
		},
	}}
	var keys []statement.Key
	for i, of := range []string{name, "trader-7"} {
		k := statement.Key{
			ID: KeyOne, Prefix: "cag_aHCrXoRO", Name: of, Door: "account", Totals: sampleTotals(50_000),
			Chains: []statement.Chain{
				{Chain: "eth_mainnet", Totals: sampleTotals(40_000), Classes: []statement.Class{
					SampleClass("standard", 30_000), SampleClass("heavy", 10_000),
				}},
				{Chain: "", Totals: sampleTotals(10_000), Classes: []statement.Class{SampleClass("", 10_000)}},
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
				{ID: KeyTwo, Totals: back, Chains: []statement.Chain{}},
			}},
		},
		GeneratedAt: end.Add(10 * time.Minute), ContentHash: "sha256:" + Long,
	}
}

// billingCalls adds the operations of plans, payments, invoices and statements.
func (h *Operations) billingCalls(c *site.Calls) {
	c.BillingStatus = reads[operation.Nothing](func() billing.BillingStatus { return h.Status })
	c.PriceLadder = reads[operation.Nothing](func() billing.PriceLadder { return h.ladder })
	c.StartCheckout = Record[billing.StartCheckoutInput](h, billing.StartedCheckout{URL: CheckoutURL})
	c.FinishCheckout = reads[billing.FinishCheckoutInput](func() billing.FinishedCheckout { return h.Checkout })
	c.ChangePlan = Record[billing.ChangePlanInput](h, billing.PlanChange{
		Note: "The new plan is in force.", InForce: true,
	})
	c.CancelPlan = Record[operation.Nothing](h, billing.PlanChange{Note: "It ends with its period."})
	c.ResumePlan = Record[operation.Nothing](h, billing.PlanChange{
		Note: "The subscription goes on.", InForce: true,
	})
	c.OpenPortal = Record[operation.Nothing](h, billing.Portal{URL: "https://billing.stripe.example/p/1"})
	c.ListInvoices = reads[billing.ListInvoicesInput](func() billing.InvoiceList { return h.Invoices })
	c.ShowInvoice = Record[billing.ShowInvoiceInput](h, billing.InvoicePage{
		URL: "https://invoice.stripe.example/i/1",
	})
	c.ListStatements = reads[operation.Nothing](func() statements.StatementList { return h.periods })
	c.GetStatement = reads[statements.StatementInput](func() statement.Statement { return h.Stated })
	c.ExportStatement = reads[statements.ExportStatementInput](func() statements.StatementTable {
		return statements.StatementTable{
			FileName: "statement-2026-11-01.csv", Media: "text/csv; charset=utf-8; header=present", Text: "key\r\n",
		}
	})
}
