package toolbox

import (
	"context"
	"errors"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/chainaccess/gateway/relay/chain"
)

// L1DataFee is what a plain transfer of the chain's coin pays for its data on Ethereum, in addition
// to its gas or within it.
type L1DataFee struct {
	Fee             string  `json:"fee" doc:"in wei, for a plain transfer; more data costs more"`
	FeeGwei         string  `json:"fee_gwei" doc:"the same in gwei"`
	InGasLimit      bool    `json:"in_gas_limit" doc:"true on Arbitrum One, where the gas limit covers this fee and eth_estimateGas counts it; false on Base and OP Mainnet, where it is paid beside the gas and takes balance of its own"`
	Gas             *uint64 `json:"gas,omitempty" doc:"gas that stands for the fee; on Arbitrum One"`
	L1BaseFeePerGas string  `json:"l1_base_fee_per_gas,omitempty" doc:"the chain's estimate of Ethereum's base fee, in wei; on Arbitrum One"`
	Transaction     string  `json:"transaction" doc:"what was priced, in words"`
	Bytes           int     `json:"transaction_bytes,omitempty" doc:"its size before it is signed; the oracle adds the signature by itself. On Base and OP Mainnet"`
	Source          string  `json:"source" doc:"the contract's function that was read"`
}

// Where the rollups' fees are read. The oracle's getL1Fee takes a transaction without its signature
// and adds 68 bytes for it (OP stack specification, Fjord). The node interface is no contract, but
// every Arbitrum node answers calls to it.
var (
	gasPriceOracle = common.HexToAddress("0x420000000000000000000000000000000000000F")
	nodeInterface  = common.HexToAddress("0x00000000000000000000000000000000000000C8")
	getL1Fee       = selector("getL1Fee(bytes)")
	gasComponents  = selector("gasEstimateComponents(address,bool,bytes)")
	// an address from the examples of EIP-55; nothing is sent
	transferTo      = common.HexToAddress("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
	errAnswerLength = errors.New("the result has another length than its type")
)

const pricedTransfer = "a transfer of coins to an account without code"

func selector(signature string) []byte { return crypto.Keccak256([]byte(signature))[:4] }

// opStackDataFee asks the oracle what a transfer pays. It returns nil without an error if the
// network has no such contract.
func opStackDataFee(ctx context.Context, chains caller, on *chain.Chain) (*L1DataFee, error) {
	transfer, err := plainTransfer(on)
	if err != nil {
		return nil, err
	}
	result, err := ethCall(ctx, chains, on.ID, gasPriceOracle,
		slices.Concat(getL1Fee, word(32), bytesArgument(transfer)))
	switch {
	case err != nil || len(result) == 0:
		return nil, err
	case len(result) != 32:
		return nil, unusable(on.ID, "getL1Fee", errAnswerLength)
	}
	fee := new(big.Int).SetBytes(result)
	return &L1DataFee{
		Fee: fee.String(), FeeGwei: gwei(fee), Transaction: pricedTransfer, Bytes: len(transfer),
		Source: "getL1Fee(bytes) at " + gasPriceOracle.Hex(),
	}, nil
}

// arbitrumDataFee asks the node how much of a transfer's gas pays for its data. It returns nil
// without an error if the network does not know.
func arbitrumDataFee(ctx context.Context, chains caller, on *chain.Chain) (*L1DataFee, error) {
	input := slices.Concat(gasComponents, common.LeftPadBytes(transferTo[:], 32), word(0), word(96), bytesArgument(nil))
	result, err := ethCall(ctx, chains, on.ID, nodeInterface, input)
	switch {
	case err != nil || len(result) == 0:
		return nil, err
	case len(result) != 4*32 || !isUint64(result[32:64]):
		return nil, unusable(on.ID, "gasEstimateComponents", errAnswerLength)
	}
	gas, l2BaseFee := new(big.Int).SetBytes(result[32:64]), new(big.Int).SetBytes(result[64:96])
	fee, units := new(big.Int).Mul(gas, l2BaseFee), gas.Uint64()
	return &L1DataFee{
		Fee: fee.String(), FeeGwei: gwei(fee), InGasLimit: true, Gas: &units,
		L1BaseFeePerGas: new(big.Int).SetBytes(result[96:128]).String(), Transaction: pricedTransfer,
		Source: "gasEstimateComponents(address,bool,bytes) at " + nodeInterface.Hex(),
	}, nil
}

// plainTransfer returns an EIP-1559 transaction that moves coins, as it is encoded for signing. Its
// amounts have typical sizes, because its cost depends on its length and its zero bytes.
func plainTransfer(on *chain.Chain) ([]byte, error) {
	fields, err := rlp.EncodeToBytes(struct {
		ChainID, Nonce, Tip, Cap, Gas uint64
		To                            common.Address
		Value                         uint64
		Data                          []byte
		Access                        []common.Address
	}{on.ChainID, 1_234, milliGwei, 100 * milliGwei, 21_000, transferTo, 123_456_789_012_345_678, nil, nil})
	if err != nil {
		return nil, err
	}
	return append([]byte{2}, fields...), nil
}

// ethCall runs a call at the newest block and returns its result, which is empty if there is no
// contract.
func ethCall(ctx context.Context, chains caller, id chain.ID, to common.Address, input []byte) ([]byte, error) {
	var result hexutil.Bytes
	err := ask(ctx, chains, id, &result, "eth_call", map[string]any{"to": to, "data": hexutil.Bytes(input)}, "latest")
	return result, err
}

// word returns a number as a word of the ABI.
func word(n uint64) []byte { return common.LeftPadBytes(new(big.Int).SetUint64(n).Bytes(), 32) }

// bytesArgument returns the length and the padded content of an argument of type bytes.
func bytesArgument(content []byte) []byte {
	return append(word(uint64(len(content))), common.RightPadBytes(content, (len(content)+31)/32*32)...)
}

// isUint64 reports whether a word fits in a uint64.
func isUint64(word []byte) bool { return new(big.Int).SetBytes(word).IsUint64() }
