package sandbox

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
	"github.com/chainaccess/gateway/internal/sandbox/internal/devkey"
	"github.com/chainaccess/gateway/internal/sandbox/internal/evm"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/relay/chain"
)

// keys are the sandbox's own signing keys.
type keys struct {
	traffic, gateway, minter, seller, faucet, relayer *ecdsa.PrivateKey
}

func serviceKeys() (k keys, err error) {
	for _, each := range []struct {
		key   **ecdsa.PrivateKey
		index uint32
	}{
		{&k.traffic, trafficIndex},
		{&k.gateway, gatewayIndex},
		{&k.minter, minterIndex},
		{&k.seller, sellerIndex},
		{&k.faucet, faucetIndex},
		{&k.relayer, relayerIndex},
	} {
		if *each.key, err = devkey.EVM(each.index); err != nil {
			return k, fmt.Errorf("sandbox accounts: %w", err)
		}
	}
	return k, nil
}

// furnish configures the contracts of a chain, its background traffic, and their updates. placed is
// filled in when the chain starts.
func (s *Sandbox) furnish(id chain.ID, cfg *evm.Config, k keys, placed *[]genesis.Placed) error {
	owners := genesis.Owners{
		Admin: crypto.PubkeyToAddress(k.traffic.PublicKey), Funded: cfg.Funded,
		Gateway: crypto.PubkeyToAddress(k.gateway.PublicKey), Minter: crypto.PubkeyToAddress(k.minter.PublicKey),
		Faucet: crypto.PubkeyToAddress(k.faucet.PublicKey), Relayer: crypto.PubkeyToAddress(k.relayer.PublicKey),
	}
	cfg.Traffic = k.traffic
	cfg.Workload = genesis.Workload
	cfg.Lay = func(config *params.ChainConfig, time uint64) (types.GenesisAlloc, error) {
		layout, err := genesis.Lay(id, owners, config, time)
		*placed = layout.Placed
		return layout.Alloc, err
	}
	token, err := contracts.Named("FiatTokenV2_2")
	if err != nil {
		return err
	}
	cfg.Calls = tokenTraffic(genesis.USDC(id), token.ABI, cfg.Funded)
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
	// The gateway's port changes with every start.
	for resolver, url := range map[common.Address]string{
		genesis.OffchainResolver: s.gateway.URL + "/{sender}/{data}.json",
		genesis.DirectResolver:   s.gateway.URL + "/",
	} {
		call, err := callOf(resolver, "OffchainResolver", "setURL", url)
		if err != nil {
			return err
		}
		cfg.Upkeep = append(cfg.Upkeep, call)
	}
	return nil
}

// tokenTraffic moves USDC: in the history, from the sandbox's own account to all funded accounts;
// later, to the last three of them and between those three. The balances of the other accounts are
// left to the user.
func tokenTraffic(token common.Address, speaks abi.ABI, funded []common.Address) func(turn uint64) ([]evm.Call, error) {
	spenders := funded[genesis.FirstSpender:genesis.LastSpender]
	return func(turn uint64) ([]evm.Call, error) {
		targets := funded
		if turn >= evm.HistoryTurns {
			targets = spenders
		}
		amount := new(big.Int).SetUint64(1_000_000 + 10_000*(turn%100))
		var input []byte
		var err error
		switch round := turn / 3; turn % 3 {
		case 0:
			input, err = speaks.Pack("transfer", targets[round%uint64(len(targets))], amount)
		case 1:
			from, to := round%uint64(len(spenders)), (round+1)%uint64(len(targets))
			input, err = speaks.Pack("transferFrom", spenders[from], targets[to], amount)
		default:
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("call of USDC: %w", err)
		}
		return []evm.Call{{To: token, Data: input}}, nil
	}
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
