package wire

import (
	"context"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/workflows"
)

// newBilling returns the activities that reconcile accounts with Stripe. Without Stripe they fail
// with the reason.
//
//nolint:gocritic // a copy does no harm
func newBilling(cfg config.Config, b *base, f *limits.Limits, mails *outbox.Outbox, flows *workflows.Client,
	log *slog.Logger,
) (*activities.Billing, error) {
	stripe, err := connect.Stripe(cfg)
	if err != nil {
		return nil, err
	}
	bought := &activities.Billing{
		Record: b.store, Limits: f, Now: time.Now, Logger: log,
		Mails: &activities.ChargeMails{People: b.store, Letters: mails, PublicURL: cfg.PublicURL},
		Look:  func(ctx context.Context, id account.ID) error { return flows.SignalSubscription(ctx, id, "checkout") },
		Close: flows.CloseStatement,
	}
	if stripe != nil {
		bought.Stripe = stripe
	}
	return bought, nil
}
