package wire

import (
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/api"
	"github.com/chainaccess/gateway/api/console"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// caughtMail is the path where a development gateway shows caught mails.
const caughtMail = "/dev/mail"

// newDoors returns the operations, with their dependencies from this process, and the pages over
// them.
//
//nolint:gocritic // read once at the start
func newDoors(cfg config.Config, b *base, routes []Route,
	o service.Options,
) (*service.Registry, *site.Site, error) {
	persons, err := newPeople(cfg, b, o.Hasher)
	if err != nil {
		return nil, nil, err
	}
	o.Store, o.Meter, o.Networks, o.Pool, o.People, o.Metrics = b.store, b.meter, b.networks, b.pool, persons,
		b.metrics.Operations
	o.PublicURL, o.Now, o.Random = cfg.PublicURL, time.Now, rand.Reader
	if o.Terms, err = newTerms(cfg, b.pool); err != nil {
		return nil, nil, err
	}
	if o.Stripe, err = connect.Stripe(cfg); err != nil {
		return nil, nil, err
	}
	if o.Mails, err = connect.Outbox(cfg, b.store); err != nil {
		return nil, nil, err
	}
	o.WebhookSecret, o.Contact = cfg.StripeWebhookSecret, cfg.Contact
	o.StockClients = cfg.X402FacilitatorURL != ""
	o.Payments, o.FinalityDelay = settlement.New(b.pool, chain.BaseMainnet, o.Terms), cfg.X402FinalityDelay
	o.Refunds, o.Toolbox = b.metrics.Calls, newToolbox(cfg, b, &o)
	operations := service.New(o)
	pages, err := newPages(cfg, operations, b.pool.Known(), routes, o.Logger)
	return operations, pages, err
}

// newPages returns the pages for browsers. If mails are caught, the sign-in page links to them.
//
//nolint:gocritic // read once at the start
func newPages(cfg config.Config, operations *service.Registry, known *chain.Set, routes []Route,
	log *slog.Logger,
) (*site.Site, error) {
	o := site.Options{
		PublicURL: cfg.PublicURL, Now: time.Now, Random: rand.Reader, Logger: log, Calls: site.CallsOf(operations),
		Known:   known,
		Network: api.ClientNetwork(cfg.TrustedProxies), Refuse: api.WriteRefusal, Secret: []byte(cfg.KeyPepper),
	}
	for _, route := range routes {
		if route.Prefix == caughtMail {
			o.DevMail = caughtMail
		}
	}
	return console.New(o)
}
