package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/audit"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// withRecord opens PostgreSQL, the meter and the limits for one command.
func withRecord(ctx context.Context, cfg config.Config,
	use func(*store.Store, *meter.Meter, *limits.Limits) error,
) error {
	s, err := connect.Postgres(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := meter.OpenTLS(ctx, cfg.RedisURL, cfg.RedisCertificates())
	if err != nil {
		return connect.Unreachable("REDIS_URL", "Redis", err)
	}
	defer func() { _ = m.Close() }()
	if _, err := connect.ApplyEpoch(ctx, s, m); err != nil {
		return err
	}
	return use(s, m, limits.New(s, m, nil, time.Now))
}

// withRecordOnly is like withRecord for commands that are useful while Redis does not answer.
func withRecordOnly(ctx context.Context, cfg config.Config, use func(*store.Store, *limits.Limits) error) error {
	s, err := connect.Postgres(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := meter.OpenLater(cfg.RedisURL, cfg.RedisCertificates())
	if err != nil {
		return connect.Unreachable("REDIS_URL", "Redis", err)
	}
	defer func() { _ = m.Close() }()
	_, err = connect.ApplyEpoch(ctx, s, m)
	if connect.Foreign(err) != nil || errors.Is(err, connect.ErrOlderPostgres) {
		return err
	}
	return use(s, limits.New(s, m, nil, time.Now))
}

// Audit audits the books and calls tell with each difference. An error means that nothing is
// proven; it names what to check.
func Audit(ctx context.Context, cfg config.Config, o audit.Options,
	tell func(audit.Difference),
) (audit.Summary, error) {
	var done audit.Summary
	err := withRecord(ctx, cfg, func(s *store.Store, _ *meter.Meter, f *limits.Limits) (err error) {
		if done, err = audit.Run(ctx, s, f, o, tell); err != nil {
			err = fmt.Errorf("the audit ended early and proves nothing: %s",
				strings.Join(strings.Fields(err.Error()), " "))
		}
		return err
	})
	return done, err
}

// ErrNotInForce means that a change is committed but not yet in the meter.
var ErrNotInForce = errors.New("saved, but not in force yet")

// ChangeAccount changes an existing account and reports whether anything changed. If the error
// is ErrNotInForce, the change is committed.
func ChangeAccount(ctx context.Context, cfg config.Config, id account.ID,
	change func(context.Context, *limits.Limits, accountdb.Account) error,
) (bool, error) {
	var changed bool
	err := withRecordOnly(ctx, cfg, func(s *store.Store, f *limits.Limits) error {
		before, err := s.LoadAccount(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("there is no account %s; gateway ops account show finds one by a key", id)
		}
		if err != nil {
			return err
		}
		if err = change(ctx, f, before); err == nil {
			err = f.ConfirmAccount(ctx, id) // read back that it is in force
		}
		if err != nil {
			return toMessage(err, id)
		}
		after, err := s.LoadAccount(ctx, id)
		changed = err != nil || after.Version != before.Version
		return nil //nolint:nilerr // the change is in force; only whether it changed anything is unknown
	})
	return changed, err
}

// toMessage converts an error of a change to a message for the operator.
func toMessage(err error, id account.ID) error {
	refusal, ok := errors.AsType[*fault.Error](err)
	switch {
	case ok && errors.Is(refusal.Cause, limits.ErrOlderRecord):
		return fmt.Errorf(
			"%w: %s. Until then, the old fences apply. gateway ops account show %s lists changes that are not in "+
				"force yet",
			ErrNotInForce, refusal.Cause.Error(), id)
	case ok && refusal.Reason == fault.NotYetInForce:
		return fmt.Errorf(
			"%w: Redis could not be updated (%s). A worker retries until Redis answers; until then, the old fences "+
				"apply to calls that Redis admits. gateway ops account show %s lists changes that are not in force yet",
			ErrNotInForce, strings.Join(strings.Fields(fmt.Sprint(refusal.Cause)), " "), id)
	case ok:
		return errors.New(refusal.Message)
	case errors.Is(err, accountdb.ErrOriginTaken):
		return errors.New("a pack was granted to another account for this origin; nothing was changed")
	}
	return fmt.Errorf("%s: it is not known whether it was saved; check with gateway ops account show %s",
		strings.Join(strings.Fields(err.Error()), " "), id)
}
