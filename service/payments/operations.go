// Package payments has the operations of paying per call in USDC: the menu, redeeming a payment and
// its receipt. What the chain shows is judged by package x402 and the settlement's workflow.
package payments

import (
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/workflows"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store         *store.Store
	Limits        *limits.Limits
	Hasher        *account.Hasher
	Pool          *upstream.Pool // which chains are served
	Flows         *workflows.Client
	PublicURL     string // without a trailing slash
	Now           func() time.Time
	Terms         x402.Terms
	StockClients  bool          // whether POST /x402/rpc/{chain} is served
	Payments      Reader        // nil disables redeeming
	FinalityDelay time.Duration // how long after a redeem the transaction is read again; 0 for the default
	Logger        *slog.Logger
	Answers       *cache.Cache // nil for an in-process cache
}

// Operations are the operations of this package.
type Operations struct {
	GetMenu       *operation.Operation[operation.Nothing, Menu]
	GetReceipt    *operation.Operation[ReceiptInput, Receipt]
	GetManifest   *operation.Operation[operation.Nothing, Manifest]
	RedeemPayment *operation.Operation[RedeemInput, Redeemed]

	handlers *handlers
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner

	redeems   cache.Group[redeemKey, redeemResult]
	payers    cache.Group[payerKey, redeemResult]
	lookers   cache.Group[x402.TxHash, lookResult]
	contracts cache.Group[wallet.Address, bool]
	looks     *cache.Cache // readings of the chain: Answers, or an in-process cache
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{Dependencies: d, Runner: r}
	h.looks = d.Answers
	if h.looks == nil {
		h.looks = newLooks(d.Now)
	}
	return &Operations{
		GetMenu:       h.getMenu(),
		GetReceipt:    h.getReceipt(),
		GetManifest:   h.getManifest(),
		RedeemPayment: h.redeemPayment(),
		handlers:      h,
	}
}
