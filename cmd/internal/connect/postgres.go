package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/store"
)

// Postgres opens PostgreSQL and refuses a schema of another version.
func Postgres(ctx context.Context, cfg config.Config) (*store.Store, error) { //nolint:gocritic // a copy does no harm
	s, err := store.Open(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, Unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	if err := s.CheckSchema(ctx); err != nil {
		s.Close()
		return nil, checked("DATABASE_URL", err)
	}
	return s, nil
}

// CheckPepper refuses a pepper that is not the one with which stored keys were hashed.
//
//nolint:gocritic // a copy does no harm
func CheckPepper(ctx context.Context, cfg config.Config, s *store.Store) error {
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
		return Unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	return nil
}

// Unreachable returns a one-line error that names the variable to check; the libraries' errors have
// several lines.
func Unreachable(variable, server string, err error) error {
	return fmt.Errorf("%s: %s cannot be used; check that it runs and that the address is right: %s", variable, server,
		strings.Join(strings.Fields(err.Error()), " "))
}
