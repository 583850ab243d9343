package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/store"
)

// openRecord opens PostgreSQL and refuses a schema that is not this program's.
func openRecord(ctx context.Context, cfg config.Config) (*store.Store, error) { //nolint:gocritic // a copy does no harm
	s, err := store.Open(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	if err := s.CheckSchema(ctx); err != nil {
		s.Close()
		return nil, checked("DATABASE_URL", err)
	}
	return s, nil
}

// checkPepper refuses a pepper under which the record's keys are unknown.
//
//nolint:gocritic // a copy does no harm
func checkPepper(ctx context.Context, cfg config.Config, s *store.Store) error {
	hasher, err := account.NewHasher([]byte(cfg.KeyPepper))
	if err != nil {
		return fmt.Errorf("KEY_PEPPER: %w", err)
	}
	return checked("KEY_PEPPER", s.CheckPepper(ctx, hasher))
}

// checked names the variable of what was looked at; what could not be looked at is PostgreSQL's.
func checked(variable string, err error) error {
	for _, found := range []error{store.ErrSchemaEmpty, store.ErrSchemaOlder, store.ErrSchemaNewer, store.ErrPepper} {
		if errors.Is(err, found) {
			return fmt.Errorf("%s: %w", variable, err)
		}
	}
	if err != nil {
		return unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	return nil
}

// errNotOurs is what a server is that another deployment marked.
var errNotOurs = errors.New("belongs to another deployment of the gateway")

// foreign is err when it says that a server is another deployment's; nil for anything else, which
// whoever works with the server tells.
func foreign(err error) error {
	if errors.Is(err, errNotOurs) {
		return err
	}
	return nil
}

// deploymentInterval is how often a role that runs looks whether servers that lost everything were
// marked by another deployment since, and whether PostgreSQL is another one by now, which begins an
// epoch.
const deploymentInterval = 10 * time.Second

// settleWithin bounds a look: a large Redis takes a while to be gone through, once in an epoch.
const settleWithin = time.Minute

// watchDeployment looks at PostgreSQL, Redis and Temporal until ctx ends, and calls end when one is
// another deployment's.
func (b *base) watchDeployment(ctx context.Context, gate *namespaceGate, end context.CancelCauseFunc,
	log *slog.Logger,
) {
	tick := time.NewTicker(deploymentInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		looked, cancel := context.WithTimeout(ctx, settleWithin)
		r, err := settleEpoch(looked, b.store, b.meter)
		b.tellEpoch(r, err, log)
		err = errors.Join(foreign(err), foreign(gate.check(looked)))
		cancel()
		if err != nil {
			end(err)
			return
		}
	}
}

// tellEpoch logs an epoch that began, and a PostgreSQL that is too old. Servers that do not answer
// are told of elsewhere.
func (b *base) tellEpoch(r recovered, err error, log *slog.Logger) {
	switch {
	case errors.Is(err, errOlderRecord):
		log.Error("changes of fences are not in force", "error", err)
	case r.Begun || r.Forgotten > 0:
		log.Warn("PostgreSQL was restored or replaced: its data in Redis was dropped and is reloaded", "epoch", r.Epoch,
			"forgotten", r.Forgotten)
	}
}
