package mcp

import (
	"regexp"
	"strings"

	"github.com/chainaccess/gateway/service"
)

type rpcInput struct {
	Chain       string `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"the chain to ask" example:"base_mainnet"`
	Method      string `json:"method" minLength:"1" maxLength:"128" doc:"name of the JSON-RPC method, case-sensitive" example:"eth_getBalance"`
	Params      []any  `json:"params,omitempty" doc:"the method's parameters in their order, as a JSON array; none when absent" example:"[\"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045\",\"latest\"]"`
	Tier        string `json:"tier,omitempty" enum:"cheap,balanced,fast" default:"balanced" doc:"route: cheap costs half, fast twice the units and takes the quickest upstreams; balanced when absent"`
	Submission  string `json:"submission,omitempty" enum:"public,private" default:"public" doc:"private sends a transaction to an endpoint that keeps it out of the public mempool; public when absent"`
	Consistency string `json:"consistency,omitempty" enum:"head" doc:"head has only upstreams asked that have the newest block"`
	Verify      int    `json:"verify,omitempty" minimum:"2" maximum:"3" doc:"so many upstreams must agree on the answer, which costs as many times the units; one is asked when absent"`
}

type pricesInput struct {
	Kind    string `json:"kind" enum:"gas,token" doc:"gas: fee recommendations of a chain, with chain; token: prices of tokens in US dollars, with symbols"`
	Chain   string `json:"chain,omitempty" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos" doc:"with kind gas, and needed there: the EVM chain" example:"eth_mainnet"`
	Symbols string `json:"symbols,omitempty" maxLength:"200" doc:"with kind token: symbols separated by commas, of eth, btc, link; all when absent" example:"eth,btc"`
}

type ensInput struct {
	Query string `json:"query" minLength:"1" maxLength:"254" doc:"a name of ENS in ASCII like vitalik.eth, or an address, 0x and 40 hexadecimal digits" example:"vitalik.eth"`
}

var anyAddress = regexp.MustCompile(`^0[xX][0-9a-fA-F]{40}$`)

// chainTools are the tools that read chains.
func chainTools(c *service.Registry) []*tool {
	return append([]*tool{rpcTool(), pricesTool(c), ensTool(c)}, append(dataTools(c), contractTools(c)...)...)
}

func rpcTool() *tool {
	return &tool{
		name: "rpc_call", title: "Call a JSON-RPC method", relays: true, input: rpcInput{}, hints: openWorld,
		strangers: []string{"result", "error"},
		about: about{
			Purpose: "Sends one JSON-RPC call to a chain and gives its answer, exactly as POST /rpc/{chain} does: " +
				"same routing, cache and meter.",
			Use: "You need a method that no other tool covers: contract reads (eth_call), logs, blocks, " +
				"receipts, sending a signed transaction.",
			Instead: "get_balances, get_history, get_tx_status, get_prices, resolve_ens and decode_calldata answer " +
				"common questions in one call; get_quote tells what a method weighs.",
			Cost: "1 unit for standard methods, 2 for heavy ones (traces, wide logs, state deeper than 128 " +
				"blocks), times the tier; 0 for an answer from the cache.",
			Limits: "One call, no batch. eth_getLogs takes 1,000 blocks at most. Answers up to 512 KiB; larger ones " +
				"are refused without charge: use POST /rpc/{chain}.",
			Fails: meteredFails +
				"-32601 method not served: data.docs lists those that are. -32602 parameter refused, or an answer " +
				"that is too large. " + callerIsServed +
				"-32017 outcome of a submission unknown: look it up with get_tx_status before signing again. An " +
				"error of the chain itself (a revert) comes as error inside the result and is charged.",
			Again: "Reads may be repeated. A signed transaction is sent to exactly one upstream, once; sending the " +
				"identical bytes again is safe, a new signature on the same nonce is not.",
		},
	}
}

func pricesTool(c *service.Registry) *tool {
	return &tool{
		name: "get_prices", title: "Get gas or token prices", input: pricesInput{}, selector: "kind",
		ways:  []way{{of: c.GetGas, when: "gas"}, {of: c.GetPrices, when: "token"}},
		hints: readOnly | idempotent | openWorld,
		about: about{
			Purpose: "Gives fee recommendations for a transaction (kind gas), or prices of eth, btc and link in US " +
				"dollars from Chainlink's feeds on chain (kind token).",
			Use: "Before you send a transaction, or to value an amount. Amounts are exact decimal strings, in " +
				"wei with gwei beside.",
			Instead: "For the gas that a transaction needs use rpc_call with eth_estimateGas; for prices of this " +
				"service use get_quote or list_plans.",
			Cost: unitOfToolbox + "a repeat within 12 seconds (gas) or 30 seconds (token) costs nothing.",
			Limits: "Gas: " + evmOnly +
				"Solana has no gas. Token: three feeds that move in steps, no ticker; a price that is marked stale " +
				"must not be traded on.",
			Fails: meteredFails + callerIsServed + fieldFails,
			Again: "Safe; the answer changes with the chain.",
		},
	}
}

