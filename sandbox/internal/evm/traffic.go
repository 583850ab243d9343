package evm

import (
	"crypto/ecdsa"
	"encoding/hex"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

// TransferTopic is the ERC-20 event Transfer(address,address,uint256) that the emitter contract logs.
var TransferTopic = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))

// transferSelector calls transfer(address,uint256). The emitter ignores the selector, decoders do not.
var transferSelector = crypto.Keccak256([]byte("transfer(address,uint256)"))[:4]

const callGas = 60_000

// traffic makes the sandbox's own transactions: plain transfers, and calls that emit logs.
type traffic struct {
	key     *ecdsa.PrivateKey
	from    common.Address
	emitter common.Address
	signer  types.Signer
	targets []common.Address
}

func newTraffic(cfg Config) *traffic {
	from := crypto.PubkeyToAddress(cfg.Traffic.PublicKey)
	targets := cfg.Funded
	if len(targets) == 0 {
		targets = []common.Address{from}
	}
	return &traffic{
		key: cfg.Traffic, from: from, emitter: crypto.CreateAddress(from, 0),
		signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID)), targets: targets,
	}
}

// deploy is transaction 0, which fixes the emitter's address.
func (t *traffic) deploy(baseFee *big.Int) (*types.Transaction, error) {
	code, err := emitterCode()
	if err != nil {
		return nil, err
	}
	return t.sign(0, baseFee, nil, nil, 200_000, code)
}

// next alternates a transfer and a log-emitting call, going round the funded accounts; it begins with the deployment.
func (t *traffic) next(nonce uint64, baseFee *big.Int) (*types.Transaction, error) {
	if nonce == 0 {
		return t.deploy(baseFee)
	}
	to := t.targets[nonce/2%uint64(len(t.targets))]
	amount := new(big.Int).SetUint64(1_000_000 + nonce)
	if nonce%2 == 0 {
		return t.sign(nonce, baseFee, &to, amount, params.TxGas, nil)
	}
	data := append([]byte{}, transferSelector...)
	data = append(data, common.LeftPadBytes(to.Bytes(), 32)...)
	data = append(data, common.LeftPadBytes(amount.Bytes(), 32)...)
	return t.sign(nonce, baseFee, &t.emitter, nil, callGas, data)
}

func (t *traffic) sign(nonce uint64, baseFee *big.Int, to *common.Address, value *big.Int, gas uint64, data []byte) (*types.Transaction, error) {
	tip := big.NewInt(params.GWei)
	tx, err := types.SignNewTx(t.key, t.signer, &types.DynamicFeeTx{
		ChainID: t.signer.ChainID(), Nonce: nonce, To: to, Value: value, Gas: gas, Data: data,
		GasTipCap: tip, GasFeeCap: new(big.Int).Add(tip, new(big.Int).Mul(baseFee, big.NewInt(2))),
	})
	if err != nil {
		return nil, fmt.Errorf("sign sandbox transaction %d: %w", nonce, err)
	}
	return tx, nil
}

// emitterCode deploys a contract that answers every call with true after
// LOG3(data = second word, Transfer, caller, first word), which a transfer(address,uint256) call fills.
func emitterCode() ([]byte, error) {
	const (
		amount = "602435600052" // mstore(0, calldataload(36))
		to     = "600435"       // calldataload(4)
		from   = "33"           // caller
		log    = "60206000a3"   // log3(0, 32, topic, from, to)
		answer = "600160005260206000f3"
	)
	runtime := amount + to + from + "7f" + TransferTopic.Hex()[2:] + log + answer
	// Constructor: copy what follows these 9 bytes and return it (returndatasize is 0).
	constructor := fmt.Sprintf("60%02x8060093d393df3", len(runtime)/2)
	code, err := hex.DecodeString(constructor + runtime)
	if err != nil {
		return nil, fmt.Errorf("assemble emitter contract: %w", err)
	}
	return code, nil
}
