package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/store"
)

// errOlderRecord means that Redis is of a later epoch than PostgreSQL.
var errOlderRecord = errors.New(
	"DATABASE_URL: this PostgreSQL is older than the data in Redis: if it was restored, run `gateway ops recover`; " +
		"if it is the wrong server, correct the address")

// recovered is the result of comparing PostgreSQL and Redis.
type recovered struct {
	store.Deployment

	Forgotten int // projections and counters of earlier epochs
}

// settleEpoch marks Redis as this deployment's and brings it to PostgreSQL's epoch: data of earlier
// epochs is deleted and loaded again when needed. It returns errNotOurs if Redis is another
// deployment's, and errOlderRecord if Redis is of a later epoch.
func settleEpoch(ctx context.Context, s *store.Store, m *meter.Meter) (recovered, error) {
	var r recovered
	var err error
	if r.Deployment, err = s.ReadDeployment(ctx); err != nil {
		return r, unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	owner, held, err := m.Claim(ctx, r.ID.String(), 0)
	switch {
	case err != nil:
		return r, unreachable("REDIS_URL", "Redis", err)
	case owner != r.ID.String():
		return r, fmt.Errorf(
			"REDIS_URL: this Redis %w (%s; this one, by DATABASE_URL, is %s): give each a Redis of its own, or "+
				"another database of one (redis://host:6379/1), or correct the address. If the other deployment "+
				"is gone for good: `redis-cli -n DATABASE DEL %s`",
			errNotOurs, owner, r.ID, meter.DeploymentKey)
	case held > r.Epoch:
		return r, fmt.Errorf("%w (epoch %d, and PostgreSQL's is %d)", errOlderRecord, held, r.Epoch)
	case held == r.Epoch:
		return r, nil
	}
	if r.Forgotten, err = m.ForgetBefore(ctx, r.Epoch); err == nil {
		_, _, err = m.Claim(ctx, r.ID.String(), r.Epoch)
	}
	if err != nil {
		return r, unreachable("REDIS_URL", "Redis", err)
	}
	return r, nil
}

// Recovery is the result of OpsRecover.
type Recovery struct {
	Epoch     int64
	Forgotten int // projections and counters that are loaded again from PostgreSQL
}

// OpsRecover begins a new epoch, so that PostgreSQL takes precedence over Redis. It returns
// ErrNotInForce if the epoch has begun but Redis does not answer. Every running role then applies
// it within ten seconds after Redis answers.
func OpsRecover(ctx context.Context, cfg config.Config) (Recovery, error) { //nolint:gocritic // a copy does no harm
	s, err := openRecord(ctx, cfg)
	if err != nil {
		return Recovery{}, err
	}
	defer s.Close()
	m, err := meter.OpenLater(cfg.RedisURL, cfg.RedisCertificates())
	if err != nil {
		return Recovery{}, unreachable("REDIS_URL", "Redis", err)
	}
	defer func() { _ = m.Close() }()
	r, err := settleEpoch(ctx, s, m)
	if foreign(err) != nil || r.ID == uuid.Nil {
		return Recovery{}, err
	}
	_, held, _ := m.Claim(ctx, r.ID.String(), 0) // if Redis does not answer, only the clock orders epochs
	if _, err = s.BeginEpoch(ctx, held+1); err != nil {
		return Recovery{}, err
	}
	r, err = settleEpoch(ctx, s, m)
	done := Recovery{Epoch: r.Epoch, Forgotten: r.Forgotten}
	if err != nil {
		return done,
			fmt.Errorf("%w: epoch %d has begun in PostgreSQL. Every running API process and worker puts it in force "+
				"within ten seconds after Redis answers: %w",
				ErrNotInForce, done.Epoch, err)
	}
	return done, nil
}
