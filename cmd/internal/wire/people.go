package wire

import (
	"crypto/rand"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/people"
	"github.com/chainaccess/gateway/internal/config"
)

// newPeople returns the service that signs people in and keeps their sessions.
//
//nolint:gocritic // read once at the start
func newPeople(cfg config.Config, b *base, hasher *account.Hasher) (*people.People, error) {
	mails, err := connect.Outbox(cfg, b.store)
	if err != nil {
		return nil, err
	}
	return people.New(people.Options{
		Store: b.store, Limiter: b.meter, Networks: b.networks, Outbox: mails, Hasher: hasher, PublicURL: cfg.PublicURL,
		Now: time.Now, Random: rand.Reader,
	}), nil
}
