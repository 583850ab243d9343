package sandbox

import (
	"context"

	"github.com/chainaccess/gateway/internal/sandbox/contracts"
	"github.com/chainaccess/gateway/internal/sandbox/internal/facilitator"
	"github.com/chainaccess/gateway/internal/sandbox/internal/genesis"
	"github.com/chainaccess/gateway/relay/chain"
)

// Facilitator verifies and settles x402 payments in USDC on the sandbox's Base by POST /verify and
// POST /settle, in both versions of the protocol. Its Trouble takes effect before a request is
// processed.
type Facilitator struct {
	*Service

	handler *facilitator.Facilitator
}

// Facilitator returns the facilitator; nil when Base does not run.
func (s *Sandbox) Facilitator() *Facilitator { return s.settles }

// Settlements returns the number of settle requests received.
func (f *Facilitator) Settlements() int64 { return f.handler.Settlements() }

// TroubleAfter sets a failure of the answers to settlements that are already mined: the money has
// moved, and the caller does not learn it. The zero value ends the failure.
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
