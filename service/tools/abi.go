package tools

import (
	"context"
	"net/http"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox/contracts"
)

// ABIInput identifies a contract.
type ABIInput struct {
	Chain   chain.ID `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos" doc:"the EVM chain that the contract is on; programs of Solana have no ABI and no calldata" example:"base_mainnet"`
	Address string   `json:"address" pattern:"^0x[0-9a-fA-F]{40}$" doc:"the contract's address, 0x and 40 hexadecimal digits, in one case or with the right checksum (EIP-55)" example:"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`
}

// OnChain returns the chain that the input names.
func (in *ABIInput) OnChain() chain.ID { return in.Chain }

// Check normalizes the address.
func (in *ABIInput) Check() *fault.Error {
	address, refusal := checkedAddress("address", in.Address)
	in.Address = address.Checksummed()
	return refusal
}

func (h *handlers) getABI() *operation.Operation[ABIInput, contracts.ABI] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_abi", Title: "Get a contract's ABI", Access: operation.KeyHolders, Reads: true,
		Route:   operation.Route{Method: http.MethodGet, Path: "/toolbox/abi/{chain}/{address}", Status: http.StatusOK},
		Service: account.Contracts, Units: plan.Unit, TTL: contracts.LongTTL,
		Description: "Gives the ABI of a contract that is verified at Sourcify. Proxies are followed: the ABI is " +
			"then that of the implementation, which is named. A contract that is not verified answers verified " +
			"false, with a note on how to verify it. To read what a call does, use decode_calldata, which finds the " +
			"ABI by itself. It costs one unit. A repeat within 24 hours (5 minutes when it is not verified) gives " +
			"the same answer for nothing, so an upgrade of a proxy shows after a day at most. When Sourcify or the " +
			"chain does not answer it fails with 503 and costs nothing; that never reads as not verified.",
		Fails: chainFailures,
	}, h.runGetABI)
}

func (h *handlers) runGetABI(ctx context.Context, c *operation.Call, in ABIInput) (contracts.ABI, error) {
	address, err := wallet.ParseAddress(in.Address)
	if err != nil {
		return contracts.ABI{}, err
	}
	found, kept, err := h.Toolbox.Contracts.ABI(ctx, in.Chain, address)
	c.Keep(kept)
	return found, err
}