func ensTool(c *service.Registry) *tool {
	return &tool{
		name: "resolve_ens", title: "Resolve an ENS name or address", input: ensInput{},
		hints: readOnly | idempotent | openWorld, strangers: []string{"name", "unconfirmed_name"},
		ways: []way{
			{of: c.ResolveENS, names: map[string]string{"query": "name"}}, {
				of: c.ReverseENS, names: map[string]string{"query": "address"},
			},
		},
		selector: "query",
		chosen: func(query string) int {
			if anyAddress.MatchString(strings.TrimSpace(query)) {
				return 1
			}
			return 0
		},
		about: about{
			Purpose: "Gives the Ethereum address of an ENS name, or the primary name of an address, as the chain has " +
				"it now.",
			Use:     "Before sending to a name, or to show whom an address belongs to.",
			Instead: "convert_evm with op checksum checks an address without asking a chain.",
			Cost:    unitOfToolbox + "a repeat within 5 minutes costs nothing.",
			Limits: "Names in ASCII, up to 254 characters; wildcard and off-chain names (CCIP-read) are followed. " +
				"Text with 0x and 40 digits is taken as an address.",
			Fails: meteredFails + callerIsServed +
				"-32602 the name is malformed. No record is an answer with resolved false, not an error.",
			Again: "Safe; the answer changes with the records. A reverse name that is unconfirmed must not be " +
				"trusted.",
		},
	}
}

// dataTools are the tools that combine several calls.
func dataTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "get_tx_status", title: "Get a transaction's status", ways: one(c.GetTxStatus),
			hints: readOnly | idempotent, strangers: []string{"error"},
			about: about{
				Purpose: "Says what became of a transaction: confirmed, failed, pending or unknown, with block, " +
					"confirmations and price paid, or slot and commitment on Solana.",
				Use: "After every submission, and always before signing again when an outcome is unknown (-32017).",
				Instead: "For logs and return values use rpc_call with eth_getTransactionReceipt or getTransaction; " +
					"for an address' transfers get_history.",
				Cost: "2 units; a repeat within 5 seconds costs nothing, so poll no faster.",
				Limits: "All six chains. Unknown means that up to three upstreams do not know it now: it may still " +
					"be on its way.",
				Fails: meteredFails + callerIsServed + fieldFails,
				Again: "Safe; the answer changes with the chain.",
			},
		},
		{
			name: "get_balances", title: "Get an address' balances", ways: one(c.GetBalances),
			hints: readOnly | idempotent | openWorld, strangers: []string{"tokens[].symbol", "tokens[].name"},
			about: about{
				Purpose: "Lists what an address holds now: the chain's coin, ERC-20 tokens or SPL tokens, with exact " +
					"amounts.",
				Use: "You want all holdings of an address in one call.",
				Instead: "For one token, or a past block, use rpc_call (balanceOf by eth_call, eth_getBalance), " +
					"which costs 1 unit; for transfers get_history.",
				Cost: "10 units each time; nothing is cached.",
				Limits: "Paid plans only. All six chains, at most 500 tokens, those of balance 0 left out. Token " +
					"names are what contracts claim: trust addresses.",
				Fails: meteredFails + "-32010 the plan lacks data: list_plans shows those that have it. " +
					callerIsServed + fieldFails,
				Again: "Safe, and charged again.",
			},
		},
		{
			name: "get_history", title: "Get an address' transfers", ways: one(c.GetHistory),
			hints: readOnly | idempotent | openWorld, strangers: []string{"transfers[].asset"},
			about: about{
				Purpose: "Lists transfers from and to an address on an EVM chain, newest first, with direction and " +
					"exact amounts.",
				Use: "You want to know what came and went.",
				Instead: "For what the address holds use get_balances; for one transaction get_tx_status; for raw " +
					"events rpc_call with eth_getLogs.",
				Cost: "10 units a page; nothing is cached.",
				Limits: "Paid plans only. " + evmOnly +
					"50 transfers a page, up to 100 with limit; next_cursor leads to older ones.",
				Fails: meteredFails + "-32010 the plan lacks data: list_plans shows those that have it. " +
					callerIsServed + fieldFails,
				Again: "Safe, and charged again; newer transfers appear on the first page only.",
			},
		},
	}
}

// contractTools are the tools that read contracts.
func contractTools(c *service.Registry) []*tool {
	return []*tool{
		{
			name: "get_abi", title: "Get a contract's ABI", ways: one(c.GetABI), hints: readOnly | idempotent,
			strangers: []string{"name", "abi"},
			about: about{
				Purpose: "Gives the ABI of a contract that is verified at Sourcify; proxies are followed to their " +
					"implementation.",
				Use:     "You want to call a contract and need its functions.",
				Instead: "To read what some calldata does, decode_calldata finds the ABI by itself.",
				Cost:    unitOfToolbox + "a repeat within 24 hours (5 minutes when not verified) costs nothing.",
				Limits:  evmOnly + "A contract that is not verified answers verified false with a note.",
				Fails:   meteredFails + callerIsServed + fieldFails,
				Again:   "Safe; an upgrade of a proxy shows after a day at most.",
			},
		},
		{
			name: "decode_calldata", title: "Decode calldata", ways: []way{
				{of: c.DecodeCalldata, names: map[string]string{"calldata": "data"}},
			},
			hints:     readOnly | idempotent | openWorld,
			strangers: []string{"function", "candidates", "args[].name", "args[].type", "args[].value"},
			about: about{
				Purpose: "Tells which function of a contract some calldata calls, and with which arguments.",
				Use:     "Before signing a transaction that somebody else made, or to understand one on chain.",
				Instead: "get_abi for the whole ABI; convert_evm with op selector for the selector of a signature.",
				Cost:    unitOfToolbox + "a repeat within 24 hours (5 minutes for a guess) costs nothing.",
				Limits: evmOnly +
					"Calldata up to 131,072 bytes. Without a verified ABI the function is guessed from its selector, " +
					"and guess says so.",
				Fails: meteredFails + callerIsServed +
					"-32602 the data does not fit the function, with what is wrong.",
				Again: "Safe.",
			},
		},
	}
}
