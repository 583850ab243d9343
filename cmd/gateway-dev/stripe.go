package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
)

// webhookPath is where the gateway receives Stripe's webhooks.
const webhookPath = "/webhooks/stripe"

const (
	stripeSetUpTimeout  = 20 * time.Second
	stripeHeaderTimeout = 10 * time.Second
)

// stripeServer is the running sandbox Stripe. It has an address of its own, as the real one has.
type stripeServer struct {
	URL    string
	server *http.Server
	stop   context.CancelFunc
	work   sync.WaitGroup
}

// takeCards runs the sandbox's Stripe, creates there what the gateway sells, and writes its address
// and secrets into cfg. Purchases are stored in data.
func takeCards(ctx context.Context, cfg *config.Config, data string, log *slog.Logger) (*stripeServer, error) {
	sells, err := stripe.New(stripe.Options{
		//nolint:gosec // a clock after 1970
		Clock: time.Now, WebhookURL: cfg.PublicURL + webhookPath, Seed: uint64(time.Now().UnixNano()),
		File: filepath.Join(data, "stripe.json"), Logger: log,
	})
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the sandbox's Stripe: %w", err)
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	t := &stripeServer{
		URL: "http://" + listener.Addr().String(), stop: stop,
		server: &http.Server{
			Handler: sells, ReadHeaderTimeout: stripeHeaderTimeout,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		},
	}
	t.work.Go(func() {
		if err := t.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the sandbox's Stripe stopped", "err", err)
		}
	})
	t.work.Go(func() { sells.Run(work) })
	cfg.StripeSecretKey, cfg.StripeWebhookSecret, cfg.StripeAPIURL = stripe.DefaultSecretKey,
		stripe.DefaultWebhookSecret, t.URL
	if err := t.furnish(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// furnish creates products and prices, as `gateway ops billing setup` does at the real Stripe.
func (t *stripeServer) furnish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stripeSetUpTimeout)
	defer cancel()
	way, err := billing.New(billing.Options{SecretKey: stripe.DefaultSecretKey, APIURL: t.URL, Now: time.Now})
	if err != nil {
		return err
	}
	if _, err := way.SetUp(ctx, billing.SetUpOptions{}); err != nil {
		return fmt.Errorf(
			"sell at the sandbox's Stripe; if it was kept from other prices, remove stripe.json from the folder of "+
				"the state: %w", err)
	}
	return nil
}

// Close stops the server and its webhooks, and waits for them.
func (t *stripeServer) Close() error {
	t.stop()
	err := t.server.Close()
	t.work.Wait()
	return err
}
