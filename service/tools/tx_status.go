package tools

import (
	"context"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox"
)

// TxStatusInput identifies a transaction.
type TxStatusInput struct {
	Chain chain.ID `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos,solana_mainnet" doc:"the chain that the transaction was sent to" example:"eth_mainnet"`
	Hash  string   `json:"hash" minLength:"1" maxLength:"100" doc:"on an EVM chain the transaction's hash, 0x and 64 hexadecimal digits; on Solana its first signature, 64 bytes in base58" example:"0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b"`
}

// OnChain returns the chain that the input names.
func (in *TxStatusInput) OnChain() chain.ID { return in.Chain }

// Check validates the input and fills in defaults.
func (in *TxStatusInput) Check() (refusal *fault.Error) {
	in.Hash, refusal = toolbox.ParseTxHash(in.Chain, in.Hash)
	return refusal
}

func (h *handlers) getTxStatus() *operation.Operation[TxStatusInput, toolbox.TxStatus] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_tx_status", Title: "Get a transaction's status",
		Description: "Says what became of a transaction: confirmed, failed, pending or unknown. On EVM chains with " +
			"block, confirmations, gas and price paid; on Solana with slot and commitment, where confirmed means " +
			"that the cluster has confirmed or finalized it. Unknown means that up to three upstreams were asked and " +
			"none knows it now: it may still be on its way. Use it after a submission whose outcome is unknown, " +
			"before signing again; for logs and return values use eth_getTransactionReceipt or getTransaction " +
			"through the relay. It costs 2 units, a repeat within 5 seconds nothing, so poll no faster. When the " +
			"chain cannot be read it fails and costs nothing.",
		Route:   operation.Route{Method: http.MethodGet, Path: "/toolbox/tx/{chain}/{hash}", Status: http.StatusOK},
		Access:  operation.KeyHolders,
		Reads:   true,
		Service: account.TxStatus,
		Units:   txStatusUnits,
		TTL:     5 * time.Second,
		Fails:   chainFailures,
	}, h.runGetTxStatus)
}

const txStatusUnits = 2 * plan.Unit

func (h *handlers) runGetTxStatus(ctx context.Context, _ *operation.Call, in TxStatusInput) (toolbox.TxStatus, error) {
	status, err := h.Toolbox.Transactions.Status(ctx, in.Chain, in.Hash)
	status.UnitWeight = txStatusUnits
	return status, err
}
