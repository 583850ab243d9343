package wire

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/workflows"
)

// newStripe returns the Stripe client; nil without a key, when nothing can be bought.
func newStripe(cfg config.Config) (*billing.Stripe, error) { //nolint:gocritic // a copy does no harm
	if !cfg.TakesCards() {
		return nil, nil //nolint:nilnil // payments are off
	}
	s, err := billing.New(billing.Options{SecretKey: cfg.StripeSecretKey, APIURL: cfg.StripeAPIURL, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("STRIPE_SECRET_KEY and STRIPE_API_URL: %w", err)
	}
	return s, nil
}

// newBilling returns the activities that reconcile accounts with Stripe. Without Stripe they fail
// with the reason.
//
//nolint:gocritic // a copy does no harm
func newBilling(cfg config.Config, b *base, f *limits.Limits, mails *outbox.Outbox, flows *workflows.Client,
	log *slog.Logger,
) (*activities.Billing, error) {
	stripe, err := newStripe(cfg)
	if err != nil {
		return nil, err
	}
	bought := &activities.Billing{
		Record: b.store, Fences: f, Now: time.Now, Logger: log,
		Mails: &activities.ChargeMails{People: b.store, Letters: mails, PublicURL: cfg.PublicURL},
		Look:  func(ctx context.Context, id account.ID) error { return flows.SignalSubscription(ctx, id, "checkout") },
		Close: flows.CloseStatement,
	}
	if stripe != nil {
		bought.Stripe = stripe
	}
	return bought, nil
}
