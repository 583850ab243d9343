package accountdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// NameAccount sets the name by which an account's members recognize it, and writes a line of the
// audit log. It is idempotent: the same name again writes nothing. An empty name removes it. It
// returns ErrNotFound when there is no such account or by may not change it.
func (s *Store) NameAccount(ctx context.Context, id account.ID, by Author, name string) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if !by.Within.IsZero() && by.Within != id {
			return pg.ErrNotFound
		}
		row, err := q.LockAccount(ctx, id.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		if row.Name == name {
			return nil
		}
		if err := q.SetAccountName(ctx, db.SetAccountNameParams{ID: id.UUID, Name: name}); err != nil {
			return err
		}
		return audit(ctx, q, subject{account: id}, "name_account", by, map[string]any{"name": row.Name},
			map[string]any{"name": name})
	})
	if err != nil {
		return fmt.Errorf("name account %s: %w", id, err)
	}
	return nil
}
