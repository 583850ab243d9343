package genesis

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/chainaccess/gateway/relay/chain"
)

// Owners are the accounts for which a chain's state is created.
type Owners struct {
	Admin   common.Address   // owns what needs an owner, and updates it later
	Funded  []common.Address // at least ten, which own names and tokens
	Gateway common.Address   // signs the off-chain answers of ENS
	Minter  common.Address   // has every role of USDC, and native coins
	Relayer common.Address   // has native coins to send what others signed
	Faucet  common.Address   // sends native coins and USDC
}

// Layout is the initial state of a chain.
type Layout struct {
	Alloc  types.GenesisAlloc
	Placed []Placed
}

// Lay runs all constructors and calls. It is deterministic: equal arguments give an equal genesis
// block.
func Lay(id chain.ID, owners Owners, config *params.ChainConfig, time uint64) (Layout, error) {
	if len(owners.Funded) < fundedNeeded {
		return Layout{}, fmt.Errorf("lay out %s: %d funded accounts, want %d", id, len(owners.Funded), fundedNeeded)
	}
	b, err := newBuilder(config, time)
	if err != nil {
		return Layout{}, err
	}
	b.place(owners.Admin, Workload, "Workload")
	b.usdc(id, owners)
	b.samples(owners.Admin)
	switch id {
	case chain.EthMainnet:
		b.ens(owners)
		b.feeds(owners.Admin)
	case chain.BaseMainnet, chain.OptimismMainnet:
		b.gasPriceOracle(owners.Admin)
	case chain.ArbitrumOne:
		b.nodeInterface(owners.Admin)
	case chain.PolygonPoS, chain.SolanaMainnet:
	}
	alloc, err := b.alloc()
	if err != nil {
		return Layout{}, fmt.Errorf("lay out %s: %w", id, err)
	}
	for _, rich := range []common.Address{owners.Minter, owners.Faucet, owners.Relayer} {
		alloc[rich] = types.Account{Balance: new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))}
	}
	return Layout{Alloc: alloc, Placed: b.placed}, nil
}
