package wire

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/facilitator"
	"github.com/chainaccess/gateway/payments/stock"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/toolbox/node"
	"github.com/chainaccess/gateway/workflows"
)

// newProcessor returns the processor of payments by stock x402 clients; nil without a facilitator.
//
//nolint:gocritic // read once at the start
func newProcessor(cfg config.Config, b *base, grants *limits.Limits, hasher *account.Hasher,
	log *slog.Logger,
) (*stock.Processor, error) {
	count := b.metrics.Outcomes("gateway_payments_total",
		"Payments that stock clients presented, by what became of them.", "outcome", words(stock.Outcomes())...)
	if cfg.X402FacilitatorURL == "" {
		return nil, nil //nolint:nilnil // payments by stock clients are off, which is no error
	}
	asks, err := facilitator.New(facilitator.Options{URL: cfg.X402FacilitatorURL})
	if err != nil {
		return nil, fmt.Errorf("X402_FACILITATOR_URL %w", err)
	}
	terms, err := newTerms(cfg, b.pool)
	if err != nil {
		return nil, err
	}
	return stock.New(stock.Options{
		Record: b.store, Facilitator: asks, Grants: grants, Networks: b.networks, Terms: terms,
		Token: x402.Token{Name: cfg.X402AssetName, Version: cfg.X402AssetVersion}, Hasher: hasher,
		Chain: paidChain{node.New(b.pool, chain.Links{})}, Head: headOf(b.pool), Now: time.Now, Random: rand.Reader,
		Logger: log, OnTaken: func(o stock.Outcome) { count(string(o), 1) },
	}), nil
}

// headOf returns a function that returns the head of the chain that is paid on.
func headOf(pool *upstream.Pool) func() (uint64, bool) {
	return func() (uint64, bool) {
		on, ok := pool.Chain(chain.BaseMainnet)
		if !ok {
			return 0, false
		}
		return on.Head()
	}
}

// newResolver returns the resolver that reads the outcome of payments from the chain when the
// facilitator's answer was lost. It also runs without a facilitator, because one may have been
// removed.
//
//nolint:gocritic // read once at the start
func newResolver(cfg config.Config, b *base, flows *workflows.Client, log *slog.Logger) *stock.Resolver {
	return stock.NewResolver(stock.ResolverOptions{
		Record: b.store, Chain: paidChain{node.New(b.pool, chain.Links{})}, Confirmations: cfg.X402MinConfirmations,
		Logger: log,
		Watch: func(ctx context.Context, id x402.ID) error {
			return flows.LookAtSettlement(ctx, id, cfg.X402FinalityDelay)
		},
	})
}

// paidChain reads the chain that is paid on, from all supplies (plan.Premium), because money
// depends on it.
type paidChain struct{ reader *node.Reader }

// Call returns the result of one call.
func (p paidChain) Call(ctx context.Context, method string, params ...any) (json.RawMessage, error) {
	return p.reader.Call(ctx, node.Query{
		Chain: chain.BaseMainnet, Method: method, Params: params, Supply: plan.Premium,
	})
}
