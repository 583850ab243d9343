package supportdb

import (
	"context"
	"fmt"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// DeskAccount is what the desk shows of an account.
type DeskAccount struct {
	Name   string // may be empty
	Plan   string
	Status account.Status
}

// LoadDeskAccount reads what the desk shows of an account. It returns ErrNotFound when there is
// none.
func (s *Store) LoadDeskAccount(ctx context.Context, id account.ID) (DeskAccount, error) {
	row, err := s.pool.Queries().GetAccount(ctx, id.UUID)
	if err != nil {
		return DeskAccount{}, fmt.Errorf("load account %s for the desk: %w", id, pg.NotFound(err))
	}
	return DeskAccount{row.Name, row.Plan, account.Status(row.Status)}, nil
}
