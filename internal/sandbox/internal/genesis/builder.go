// Package genesis creates the initial state of the sandbox's chains: contracts at their addresses
// on the real chains, with the storage that their own constructors and calls wrote. No storage slot
// is computed by hand.
package genesis

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
)

// callGas is the gas limit of one constructor or call.
const callGas = 30_000_000

// Placed is a contract with its address.
type Placed struct {
	Address  common.Address
	Contract contracts.Contract
	Proxy    string         // the kind of proxy in Sourcify's terms; empty for none
	Target   common.Address // the contract behind a proxy
}

// builder runs constructors and calls on an empty state and records what they wrote. After its
// first error it does nothing more.
type builder struct {
	evm     *vm.EVM
	state   *state.StateDB
	written map[common.Address]map[common.Hash]bool
	stands  []common.Address // addresses with code
	placed  []Placed         // the named contracts among them
	err     error
}

// newBuilder returns a builder with an empty state. Contracts see a block with this time and chain.
func newBuilder(config *params.ChainConfig, time uint64) (*builder, error) {
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		return nil, fmt.Errorf("lay out the chain: %w", err)
	}
	b := &builder{state: db, written: map[common.Address]map[common.Hash]bool{}}
	hooked := state.NewHookedState(db, &tracing.Hooks{OnStorageChange: func(at common.Address, slot, _, _ common.Hash) {
		if b.written[at] == nil {
			b.written[at] = map[common.Hash]bool{}
		}
		b.written[at][slot] = true
	}})
	b.evm = vm.NewEVM(vm.BlockContext{
		CanTransfer: core.CanTransfer, Transfer: core.Transfer, GetHash: func(uint64) common.Hash {
			return common.Hash{}
		},
		BlockNumber: new(big.Int), Time: time, Difficulty: new(big.Int), GasLimit: callGas, BaseFee: new(big.Int),
		BlobBaseFee: new(big.Int), Random: new(common.Hash), CostPerStateByte: params.CostPerStateByte,
	}, hooked, config, vm.Config{})
	b.evm.SetTxContext(vm.TxContext{GasPrice: new(uint256.Int)})
	return b, nil
}

// place deploys a contract at an address, called by from. An address that has code is an error.
func (b *builder) place(from, at common.Address, name string, args ...any) Placed {
	if b.err != nil {
		return Placed{}
	}
	c, err := contracts.Named(name)
	if err != nil {
		b.err = err
		return Placed{}
	}
	input, err := c.ABI.Pack("", args...)
	if err != nil {
		b.err = fmt.Errorf("arguments of %s: %w", name, err)
		return Placed{}
	}
	code := append(append([]byte{}, c.Code...), input...)
	for library, places := range c.Links {
		address, ok := b.address(library)
		if !ok {
			b.err = fmt.Errorf("lay out the chain: %s stands before its library %s", name, library)
			return Placed{}
		}
		for _, place := range places {
			copy(code[place:], address.Bytes())
		}
	}
	p := Placed{Address: at, Contract: c}
	b.code(from, at, code)
	b.placed = append(b.placed, p)
	return p
}

// placeProxy is like place, for a proxy of target.
func (b *builder) placeProxy(kind string, target, from, at common.Address, name string, args ...any) {
	b.place(from, at, name, args...)
	if b.err == nil {
		last := &b.placed[len(b.placed)-1]
		last.Proxy, last.Target = kind, target
	}
}

// address returns the address of a contract that was placed.
func (b *builder) address(name string) (common.Address, bool) {
	for _, p := range b.placed {
		if p.Contract.Name == name {
			return p.Address, true
		}
	}
	return common.Address{}, false
}

// code runs creation code at the contract's final address, so that its storage and address(this)
// are correct.
func (b *builder) code(from, at common.Address, creation []byte) {
	if b.err == nil && b.state.GetCodeSize(at) > 0 {
		b.err = fmt.Errorf("lay out the chain: two contracts at %s", at)
	}
	if b.err != nil {
		return
	}
	b.state.SetCode(at, creation, tracing.CodeChangeUnspecified)
	made := b.run(from, at, nil)
	b.state.SetCode(at, made, tracing.CodeChangeUnspecified)
	b.state.SetNonce(at, 1, tracing.NonceChangeUnspecified)
	b.stands = append(b.stands, at)
}

// send calls a function of a contract as from.
func (b *builder) send(from common.Address, to Placed, method string, args ...any) {
	b.sendTo(from, to.Address, to.Contract.ABI, method, args...)
}

// sendTo is like send, for a proxy that has another contract's ABI.
func (b *builder) sendTo(from, to common.Address, speaks abi.ABI, method string, args ...any) {
	if b.err != nil {
		return
	}
	input, err := speaks.Pack(method, args...)
	if err != nil {
		b.err = fmt.Errorf("arguments of %s: %w", method, err)
		return
	}
	b.run(from, to, input)
}

func (b *builder) run(from, to common.Address, input []byte) []byte {
	if b.err != nil {
		return nil
	}
	answer, _, err := b.evm.Call(from, to, input, vm.NewGasBudget(callGas, callGas), new(uint256.Int))
	if err != nil {
		reason, _ := abi.UnpackRevert(answer)
		b.err = fmt.Errorf("lay out the chain: call %s with %.10x: %w %s", to, input, err, reason)
	}
	return answer
}

// alloc returns the state as a genesis allocation.
func (b *builder) alloc() (types.GenesisAlloc, error) {
	if b.err != nil {
		return nil, b.err
	}
	all := types.GenesisAlloc{}
	for _, at := range b.stands {
		all[at] = b.account(at)
	}
	return all, nil
}

func (b *builder) account(at common.Address) types.Account {
	account := types.Account{
		Code: b.state.GetCode(at), Nonce: b.state.GetNonce(at), Balance: new(big.Int),
		Storage: map[common.Hash]common.Hash{},
	}
	for slot := range b.written[at] {
		if value := b.state.GetState(at, slot); value != (common.Hash{}) {
			account.Storage[slot] = value
		}
	}
	return account
}
