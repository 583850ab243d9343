// Package connect opens the servers that the configuration names, and refuses those of another
// deployment. Roles and commands of operators share it.
package connect

import (
	"context"
	"errors"
	"fmt"

	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/store"
)

// ErrNotOurs means that a server is marked as another deployment's.
var ErrNotOurs = errors.New("belongs to another deployment of the gateway")

// Foreign returns err if it means that a server is another deployment's, otherwise nil: users of
// the server report other errors.
func Foreign(err error) error {
	if errors.Is(err, ErrNotOurs) {
		return err
	}
	return nil
}

// ErrOlderPostgres means that Redis is of a later epoch than PostgreSQL.
var ErrOlderPostgres = errors.New(
	"DATABASE_URL: this PostgreSQL is older than the data in Redis: if it was restored, run `gateway ops recover`; " +
		"if it is the wrong server, correct the address")

// Epoch is the result of comparing PostgreSQL and Redis.
type Epoch struct {
	store.Deployment

	Forgotten int // projections and counters of earlier epochs
}

// ApplyEpoch marks Redis as this deployment's and brings it to PostgreSQL's epoch: data of earlier
// epochs is deleted and loaded again when needed. It returns ErrNotOurs if Redis is another
// deployment's, and ErrOlderPostgres if Redis is of a later epoch.
func ApplyEpoch(ctx context.Context, s *store.Store, m *meter.Meter) (Epoch, error) {
	var r Epoch
	var err error
	if r.Deployment, err = s.ReadDeployment(ctx); err != nil {
		return r, Unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	owner, held, err := m.Claim(ctx, r.ID.String(), 0)
	switch {
	case err != nil:
		return r, Unreachable("REDIS_URL", "Redis", err)
	case owner != r.ID.String():
		return r, fmt.Errorf(
			"REDIS_URL: this Redis %w (%s; this one, by DATABASE_URL, is %s): give each a Redis of its own, or "+
				"another database of one (redis://host:6379/1), or correct the address. If the other deployment "+
				"is gone for good: `redis-cli -n DATABASE DEL %s`",
			ErrNotOurs, owner, r.ID, meter.DeploymentKey)
	case held > r.Epoch:
		return r, fmt.Errorf("%w (epoch %d, and PostgreSQL's is %d)", ErrOlderPostgres, held, r.Epoch)
	case held == r.Epoch:
		return r, nil
	}
	if r.Forgotten, err = m.ForgetBefore(ctx, r.Epoch); err == nil {
		_, _, err = m.Claim(ctx, r.ID.String(), r.Epoch)
	}
	if err != nil {
		return r, Unreachable("REDIS_URL", "Redis", err)
	}
	return r, nil
}
