package operator

import (
	"context"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/internal/config"
)

// webhookPath is where Stripe's webhooks are received.
const webhookPath = "/webhooks/stripe"

// BillingSetUp creates at Stripe what is sold, or only checks it.
//
//nolint:gocritic // of a command
func BillingSetUp(ctx context.Context, cfg config.Config, check bool) ([]billing.Line, error) {
	stripe, err := connect.Stripe(cfg)
	if err != nil {
		return nil, err
	}
	return stripe.SetUp(ctx, billing.SetUpOptions{Check: check, WebhookURL: cfg.PublicURL + webhookPath})
}
