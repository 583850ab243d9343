package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // goose's driver for PostgreSQL
	"github.com/pressly/goose/v3"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/migrations"
)

// ledger is a meter on its own Redis and, if requested, a store on its own PostgreSQL. Both write
// to disk as in production. No measurement sees data of another one.
type ledger struct {
	rig   *rig
	dir   string
	stack *devstack.Stack
	meter *meter.Meter          // as the gateway's processes use it
	bulk  *meter.Meter          // for seeding: single commands share pipelines
	rdb   redis.UniversalClient // bypasses the meter
	begun time.Time             // by Redis' clock
}

// ledger starts a ledger. The caller closes it.
func (r *rig) ledger(ctx context.Context, services ...devstack.Service) (*ledger, error) {
	dir, err := os.MkdirTemp("", "gateway-bench-ledger-")
	if err != nil {
		return nil, err
	}
	l := &ledger{rig: r, dir: dir}
	if err := l.start(ctx, services); err != nil {
		return nil, errors.Join(err, l.close(ctx))
	}
	return l, nil
}

func (l *ledger) start(ctx context.Context, services []devstack.Service) error {
	//nolint:gosec // PostgreSQL may run as another user, and its own directory is closed
	if err := os.Chmod(l.dir, 0o755); err != nil {
		return err
	}
	var err error
	l.stack, err = devstack.Start(ctx, devstack.Options{
		DataDir: filepath.Join(l.dir, "data"), Services: services, Progress: func(msg string) { l.rig.sayf("%s", msg) },
	})
	if err != nil {
		return err
	}
	where, err := redisconn.Parse(l.stack.RedisURL)
	if err != nil {
		return err
	}
	if l.rdb, err = redisconn.Open(where, redisconn.Certificates{}); err != nil {
		return err
	}
	if l.meter, err = meter.Open(ctx, l.stack.RedisURL); err != nil {
		return err
	}
	seeding, err := redisconn.Open(where, redisconn.Certificates{})
	if err != nil {
		return err
	}
	seeding.AddHook(newPipelines(l.rdb)) //nolint:contextcheck // a pipeline carries commands of many callers
	if l.bulk, err = meter.New(ctx, seeding); err != nil {
		return err
	}
	l.begun, err = l.meter.Now(ctx)
	return err
}

// close stops everything and removes its files.
func (l *ledger) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for _, m := range []*meter.Meter{l.meter, l.bulk} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	if l.rdb != nil {
		errs = append(errs, l.rdb.Close())
	}
	if l.stack != nil {
		errs = append(errs, l.stack.Close(ctx))
	}
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}

// migrate creates the tables.
func (l *ledger) migrate(ctx context.Context) (err error) {
	db, err := sql.Open("pgx", l.stack.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// info reads a section of Redis' INFO.
func (l *ledger) info(ctx context.Context, section string) (info, error) {
	text, err := l.rdb.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("ask Redis for its %s: %w", section, err)
	}
	return parseInfo(text), nil
}
