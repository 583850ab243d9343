package supportdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// StaffMember is a user who sees and answers the tickets of every account.
type StaffMember struct {
	User         account.UserID
	Email        account.Email
	Since        time.Time
	AddedBy      string
	LastSignedIn time.Time // zero when never
}

// MaxStaff bounds the list of staff.
const MaxStaff = 500

// AddStaff grants a user the staff role and reports whether they did not have it before. It returns
// ErrNotFound when no user has the address.
func (s *Store) AddStaff(ctx context.Context, email account.Email, at time.Time,
	by accountdb.Author,
) (changed bool, err error) {
	return s.changeStaff(ctx, email, "add_staff", at, by, func(q *db.Queries, user account.UserID) (int64, error) {
		return q.AddStaff(ctx, db.AddStaffParams{UserID: user.UUID, At: at, AddedBy: by.Actor})
	})
}

// RemoveStaff revokes the staff role of a user, effective with their next request, and reports
// whether they had it. It returns ErrNotFound when no user has the address.
func (s *Store) RemoveStaff(ctx context.Context, email account.Email, at time.Time,
	by accountdb.Author,
) (changed bool, err error) {
	return s.changeStaff(ctx, email, "remove_staff", at, by, func(q *db.Queries, user account.UserID) (int64, error) {
		return q.RemoveStaff(ctx, user.UUID)
	})
}

func (s *Store) changeStaff(
	ctx context.Context, email account.Email, action string, at time.Time, by accountdb.Author,
	change func(*db.Queries, account.UserID) (int64, error),
) (changed bool, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.FindUserByEmail(ctx, email.Key())
		if err != nil {
			return pg.NotFound(err)
		}
		user := account.UserID{UUID: row.ID}
		n, err := change(q, user)
		if err != nil || n == 0 {
			return err
		}
		changed = true
		return writeDeskLine(ctx, q, &DeskLine{
			Subject: "staff/" + user.String(), Actor: by.Actor, Origin: by.Origin, Action: action, At: at,
		})
	})
	if err != nil {
		return false, fmt.Errorf("%s: %w", action, err)
	}
	return changed, nil
}

// ListStaff lists the staff, longest-serving first.
func (s *Store) ListStaff(ctx context.Context) ([]StaffMember, error) {
	rows, err := s.pool.Queries().ListStaff(ctx, MaxStaff)
	if err != nil {
		return nil, fmt.Errorf("list staff: %w", err)
	}
	all := make([]StaffMember, len(rows))
	for i, row := range rows {
		all[i] = StaffMember{
			User: account.UserID{UUID: row.UserID}, Email: account.RecordedEmail(row.Email, row.EmailKey),
			Since: row.Since.UTC(), AddedBy: row.AddedBy, LastSignedIn: pg.UTCOrZero(row.LastSignedInAt),
		}
	}
	return all, nil
}
