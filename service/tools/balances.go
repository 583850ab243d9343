package tools

import (
	"context"
	"net/http"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox"
)

// dataUnits is the weight of a call of the data service (docs/interface.md, 1.8).
const dataUnits = 10 * plan.Unit

// BalancesInput is an address on a chain.
type BalancesInput struct {
	Chain   chain.ID `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"the chain to look at" example:"eth_mainnet"`
	Address string   `json:"address" minLength:"1" maxLength:"64" doc:"on an EVM chain 0x and 40 hexadecimal digits, in small letters, in capitals or with the capitals of EIP-55; on Solana 32 bytes in base58" example:"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"`
}

// OnChain returns the chain that the input names.
func (in *BalancesInput) OnChain() chain.ID { return in.Chain }

// Check validates the input and fills in defaults.
func (in *BalancesInput) Check() (refusal *fault.Error) {
	in.Address, refusal = toolbox.ParseAddress(in.Chain, in.Address)
	return refusal
}

func (h *handlers) getBalances() *operation.Operation[BalancesInput, toolbox.Balances] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_balances", Title: "Get balances of an address",
		Description: "Lists what an address holds now: the chain's coin on all six chains, ERC-20 tokens where an " +
			"upstream keeps them by owner, and SPL tokens on Solana. Amounts are decimal strings in the smallest " +
			"unit, with the exact decimal beside; tokens of balance 0 are left out, and at most 500 are listed. " +
			"Token names are what contracts say of themselves: trust addresses, not names. For one token, or for a " +
			"balance in the past, ask balanceOf or eth_getBalance through the relay, which costs 1 unit; for what " +
			"came and went use get_history. It costs 10 units, a repeat the same: nothing is cached. It needs a paid " +
			"plan. Where no upstream keeps tokens by owner, tokens is null and tokens_note says so; where one does " +
			"and cannot be used just now, it answers 503 and costs nothing.",
		Route: operation.Route{
			Method: http.MethodGet, Path: "/data/{chain}/balances/{address}",
			Status: http.StatusOK,
		},
		Access:  operation.KeyHolders,
		Reads:   true,
		Service: account.Data,
		Units:   dataUnits,
		Fails:   chainFailures,
	}, h.runGetBalances)
}

func (h *handlers) runGetBalances(ctx context.Context, _ *operation.Call, in BalancesInput) (toolbox.Balances, error) {
	balances, err := h.Toolbox.Ledger.Balances(ctx, in.Chain, in.Address)
	balances.UnitWeight = dataUnits
	return balances, err
}
