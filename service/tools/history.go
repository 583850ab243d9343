package tools

import (
	"context"
	"net/http"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox"
)

// HistoryInput is an address on an EVM chain and a page of its transfers.
type HistoryInput struct {
	Chain   chain.ID `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos" doc:"one of the EVM chains. Solana has no history here, because no index of transfers by owner is part of its nodes: list an address's transactions with getSignaturesForAddress through /rpc/solana_mainnet and read each with getTransaction" example:"eth_mainnet"`
	Address string   `json:"address" minLength:"1" maxLength:"64" doc:"0x and 40 hexadecimal digits, in small letters, in capitals or with the capitals of EIP-55" example:"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"`
	Limit   int      `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"most transfers of a page, 1 to 100; 50 when it is left out"`
	Cursor  string   `json:"cursor,omitempty" maxLength:"128" doc:"next_cursor of the page before, exactly as it came; none for the newest transfers"`
}

// OnChain returns the chain that the input names.
func (in *HistoryInput) OnChain() chain.ID { return in.Chain }

// Check validates the input and fills in defaults.
func (in *HistoryInput) Check() (refusal *fault.Error) {
	if in.Limit == 0 {
		in.Limit = toolbox.UsualTransfers
	}
	if in.Address, refusal = toolbox.ParseAddress(in.Chain, in.Address); refusal != nil {
		return refusal
	}
	return toolbox.CheckCursor(in.Chain, in.Address, in.Cursor)
}

func (h *handlers) getHistory() *operation.Operation[HistoryInput, toolbox.History] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_history", Title: "Get transfers of an address",
		Description: "Lists transfers from and to an address on an EVM chain, the newest first: of the coin, of " +
			"ERC-20, ERC-721 and ERC-1155 tokens, and on Ethereum and Polygon those that contracts sent. Each says " +
			"in which direction it went, with its exact amount. A page has 50 transfers, or up to 100 with limit; " +
			"next_cursor leads to those before, and never expires. Transfers that come in meanwhile are on a new " +
			"first page only. Failed transactions may be listed, as the index has them: get_tx_status tells. For " +
			"what an address holds use get_balances; for one transaction get_tx_status. It costs 10 units a page, a " +
			"repeat the same: nothing is cached. It needs a paid plan. While no upstream of the chain has an index " +
			"of transfers, it answers 503 and costs nothing.",
		Route: operation.Route{
			Method: http.MethodGet, Path: "/data/{chain}/history/{address}",
			Status: http.StatusOK,
		},
		Access:  operation.KeyHolders,
		Reads:   true,
		Service: account.Data,
		Units:   dataUnits,
		Fails:   chainFailures,
	}, h.runGetHistory)
}

func (h *handlers) runGetHistory(ctx context.Context, _ *operation.Call, in HistoryInput) (toolbox.History, error) {
	history, err := h.Toolbox.Ledger.History(ctx, toolbox.HistoryPage{
		Chain: in.Chain, Address: in.Address, Cursor: in.Cursor, Limit: in.Limit,
	})
	history.UnitWeight = dataUnits
	return history, err
}
