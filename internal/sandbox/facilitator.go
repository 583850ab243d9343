package sandbox

import (
	"context"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
	"github.com/chainaccess/gateway/internal/sandbox/internal/facilitator"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/relay/chain"
)

// Facilitator verifies and settles x402 payments in USDC on the sandbox's Base, POST /verify and
// POST /settle, in both versions of the protocol. Its Trouble befalls requests before anything is
// done.
type Facilitator struct {
	*Service

	handler *facilitator.Facilitator
}

// Facilitator is nil when Base does not run.
func (s *Sandbox) Facilitator() *Facilitator { return s.settles }

// Settlements counts the requests to settle that it got.
func (f *Facilitator) Settlements() int64 { return f.handler.Settlements() }

// TroubleAfter befalls the answers of settlements that are mined: money has moved, and who asked is
// not told. The zero value ends it.
func (f *Facilitator) TroubleAfter(t Trouble) {
	if t == (Trouble{}) {
		f.handler.After(nil)
		return
	}
	f.handler.After(t.befall)
}

func (s *Sandbox) startFacilitator(ctx context.Context, o Options) error {
	if s.evm[chain.BaseMainnet] == nil {
		return nil
	}
	var node string
	for _, u := range s.upstreams {
		if u.Chain == chain.BaseMainnet {
			node = u.URL
		}
	}
	token, err := contracts.Named("FiatTokenV2_2")
	if err != nil {
		return err
	}
	handler, err := facilitator.New(ctx, facilitator.Config{
		URL: node, Token: genesis.USDC(chain.BaseMainnet), ABI: token.ABI, Network: "base", Relayer: s.keys.relayer,
	})
	if err != nil {
		return err
	}
	service, err := s.newService(ctx, "sandbox-facilitator", o.Listen, handler, o.Logger)
	if err != nil {
		handler.Close()
		return err
	}
	s.settles = &Facilitator{service, handler}
	return nil
}
