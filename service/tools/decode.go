package tools

import (
	"context"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/toolbox/contracts"
)

// DecodeInput is a contract call.
type DecodeInput struct {
	Chain   chain.ID `json:"chain" enum:"eth_mainnet,base_mainnet,arbitrum_one,optimism_mainnet,polygon_pos" doc:"the EVM chain that the contract is on; programs of Solana have no ABI and no calldata" example:"base_mainnet"`
	Address string   `json:"address" pattern:"^0x[0-9a-fA-F]{40}$" doc:"the contract that is called, 0x and 40 hexadecimal digits, in one case or with the right checksum (EIP-55)" example:"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"`
	Data    string   `json:"data" pattern:"^0x[0-9a-fA-F]*$" maxLength:"262146" doc:"the call's data, 0x and two hexadecimal digits for each byte, at most 131072 bytes" example:"0xa9059cbb000000000000000000000000d8da6bf26964af9d7eed9e03e53415d37aa9604500000000000000000000000000000000000000000000000000000000000f4240"`
}

// maxDecodeBody is the size of the longest data as JSON, in bytes.
const maxDecodeBody = 320 << 10

// OnChain returns the chain that the input names.
func (in *DecodeInput) OnChain() chain.ID { return in.Chain }

// Check normalizes address and data.
func (in *DecodeInput) Check() *fault.Error {
	contract := ABIInput{in.Chain, in.Address}
	if refusal := contract.Check(); refusal != nil {
		return refusal
	}
	in.Address, in.Data = contract.Address, strings.ToLower(in.Data)
	if len(in.Data)%2 == 1 {
		return fault.New(fault.FieldRefused, "data has %d hexadecimal digits, and a byte takes two. Send whole bytes.",
			len(in.Data)-len("0x")).With("field", "data")
	}
	return nil
}

func (h *handlers) decodeCalldata() *operation.Operation[DecodeInput, contracts.Decoded] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "decode_calldata", Title: "Decode a call of a contract", Access: operation.KeyHolders, Reads: true,
		Route: operation.Route{
			Method: http.MethodPost, Path: "/toolbox/decode/{chain}/{address}",
			Status: http.StatusOK,
		},
		Service: account.Contracts, Units: plan.Unit, TTL: contracts.LongTTL, MaxBody: maxDecodeBody,
		Description: "Tells which function of a contract data calls, and with which arguments. With the contract's " +
			"verified ABI (proxies followed) arguments have their names; without it a signature with the same " +
			"selector is guessed from a database, guess says so, and only when the data reads by it without a rest. " +
			"Integers are decimal strings; values of variable length stand beside their raw bytes. Data that does " +
			"not fit the function is refused with 422 and what is wrong. For the ABI itself use get_abi, for the " +
			"selector of a signature compute_selector. It costs one unit. A repeat within 24 hours (5 minutes for a " +
			"guess) gives the same answer for nothing. When Sourcify, the database or the chain does not answer it " +
			"fails with 503 and costs nothing.",
		Fails: chainFailures,
	}, h.runDecodeCalldata)
}

func (h *handlers) runDecodeCalldata(ctx context.Context, c *operation.Call,
	in DecodeInput,
) (contracts.Decoded, error) {
	address, err := wallet.ParseAddress(in.Address)
	if err != nil {
		return contracts.Decoded{}, err
	}
	data, err := hex.DecodeString(strings.TrimPrefix(in.Data, "0x"))
	if err != nil {
		return contracts.Decoded{}, err
	}
	decoded, kept, err := h.Toolbox.Contracts.Decode(ctx, in.Chain, address, data)
	c.Keep(kept)
	return decoded, err
}
