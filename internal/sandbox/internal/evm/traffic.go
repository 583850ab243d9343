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

// TransferTopic is the topic of the ERC-20 event Transfer(address,address,uint256) that the emitter
// contract logs.
var TransferTopic = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))

// transferSelector is the selector of transfer(address,uint256). The emitter ignores it; decoders
// do not.
var transferSelector = crypto.Keccak256([]byte("transfer(address,uint256)"))[:4]

const callGas = 500_000

// Call is a call by the sandbox's own account.
type Call struct {
	To    common.Address
	Value *big.Int // nil for none
	Data  []byte
}

// traffic creates the sandbox's own transactions: plain transfers, calls that emit logs, and work
// that fills blocks.
type traffic struct {
	key     *ecdsa.PrivateKey
	from    common.Address
	emitter common.Address
	signer  types.Signer
	calls   func(turn uint64) ([]Call, error)
	upkeep  []Call
	load    load
}

func newTraffic(cfg Config) *traffic {
	from := crypto.PubkeyToAddress(cfg.Traffic.PublicKey)
	t := &traffic{
		key: cfg.Traffic, from: from, emitter: crypto.CreateAddress(from, 0),
		signer: types.LatestSignerForChainID(new(big.Int).SetUint64(cfg.ChainID)),
		load:   load{at: cfg.Workload, typical: cfg.BaseFee, tip: cfg.Tip},
	}
	targets := cfg.Funded
	if len(targets) == 0 {
		targets = []common.Address{from}
	}
	t.calls = func(turn uint64) ([]Call, error) {
		to, amount := targets[turn/2%uint64(len(targets))], new(big.Int).SetUint64(1_000_000+turn)
		call := Call{To: to, Value: amount}
		if turn%2 == 1 {
			call = Call{To: t.emitter, Data: transferData(to, amount)}
		}
		if cfg.Calls == nil {
			return []Call{call}, nil
		}
		more, err := cfg.Calls(turn)
		return append([]Call{call}, more...), err
	}
	t.upkeep = cfg.Upkeep
	return t
}

func transferData(to common.Address, amount *big.Int) []byte {
	data := append([]byte{}, transferSelector...)
	data = append(data, common.LeftPadBytes(to.Bytes(), 32)...)
	return append(data, common.LeftPadBytes(amount.Bytes(), 32)...)
}

// block creates the transactions of one block, starting at a nonce: calls and work. The account's
// first transaction deploys the emitter, which determines its address.
func (t *traffic) block(nonce uint64, baseFee *big.Int, calls []Call, work []work) ([]*types.Transaction, error) {
	var made []*types.Transaction
	add := func(to *common.Address, value *big.Int, gas uint64, data []byte, tip *big.Int) error {
		tx, err := types.SignNewTx(t.key, t.signer, &types.DynamicFeeTx{
			ChainID: t.signer.ChainID(), Nonce: nonce, To: to, Value: value, Gas: gas, Data: data,
			GasTipCap: tip, GasFeeCap: new(big.Int).Add(tip, new(big.Int).Mul(baseFee, big.NewInt(2))),
		})
		if err != nil {
			return fmt.Errorf("sign sandbox transaction %d: %w", nonce, err)
		}
		nonce++
		made = append(made, tx)
		return nil
	}
	if nonce == 0 {
		code, err := emitterCode()
		if err != nil {
			return nil, err
		}
		if err := add(nil, nil, callGas, code, work[0].tip); err != nil {
			return nil, err
		}
	}
	for _, c := range calls {
		gas := uint64(callGas)
		if len(c.Data) == 0 {
			gas = params.TxGas
		}
		if err := add(&c.To, c.Value, gas, c.Data, work[0].tip); err != nil {
			return nil, err
		}
	}
	for _, w := range work {
		if err := add(&t.load.at, nil, w.gas, w.data(), w.tip); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// emitterCode returns the creation code of a contract that answers every call with true after
// LOG3(data = second word, Transfer, caller, first word), which matches the arguments of
// transfer(address,uint256).
func emitterCode() ([]byte, error) {
	const (
		amount = "602435600052" // mstore(0, calldataload(36))
		to     = "600435"       // calldataload(4)
		from   = "33"           // caller
		log    = "60206000a3"   // log3(0, 32, topic, from, to)
		answer = "600160005260206000f3"
	)
	runtime := amount + to + from + "7f" + TransferTopic.Hex()[2:] + log + answer
	// The constructor copies what follows these 9 bytes and returns it (returndatasize is 0).
	constructor := fmt.Sprintf("60%02x8060093d393df3", len(runtime)/2)
	code, err := hex.DecodeString(constructor + runtime)
	if err != nil {
		return nil, fmt.Errorf("assemble emitter contract: %w", err)
	}
	return code, nil
}
