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

// openRecord opens PostgreSQL and refuses a schema of another version.
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

// checkPepper refuses a pepper that is not the one with which stored keys were hashed.
//
//nolint:gocritic // a copy does no harm
func checkPepper(ctx context.Context, cfg config.Config, s *store.Store) error {
	hasher, err := account.NewHasher([]byte(cfg.KeyPepper))
	if err != nil {
		return fmt.Errorf("KEY_PEPPER: %w", err)
	}
	return checked("KEY_PEPPER", s.CheckPepper(ctx, hasher))
}

// checked adds the variable to a failed check. Any other error is a failure of PostgreSQL.
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

// errNotOurs means that a server is marked as another deployment's.
var errNotOurs = errors.New("belongs to another deployment of the gateway")

// foreign returns err if it means that a server is another deployment's, otherwise nil: users of
// the server report other errors.
func foreign(err error) error {
	if errors.Is(err, errNotOurs) {
		return err
	}
	return nil
}

// deploymentInterval is how often a running role checks whether a server that lost its data was
// marked by another deployment since, and whether PostgreSQL is now another one, which begins an
// epoch.
const deploymentInterval = 10 * time.Second

// settleWithin is the timeout of a check. Once per epoch it scans Redis, which takes a while if
// that is large.
const settleWithin = time.Minute

// watchDeployment checks PostgreSQL, Redis and Temporal until ctx ends. It calls end if one of them
// is another deployment's.
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

// tellEpoch logs an epoch that began, and a PostgreSQL that is too old. Failures to connect are
// reported elsewhere.
func (b *base) tellEpoch(r recovered, err error, log *slog.Logger) {
	switch {
	case errors.Is(err, errOlderRecord):
		log.Error("changes of fences are not in force", "error", err)
	case r.Begun || r.Forgotten > 0:
		log.Warn("PostgreSQL was restored or replaced: its data in Redis was dropped and is reloaded", "epoch", r.Epoch,
			"forgotten", r.Forgotten)
	}
}
