package wire

import (
	"context"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/internal/config"
)

// webhookPath is where Stripe's webhooks are received.
const webhookPath = "/webhooks/stripe"

// OpsBillingSetUp creates at Stripe what is sold, or only checks it.
//
//nolint:gocritic // of a command
func OpsBillingSetUp(ctx context.Context, cfg config.Config, check bool) ([]billing.Line, error) {
	stripe, err := newStripe(cfg)
	if err != nil {
		return nil, err
	}
	return stripe.SetUp(ctx, billing.SetUpOptions{Check: check, WebhookURL: cfg.PublicURL + webhookPath})
}
