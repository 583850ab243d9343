package mcp

import (
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

type usageInput struct {
	View   string   `json:"view" enum:"report,stats,volume" doc:"report: totals of the last hours by class, key, method and chain; stats: one report over time; volume: requests and units over time" example:"report"`
	Hours  int      `json:"hours,omitempty" minimum:"1" maximum:"720" default:"24" doc:"for report: look-back in hours, 1 to 720" example:"24"`
	Chain  chain.ID `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"for report and volume: only calls on this chain; all when absent" example:"base_mainnet"`
	Report string   `json:"report,omitempty" enum:"latency,errors,spend,cache" doc:"for stats, which needs it: latency is p50 and p95 by chain; errors come by method and chain with the newest request ids; spend is the pace, the projected end of the period and the risk; cache is its hit rate and what it saved" example:"errors"`
	Window string   `json:"window,omitempty" enum:"24h,7d,30d" default:"24h" doc:"for stats and volume: 24h by the hour, 7d by six hours, 30d by the UTC day" example:"7d"`
}

// usageTools are the tools about usage.
func usageTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "get_usage", title: "Get usage, latency, errors or spend", input: usageInput{}, selector: "view",
			hints: readOnly | idempotent, ways: []way{
				{of: c.UsageReport, when: "report"},
				{of: c.UsageStats, when: "stats"},
				{of: c.UsageVolume, when: "volume"},
			},
			about: about{
				Purpose: "Tells what was used of late: totals with success rate and p50/p95 (report), latency, " +
					"errors, spend or cache over time (stats), or requests and units over time (volume).",
				Use: "To find what uses up units, which calls fail and with which request ids, how fast a chain " +
					"answers, or whether the period's allowance will last.",
				Instead: "what_can_i_do says what is left and what to do next, get_statement what a billing period " +
					"cost, get_quote what one call will.",
				Cost: costsNothing,
				Limits: "Up to 30 days; lists have at most 20 entries, the most used first, and the newest failures " +
					"are 20. It is some seconds late, as as_of says. Keys of agents and adopted keys see their own " +
					"usage only.",
				Fails: holderFails + "-32602 a parameter is wrong, or is none of this view's: data.fields names it.",
				Again: "Safe; within 10 seconds it gives the same answer again, then figures grow as calls are " +
					"recorded.",
			},
		},
		{
			name: "what_can_i_do", title: "See where you stand and what to do next", ways: one(c.WhatCanIDo),
			hints: readOnly | idempotent,
			about: about{
				Purpose: "Tells who you are here, what is left of each budget and when it comes back, the way past " +
					"each of your limits, and what your last 30 days would cost on every lane.",
				Use: "First with a new key, after a refusal for a budget, or before you ask your owner to pay " +
					"for more.",
				Instead: "explain_error explains one code, get_usage shows what was used and by whom, list_plans all " +
					"prices without a key, get_quote the price of one call.",
				Cost: costsNothing,
				Limits: "Budgets are the meter's figures of now; the 30 days are some seconds late, as as_of says. " +
					"Keys of agents and adopted keys see their own budgets and volume only.",
				Fails: holderFails +
					"-32021 the meter did not answer: call again in some seconds. -32602 it takes no parameters.",
				Again: "Safe; budgets are read anew each time, what is recorded of the 30 days at most every 10 " +
					"seconds.",
			},
		},
	}
}
