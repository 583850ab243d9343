// Package service registers everything that the service offers besides relaying, as typed
// operations. Each is defined once, in the package of its noun, and reachable over every transport.
package service

import (
	"io"
	"log/slog"
	"time"

	stripe "github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/accounts"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/agents"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/payments"
	"github.com/chainaccess/gateway/service/statements"
	"github.com/chainaccess/gateway/service/status"
	"github.com/chainaccess/gateway/service/tickets"
	"github.com/chainaccess/gateway/service/tools"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
	"github.com/chainaccess/gateway/workflows"
)

// Options are the dependencies of the operations. The caller owns them.
type Options struct {
	Store     *store.Store
	Limits    *limits.Limits
	Meter     *meter.Meter
	Networks  *netlimit.Limits // limits per network; nil for the defaults, over Meter
	People    *people.People
	Hasher    *account.Hasher
	Pool      *upstream.Pool // which chains are served
	Links     chain.Links
	Recorder  *usagedb.Recorder
	Flows     *workflows.Client // Temporal workflows
	PublicURL string            // without a trailing slash
	Now       func() time.Time
	Random    io.Reader // crypto/rand.Reader in production
	Terms     x402.Terms
	// StockClients enables POST /x402/rpc/{chain} for stock x402 clients.
	StockClients bool
	// Payments reads payments; nil disables redeeming. FinalityDelay is how long after a redeem the
	// transaction is read again; 0 for the workflow's default.
	Payments      payments.Reader
	FinalityDelay time.Duration
	// Stripe sells plans and packs; nil sells none. WebhookSecret verifies webhooks. Purchases is
	// signalled after changes at Stripe; nil for Flows.
	Stripe        *stripe.Stripe
	WebhookSecret string
	Contact       string // an e-mail address, for problems that only people can solve
	Purchases     billing.Purchases
	Mails         tickets.Mailer // for mails of the support operations
	Logger        *slog.Logger
	Metrics       *telemetry.Operations // nil: nothing is counted
	// Additional dependencies of metered operations.
	Toolbox   tools.Toolbox
	Answers   *cache.Cache      // nil disables caching
	Latencies *meter.Latencies  // nil: latencies are not measured
	Refunds   *telemetry.Calls  // nil: refunds are not counted
	Tracer    *telemetry.Tracer // nil: nothing is traced
}

// The operations of each noun, under names that one struct can embed.
type (
	accountOperations   = accounts.Operations
	adviceOperations    = advice.Operations
	agentOperations     = agents.Operations
	billingOperations   = billing.Operations
	keyOperations       = keys.Operations
	paymentOperations   = payments.Operations
	statementOperations = statements.Operations
	statusOperations    = status.Operations
	ticketOperations    = tickets.Operations
	toolOperations      = tools.Operations
	usageOperations     = usage.Operations
)

// Registry holds every operation besides relaying. Each noun's package defines its own.
type Registry struct {
	*operation.Runner

	*accountOperations
	*adviceOperations
	*agentOperations
	*billingOperations
	*keyOperations
	*paymentOperations
	*statementOperations
	*statusOperations
	*ticketOperations
	*toolOperations
	*usageOperations
}

// New returns the registry with all operations.
func New(o Options) *Registry { //nolint:gocritic // read once at the start
	if o.Purchases == nil {
		o.Purchases = billing.FlowPurchases(o.Flows)
	}
	if o.Networks == nil {
		o.Networks = netlimit.New(o.Meter, netlimit.Defaults(), o.Now)
	}
	r := operation.NewRunner(operation.Dependencies{
		Store: o.Store, Limits: o.Limits, Meter: o.Meter, Networks: o.Networks, People: o.People, Recorder: o.Recorder,
		Pool: o.Pool, Links: o.Links, PublicURL: o.PublicURL, Now: o.Now, Logger: o.Logger, Metrics: o.Metrics,
		Answers: o.Answers, Latencies: o.Latencies, Refunds: o.Refunds, Tracer: o.Tracer,
	})
	sells := o.Stripe != nil
	prices := billing.NewPrices(o.Store, o.Terms, sells, o.Now)
	doorways := keys.NewDoorways(o.PublicURL, o.Terms.Open(), sells, o.Now)
	challenges := agents.NewChallenges(o.PublicURL, o.Toolbox.Node, o.Now)
	chains := status.NewReader(o.Store, o.Pool, o.Logger, o.Now)
	used := usage.NewReader(o.Store, o.Limits, r.UnitsOf, o.Now)
	return &Registry{
		Runner: r,
		keyOperations: keys.New(r, keys.Dependencies{
			Store: o.Store, Limits: o.Limits, Networks: o.Networks, Hasher: o.Hasher, Flows: o.Flows,
			PublicURL: o.PublicURL, Now: o.Now, Random: o.Random, Logger: o.Logger, Doorways: doorways,
			Challenges: challenges,
		}),
		accountOperations: accounts.New(r, accounts.Dependencies{Store: o.Store, People: o.People, Now: o.Now}),
		paymentOperations: payments.New(r, payments.Dependencies{
			Store: o.Store, Limits: o.Limits, Hasher: o.Hasher, Pool: o.Pool, Flows: o.Flows,
			PublicURL: o.PublicURL, Now: o.Now, Terms: o.Terms, StockClients: o.StockClients,
			Payments: o.Payments, FinalityDelay: o.FinalityDelay, Logger: o.Logger, Answers: o.Answers,
		}),
		statementOperations: statements.New(r, statements.Dependencies{Store: o.Store, Now: o.Now}),
		agentOperations: agents.New(r, agents.Dependencies{
			Store: o.Store, Limits: o.Limits, Hasher: o.Hasher, Flows: o.Flows, Random: o.Random,
			Challenges: challenges,
		}),
		toolOperations: tools.New(r, tools.Dependencies{Now: o.Now, Toolbox: o.Toolbox}),
		billingOperations: billing.New(r, billing.Dependencies{
			Store: o.Store, Limits: o.Limits, PublicURL: o.PublicURL, Now: o.Now, Stripe: o.Stripe,
			WebhookSecret: o.WebhookSecret, Contact: o.Contact, Purchases: o.Purchases, Logger: o.Logger,
			Prices: prices,
		}),
		adviceOperations: advice.New(r, advice.Dependencies{
			Store: o.Store, Hasher: o.Hasher, Pool: o.Pool, Links: o.Links, PublicURL: o.PublicURL, Now: o.Now,
			Terms: o.Terms, Stripe: o.Stripe, Prices: prices, Doorways: doorways, Status: chains, Usage: used,
		}),
		statusOperations: status.New(r, status.Dependencies{Status: chains}),
		usageOperations: usage.New(r, usage.Dependencies{
			Store: o.Store, Limits: o.Limits, Now: o.Now, Prices: prices, Usage: used,
		}),
		ticketOperations: tickets.New(r, tickets.Dependencies{
			Store: o.Store, Hasher: o.Hasher, Pool: o.Pool, Flows: o.Flows, PublicURL: o.PublicURL, Now: o.Now,
			Contact: o.Contact, Mails: o.Mails, Logger: o.Logger, Usage: used,
		}),
	}
}
