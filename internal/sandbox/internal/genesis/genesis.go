package genesis

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/chainaccess/gateway/relay/chain"
)

// Owners says in whose names a chain is laid out.
type Owners struct {
	Admin   common.Address   // owns what needs an owner, and keeps it up to date later
	Funded  []common.Address // at least ten, who own names and tokens
	Gateway common.Address   // signs the off-chain answers of ENS
	Minter  common.Address   // mints USDC and holds its offices; has native coins too
	Relayer common.Address   // has native coins, to send what others signed
	Faucet  common.Address   // gives native coins and USDC away
}

// Layout is what stands on a chain before its first block.
type Layout struct {
	Alloc  types.GenesisAlloc
	Placed []Placed
}

// Lay runs all constructors and calls, the same way each time: the same arguments give the same
// genesis block.
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
