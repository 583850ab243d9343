package mcp

import (
	"strconv"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

type statementInput struct {
	Period string `json:"period,omitempty" maxLength:"10" doc:"the date on which the period began, like 2026-11-01, or list for the periods that there are; the present one when absent" example:"2026-11-01"`
}

// billingTools are the tools for plans, payments and packs.
func billingTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "get_billing_status", title: "Get plan and payment", ways: one(c.BillingStatus),
			hints: readOnly | idempotent,
			about: about{
				Purpose: "Shows the plan in force, the subscription behind it, the card by its last four digits, and " +
					"packs with what is left of them.",
				Use: "To see why a plan changed, when it renews, or how much prepaid is left.",
				Instead: "list_plans shows what there is to buy, get_usage what was used, get_statement what was " +
					"billed.",
				Cost:   costsNothing,
				Limits: "Never card numbers, addresses or links to pay.",
				Fails:  managedFails + fieldFails,
				Again:  "Safe.",
			},
		},
		{
			name: "get_statement", title: "Get a statement", input: statementInput{}, hints: readOnly | idempotent,
			ways:     []way{{of: c.GetStatement}, {of: c.ListStatements}},
			selector: "period",
			chosen: func(period string) int {
				if period != "list" {
					return 0
				}
				return 1
			},
			about: about{
				Purpose: "Gives what was used in a billing period by key, chain and method class with its invoices, " +
					"or with period list the periods that there are.",
				Use: "To account for what was spent; closed periods never change.",
				Instead: "get_usage for the last hours or days, with latency and errors; what_can_i_do for what is " +
					"left.",
				Cost: costsNothing,
				Limits: "The present period is some seconds behind. Keys of agents and adopted keys see their own " +
					"usage only, and no invoices.",
				Fails: holderFails + "-32026 no such period: ask with period list. " + fieldFails,
				Again: "Safe.",
			},
		},
		{
			name: "buy_pack", title: "Buy a pack of units", ways: one(c.BuyPack), hints: 0,
			about: about{
				Purpose: "Gives the address of a page on which a person pays for a prepaid pack of units by card; no " +
					"money moves until a human pays there.",
				Use: "The plan's quota is used up (-32007), and your owner should pay for more: hand " +
					"checkout_url to them.",
				Instead: "list_plans compares packs with subscriptions; without an account, GET /x402 sells units " +
					"for USDC, call by call.",
				Cost: costsNothing,
				Limits: "For keys of an owner's account, adopted ones too. The page lives an hour. Packs are valid " +
					"for " + strconv.Itoa(plan.PackMonths) + " months and drawn after the quota.",
				Fails: holderFails +
					"-32028 this key has no owner yet: have it adopted. 503 payments are not set up here. " +
					fieldFails,
				Again: "Each call opens a page of its own; only what is paid is granted, once.",
			},
		},
	}
}
