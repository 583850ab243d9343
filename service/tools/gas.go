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

// GasInput is an EVM chain.
type GasInput struct {
	Chain chain.ID `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos" doc:"one of the EVM chains. Solana has no gas: a transaction pays 5,000 lamports for each signature and a priority fee of its own choice, for which getRecentPrioritizationFees through /rpc/solana_mainnet shows what others paid" example:"eth_mainnet"`
}

// OnChain returns the chain that the input names.
func (in *GasInput) OnChain() chain.ID { return in.Chain }

func (h *handlers) getGas() *operation.Operation[GasInput, toolbox.Gas] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_gas", Title: "Get gas recommendations",
		Description: "Recommends the fees of an EIP-1559 transaction on an EVM chain, three times: slow, standard " +
			"and fast. The base fee is the next block's; tips are medians of the 10th, 50th and 90th percentile over " +
			"the last 20 blocks, those less than a tenth full left out, and never below what the chain's nodes take; " +
			"the most to pay leaves the base fee room to rise by a quarter, by half, or to double. Amounts are " +
			"decimal strings in wei, with gwei beside. On Base, OP Mainnet and Arbitrum One it adds what a plain " +
			"transfer pays for its data on Ethereum. For the gas that a transaction needs use eth_estimateGas " +
			"through the relay. It costs 1 unit, a repeat within 12 seconds nothing. When the chain cannot be read " +
			"it fails and costs nothing.",
		Route:   operation.Route{Method: http.MethodGet, Path: "/toolbox/gas/{chain}", Status: http.StatusOK},
		Access:  operation.KeyHolders,
		Reads:   true,
		Service: account.Gas,
		Units:   gasUnits,
		TTL:     12 * time.Second,
		Fails:   chainFailures,
	}, h.runGetGas)
}

const gasUnits = plan.Unit

// chainFailures are the reasons with which operations that read a chain fail.
var chainFailures = []fault.Reason{fault.NoUpstream, fault.UpstreamFailed, fault.UpstreamTimeout}

func (h *handlers) runGetGas(ctx context.Context, _ *operation.Call, in GasInput) (toolbox.Gas, error) {
	gas, err := h.Toolbox.Gas.Recommend(ctx, in.Chain)
	gas.UnitWeight = gasUnits
	return gas, err
}
