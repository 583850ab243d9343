package sandbox

import (
	"context"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/chainaccess/gateway/internal/sandbox/internal/ccip"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/relay/chain"
)

// CCIPGateway answers for the names below ENSOffchain, to GET, and ENSDirect, to POST; nil when
// Ethereum does not run.
func (s *Sandbox) CCIPGateway() *Service { return s.gateway }

// startCCIPGateway goes before the chains, where its address is written.
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
