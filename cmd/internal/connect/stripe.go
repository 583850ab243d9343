package connect

import (
	"fmt"
	"time"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/internal/config"
)

// Stripe returns the Stripe client; nil without a key, when nothing can be bought.
func Stripe(cfg config.Config) (*billing.Stripe, error) { //nolint:gocritic // a copy does no harm
	if !cfg.TakesCards() {
		return nil, nil //nolint:nilnil // payments are off
	}
	s, err := billing.New(billing.Options{SecretKey: cfg.StripeSecretKey, APIURL: cfg.StripeAPIURL, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("STRIPE_SECRET_KEY and STRIPE_API_URL: %w", err)
	}
	return s, nil
}
