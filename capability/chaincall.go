package capability

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/upstream"
	"github.com/chainaccess/gateway/wallet"
)

// ethereum asks Ethereum through the upstreams, for wallets that are contracts.
type ethereum struct {
	pool  *upstream.Pool
	links chain.Links
}

var _ wallet.ChainCaller = ethereum{}

const (
	callTimeout = 5 * time.Second
	maxCallSize = 256 << 10 // of an answer
)

var errNoChain = errors.New("no upstream of Ethereum is configured")

// Call runs an eth_call with public supply. It belongs to no account and is not charged; who can cause it is limited.
func (e ethereum) Call(ctx context.Context, msg wallet.CallMsg) ([]byte, error) {
	on, ok := e.pool.Chain(chain.EthMainnet)
	if !ok {
		return nil, errNoChain
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, refusal := on.Read(ctx, &upstream.Request{
		Method: []byte("eth_call"), Params: msg.Params(), Supply: plan.Public, Tier: plan.Balanced, Links: e.links, MaxAnswer: maxCallSize,
	})
	if refusal != nil {
		return nil, refusal
	}
	defer answer.Release()
	if answer.Rest != nil {
		return nil, errors.New("the answer is longer than any of a wallet")
	}
	return wallet.Answer(answer.Result, answer.Error)
}

// chainOfWallets is where contract wallets are asked; nil where there is no chain.
func (h *house) chainOfWallets() wallet.ChainCaller {
	if h.Pool == nil {
		return nil
	}
	return ethereum{h.Pool, h.Links}
}
