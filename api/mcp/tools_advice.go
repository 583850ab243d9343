package mcp

import (
	"github.com/chainaccess/gateway/service"
)

type recommendInput struct {
	What       string   `json:"what" enum:"chain,route" doc:"chain ranks chains, with family, candidates and prefer; route chooses the tier of a call, with chain, method and need"`
	Family     string   `json:"family,omitempty" enum:"evm,solana" doc:"for chain: only chains of this family; absent for all"`
	Candidates []string `json:"candidates,omitempty" maxItems:"6" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"for chain: only these chains, up to six; absent for all" example:"[\"base_mainnet\",\"arbitrum_one\"]"`
	Prefer     string   `json:"prefer,omitempty" enum:"latency,uptime" default:"latency" doc:"for chain: latency (default) for what answers quickest, uptime for what is most likely to answer"`
	Chain      string   `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"for route, required: chain that the call goes to"`
	Method     string   `json:"method,omitempty" minLength:"1" maxLength:"80" doc:"for route, required: JSON-RPC method, exact and case-sensitive, up to 80 characters of printable ASCII" example:"eth_call"`
	Need       string   `json:"need,omitempty" enum:"cheap,balanced,fast" default:"balanced" doc:"for route: cheap for the fewest units, fast for the shortest wait, balanced (default) for both"`
}

// adviceFails are the refusals of tools that need no key and cost nothing.
const adviceFails = "-32005 more than 60 a minute from this network, or with your key: wait retry_after seconds. " +
	fieldFails

// adviceTools are the tools that explain how to use the service.
func adviceTools(c *service.Registry) []*tool {
	return []*tool{quoteTool(c), explainTool(c), recommendTool(c), migrateTool(c), plansTool(c)}
}

func quoteTool(c *service.Registry) *tool {
	return &tool{
		name: "get_quote", title: "Quote a call", ways: one(c.GetQuote), hints: readOnly | idempotent, keyFree: true,
		about: about{
			Purpose: "Tells whether a JSON-RPC method is offered on a chain, how many weighted units a call takes, " +
				"and what such calls cost on every lane of the price ladder.",
			Use: "Before you rely on a method, or to estimate a bill: each lane has the price of a million " +
				"units, of 1,000 and of 1,000,000 such calls.",
			Instead: "list_plans lists whole plans; what_can_i_do prices the volume that you already have; recommend " +
				"says which tier to take.",
			Cost: keyFreeCost,
			Limits: "Relay methods only. units is for a call that no parameter makes heavier; units_when_heavy and " +
				"note tell of wide logs and deep state reads. Prices are net; a lane of a subscription is priced at " +
				"its included volume.",
			Fails: adviceFails +
				" A method that is not offered is an answer with offered false and what to do instead, not an error.",
			Again: "Safe; the answer changes only with the price list, or when upstreams gain or lose a method.",
		},
	}
}

func explainTool(c *service.Registry) *tool {
	return &tool{
		name: "explain_error", title: "Explain an error code", ways: one(c.ExplainError), hints: readOnly | idempotent,
		keyFree: true,
		about: about{
			Purpose: "Explains an error code: what it means, with which HTTP status it comes, what to do next, and " +
				"whether the gateway or a chain's node says it.",
			Use: "A call was refused and its message is not enough; give error.code, such as -32005, or a " +
				"reason's name, such as rate_window.",
			Instead: "what_can_i_do tells which of your own limits is near; manage_tickets reaches people, with the " +
				"request_id of the error.",
			Cost: keyFreeCost,
			Limits: "A code with several reasons gives all of them in reasons; codes that nodes use too have their " +
				"meaning there in chain_meanings. It does not look at your call.",
			Fails: adviceFails + " A code that nobody agrees upon is an answer with known false and a hint.",
			Again: "Safe; the same answer.",
		},
	}
}

func recommendTool(c *service.Registry) *tool {
	return &tool{
		name: "recommend", title: "Recommend a chain or a route", input: recommendInput{}, selector: "what",
		hints: readOnly | idempotent, keyFree: true, ways: []way{
			{of: c.RecommendChain, when: "chain"}, {of: c.RecommendRoute, when: "route"},
		},
		about: about{
			Purpose: "Recommends a chain by measured latency or uptime (what chain), or the route tier of a call by " +
				"its cost and measured latency (what route).",
			Use: "Your work can run on several chains, or you want to know whether the fast tier is worth twice " +
				"the units now.",
			Instead: "get_quote for the price of a method alone; get_prices for gas on a chain.",
			Cost:    keyFreeCost,
			Limits: "Measured from the gateway to its upstreams within the last minutes, not from you; measured_at " +
				"says when. What is not measured is not ranked. Uptime is of now, not of past months.",
			Fails: adviceFails +
				" With nothing measured, pick is null or goes by what you asked for, and reason says so.",
			Again: "Safe; the answer follows the measurements, so ask again rather than keep it for long.",
		},
	}
}

func migrateTool(c *service.Registry) *tool {
	return &tool{
		name: "migrate", title: "Plan a move from other providers", ways: one(c.Migrate), hints: readOnly | idempotent,
		keyFree: true,
		about: about{
			Purpose: "Reads a pasted configuration or code, maps every RPC endpoint of other providers to this " +
				"gateway's, weighs every JSON-RPC method, and lists what to change.",
			Use: "You or your owner come from Alchemy, Infura, QuickNode, Ankr, dRPC, Chainstack, Moralis, Helius or " +
				"public nodes, with viem, ethers, web3.py, Hardhat, Foundry, .env, JSON, YAML or TOML.",
			Instead: "get_quote for a single method; list_plans for what a volume needs.",
			Cost:    keyFreeCost,
			Limits: "10 texts a minute, 20,000 characters, 50 endpoints, 200 methods. Text is read, never run, kept " +
				"or logged, and all that looks like a key is masked; still, leave private keys out of what you " +
				"paste. Websockets are not served: the answer says what to poll.",
			Fails: adviceFails + " Text in which nothing is recognised is an answer with ready false.",
			Again: "Safe; the same answer for the same text.",
		},
	}
}

func plansTool(c *service.Registry) *tool {
	return &tool{
		name: "list_plans", title: "List plans and prices", ways: one(c.ListPlans), hints: readOnly | idempotent,
		keyFree: true,
		about: about{
			Purpose: "Lists plans, packs, paying per call and the founding offer with prices, included units, rate " +
				"limits and supply.",
			Use: "To choose a plan, or to tell your owner what more units cost; payments_live says whether " +
				"anything can be bought by card now.",
			Instead: "get_quote prices one method on every lane; what_can_i_do compares plans at your own volume; " +
				"get_billing_status shows what you have; buy_pack begins a purchase.",
			Cost: keyFreeCost,
			Limits: "Prices are net US cents; VAT is added in the EU. Agreements of your own are not listed: " +
				"join_enterprise_wishlist asks for one.",
			Fails: adviceFails +
				" While the seats of the founding offer cannot be counted, it is not on sale and note says so.",
			Again: "Safe; only the seats of the founding offer change.",
		},
	}
}
