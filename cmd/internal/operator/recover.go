package operator

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/metering/meter"
)

// Recovery is the result of Recover.
type Recovery struct {
	Epoch     int64
	Forgotten int // projections and counters that are loaded again from PostgreSQL
}

// Recover begins a new epoch, so that PostgreSQL takes precedence over Redis. It returns
// ErrNotInForce if the epoch has begun but Redis does not answer. Every running role then applies
// it within ten seconds after Redis answers.
func Recover(ctx context.Context, cfg config.Config) (Recovery, error) { //nolint:gocritic // a copy does no harm
	s, err := connect.Postgres(ctx, cfg)
	if err != nil {
		return Recovery{}, err
	}
	defer s.Close()
	m, err := meter.OpenLater(cfg.RedisURL, cfg.RedisCertificates())
	if err != nil {
		return Recovery{}, connect.Unreachable("REDIS_URL", "Redis", err)
	}
	defer func() { _ = m.Close() }()
	r, err := connect.ApplyEpoch(ctx, s, m)
	if connect.Foreign(err) != nil || r.ID == uuid.Nil {
		return Recovery{}, err
	}
	_, held, _ := m.Claim(ctx, r.ID.String(), 0) // if Redis does not answer, only the clock orders epochs
	if _, err = s.BeginEpoch(ctx, held+1); err != nil {
		return Recovery{}, err
	}
	r, err = connect.ApplyEpoch(ctx, s, m)
	done := Recovery{Epoch: r.Epoch, Forgotten: r.Forgotten}
	if err != nil {
		return done,
			fmt.Errorf("%w: epoch %d has begun in PostgreSQL. Every running API process and worker puts it in force "+
				"within ten seconds after Redis answers: %w",
				ErrNotInForce, done.Epoch, err)
	}
	return done, nil
}
