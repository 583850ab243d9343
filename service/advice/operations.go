// Package advice has the operations that explain how to use the service: quotes, plans, errors,
// recommendations, moves from other providers, and what a caller can do.
package advice

import (
	"time"

	stripe "github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/service/billing"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/status"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store     *store.Store
	Hasher    *account.Hasher
	Pool      *upstream.Pool // which chains are served
	Links     chain.Links
	PublicURL string // without a trailing slash
	Now       func() time.Time
	Terms     x402.Terms
	Stripe    *stripe.Stripe // nil sells nothing
	Prices    *billing.Prices
	Doorways  *keys.Doorways
	Status    *status.Reader
	Usage     *usage.Reader
}

// Operations are the operations of this package.
type Operations struct {
	WhatCanIDo     *operation.Operation[operation.Nothing, WhatICanDo]
	GetInsights    *operation.Operation[operation.Nothing, UsageInsights]
	GetQuote       *operation.Operation[QuoteInput, Quote]
	ExplainError   *operation.Operation[ExplainInput, Explanation]
	ListPlans      *operation.Operation[operation.Nothing, PlanList]
	PriceVolume    *operation.Operation[PriceVolumeInput, billing.PriceLadder]
	RecommendChain *operation.Operation[RecommendChainInput, RecommendedChain]
	RecommendRoute *operation.Operation[RecommendRouteInput, RecommendedRoute]
	Migrate        *operation.Operation[MigrateInput, Migration]

	handlers *handlers
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner

	reports *operation.ReportCache
	readers chan struct{} // semaphore of texts that are being read
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{
		Dependencies: d, Runner: r, reports: operation.NewReportCache(d.Now),
		readers: make(chan struct{}, maxReaders()),
	}
	return &Operations{
		WhatCanIDo:     h.whatCanIDo(),
		GetInsights:    h.getInsights(),
		GetQuote:       h.getQuote(),
		ExplainError:   h.explainError(),
		ListPlans:      h.listPlans(),
		PriceVolume:    h.priceVolume(),
		RecommendChain: h.recommendChain(),
		RecommendRoute: h.recommendRoute(),
		Migrate:        h.migrate(),
		handlers:       h,
	}
}
