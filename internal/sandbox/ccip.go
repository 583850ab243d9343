package sandbox

import (
	"context"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/sandbox/internal/ccip"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/relay/chain"
)

// CCIPGateway returns the EIP-3668 gateway for names below ENSOffchain (by GET) and ENSDirect (by
// POST); nil when Ethereum does not run.
func (s *Sandbox) CCIPGateway() *Service { return s.gateway }

// startCCIPGateway runs before the chains start, because its address is written to Ethereum.
func (s *Sandbox) startCCIPGateway(ctx context.Context, o Options) error {
	if !o.runs(chain.EthMainnet) {
		return nil
	}
	labels := map[string]common.Address{}
	for i, name := range map[int]string{3: ENSCarol, 4: ENSDave, 5: ENSErin} {
		label, _, _ := strings.Cut(name, ".")
		labels[label] = s.accounts.evm[i].Address
	}
	handler, err := ccip.New(ccip.Config{
		Signer: s.keys.gateway, Asker: genesis.UniversalResolver, Labels: labels,
		Zones: map[string]common.Address{
			genesis.Offchain: genesis.OffchainResolver, genesis.Direct: genesis.DirectResolver,
		},
	})
	if err != nil {
		return err
	}
	s.gateway, err = s.newService(ctx, "sandbox-ccip", o.Listen, handler, o.Logger)
	return err
}
