package sandbox

import (
	"crypto/ecdsa"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/sandbox/contracts"
	"github.com/chainaccess/gateway/sandbox/internal/evm"
	"github.com/chainaccess/gateway/sandbox/internal/genesis"
)

// furnish says what contracts stand on a chain and what keeps them up to date. What was placed is known once the chain runs.
func (s *Sandbox) furnish(id chain.ID, cfg *evm.Config, traffic, gateway *ecdsa.PrivateKey, placed *[]genesis.Placed) error {
	owners := genesis.Owners{
		Admin: crypto.PubkeyToAddress(traffic.PublicKey), Funded: cfg.Funded, Gateway: crypto.PubkeyToAddress(gateway.PublicKey),
	}
	cfg.Workload = genesis.Workload
	cfg.Lay = func(config *params.ChainConfig, time uint64) (types.GenesisAlloc, error) {
		layout, err := genesis.Lay(id, owners, config, time)
		*placed = layout.Placed
		return layout.Alloc, err
	}
	if id != chain.EthMainnet {
		return nil
	}
	for _, feed := range []common.Address{genesis.FeedETH, genesis.FeedBTC, genesis.FeedLINK, genesis.FeedZero} {
		call, err := callOf(feed, "PriceFeed", "refresh")
		if err != nil {
			return err
		}
		cfg.Upkeep = append(cfg.Upkeep, call)
	}
	return nil
}

func callOf(to common.Address, contract, method string, args ...any) (evm.Call, error) {
	c, err := contracts.Named(contract)
	if err != nil {
		return evm.Call{}, err
	}
	data, err := c.ABI.Pack(method, args...)
	if err != nil {
		return evm.Call{}, fmt.Errorf("call of %s.%s: %w", contract, method, err)
	}
	return evm.Call{To: to, Data: data}, nil
}
