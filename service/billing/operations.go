// Package billing has the operations of buying plans and packs, and the price ladder. Stripe
// decides what was bought.
package billing

import (
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/billing"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store         *store.Store
	Limits        *limits.Limits
	PublicURL     string // without a trailing slash
	Now           func() time.Time
	Stripe        *billing.Stripe // nil sells nothing
	WebhookSecret string          // verifies webhooks
	Contact       string          // an e-mail address, for problems that only people can solve
	Purchases     Purchases
	Logger        *slog.Logger
	Prices        *Prices
}

// Operations are the operations of this package.
type Operations struct {
	BillingStatus  *operation.Operation[operation.Nothing, BillingStatus]
	PriceLadder    *operation.Operation[operation.Nothing, PriceLadder]
	StartCheckout  *operation.Operation[StartCheckoutInput, StartedCheckout]
	BuyPack        *operation.Operation[BuyPackInput, PackCheckout]
	FinishCheckout *operation.Operation[FinishCheckoutInput, FinishedCheckout]
	ChangePlan     *operation.Operation[ChangePlanInput, PlanChange]
	CancelPlan     *operation.Operation[operation.Nothing, PlanChange]
	ResumePlan     *operation.Operation[operation.Nothing, PlanChange]
	OpenPortal     *operation.Operation[operation.Nothing, Portal]
	ListInvoices   *operation.Operation[ListInvoicesInput, InvoiceList]
	ShowInvoice    *operation.Operation[ShowInvoiceInput, InvoicePage]

	handlers *handlers
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner

	strangers *telemetry.LogLimit[string] // webhooks of no account or another API version
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{Dependencies: d, Runner: r, strangers: telemetry.NewLogLimit[string](1, time.Hour, d.Now)}
	return &Operations{
		BillingStatus:  h.billingStatus(),
		PriceLadder:    h.priceLadder(),
		StartCheckout:  h.startCheckout(),
		BuyPack:        h.buyPack(),
		FinishCheckout: h.finishCheckout(),
		ChangePlan:     h.changePlan(),
		CancelPlan:     h.cancelPlan(),
		ResumePlan:     h.resumePlan(),
		OpenPortal:     h.openPortal(),
		ListInvoices:   h.listInvoices(),
		ShowInvoice:    h.showInvoice(),
		handlers:       h,
	}
}
