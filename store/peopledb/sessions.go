package peopledb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// A session expires 30 days after it was last seen, and 90 days after it began. When it was seen is
// written at most once a minute.
const (
	sessionRolling = 30 * 24 * time.Hour
	sessionLongest = 90 * 24 * time.Hour
	sessionStep    = time.Minute
	// maxSessions bounds a user's open sessions; a new one ends the least recently seen.
	maxSessions = 50
)

// SessionID identifies a session in lists (UUIDv7). It is not a secret.
type SessionID struct{ uuid.UUID }

// Browser is what a new session is created from. The caller has cut its fields to their bounds.
type Browser struct {
	Session   account.Digest // of the new token
	Replaces  account.Digest // of the browser's previous token, whose session ends; zero for none
	Network   string         // for display only; at most 64 bytes
	UserAgent string         // at most 200 characters
}

// Session is a signed-in user in an account, with what every page needs.
type Session struct {
	ID           SessionID
	User         account.UserID
	Email        account.Email
	Role         Role
	Account      account.ID
	AccountName  string // may be empty
	Plan         string
	Status       account.Status
	SuspendedFor string // why the account is suspended, for its users; else empty
	BeganAt      time.Time
	Staff        bool // may answer the tickets of all accounts
}

// OpenSession is a session in its user's list.
type OpenSession struct {
	ID        SessionID
	Account   account.ID
	Network   string
	UserAgent string
	BeganAt   time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
}

// FindSession returns the session of a token and updates when it was last seen, always in one round
// trip. It returns ErrNotFound when the session has ended or never existed, or when its user is no
// longer a member of its account.
func (s *Store) FindSession(ctx context.Context, token account.Digest, at time.Time) (Session, error) {
	row, err := s.pool.Queries().FindSession(ctx, db.FindSessionParams{
		At: at, Digest: token[:], SeenBefore: at.Add(-sessionStep), RenewedUntil: at.Add(sessionRolling),
		LongestSeconds: sessionLongest.Seconds(),
	})
	if err != nil {
		return Session{}, fmt.Errorf("find session: %w", pg.NotFound(err))
	}
	return Session{
		ID: SessionID{row.ID}, User: account.UserID{UUID: row.UserID},
		Email: account.RecordedEmail(row.Email, row.EmailKey), Role: Role(row.Role),
		Account: account.ID{UUID: row.AccountID}, AccountName: row.Name, Plan: row.Plan,
		Status: account.Status(row.Status), SuspendedFor: row.SuspendedFor, BeganAt: row.CreatedAt.UTC(),
		Staff: row.Staff,
	}, nil
}

// EndSession ends the session of a token. It is idempotent: an ended or unknown session is no
// error.
func (s *Store) EndSession(ctx context.Context, token account.Digest, at time.Time) error {
	if _, err := s.pool.Queries().EndSessionByDigest(ctx, db.EndSessionByDigestParams{
		At: at, Digest: token[:],
	}); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// EndSessionOf ends one open session of a user. It returns ErrNotFound when there is none.
func (s *Store) EndSessionOf(ctx context.Context, user account.UserID, id SessionID, at time.Time) error {
	n, err := s.pool.Queries().EndSessionOfUser(ctx, db.EndSessionOfUserParams{At: at, ID: id.UUID, UserID: user.UUID})
	if err == nil && n == 0 {
		err = pg.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("end session %s: %w", id, err)
	}
	return nil
}

// EndSessionsOf ends all sessions of a user, in whatever account, and returns how many.
func (s *Store) EndSessionsOf(ctx context.Context, user account.UserID, at time.Time) (int64, error) {
	n, err := s.pool.Queries().EndSessionsOfUser(ctx, db.EndSessionsOfUserParams{At: at, UserID: user.UUID})
	if err != nil {
		return 0, fmt.Errorf("end sessions of user %s: %w", user, err)
	}
	return n, nil
}

// ListSessions reads the open sessions of a user, most recently seen first.
func (s *Store) ListSessions(ctx context.Context, user account.UserID, at time.Time) ([]OpenSession, error) {
	rows, err := s.pool.Queries().ListSessionsOfUser(ctx, db.ListSessionsOfUserParams{
		UserID: user.UUID, At: at, MaxRows: maxSessions,
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions of user %s: %w", user, err)
	}
	all := make([]OpenSession, len(rows))
	for i, row := range rows {
		all[i] = OpenSession{
			ID: SessionID{row.ID}, Account: account.ID{UUID: row.AccountID}, Network: row.Network,
			UserAgent: row.UserAgent, BeganAt: row.CreatedAt.UTC(), SeenAt: row.LastSeenAt.UTC(),
			ExpiresAt: row.ExpiresAt.UTC(),
		}
	}
	return all, nil
}

// SwitchSession moves an open session of a user to another of their accounts. It returns
// ErrNotFound when they are not a member of that account, or have no such session.
func (s *Store) SwitchSession(ctx context.Context, user account.UserID, id SessionID, to account.ID,
	at time.Time,
) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		// Updating the membership locks it, so that a concurrent removal waits and then ends this
		// session too.
		n, err := q.UseMembership(ctx, db.UseMembershipParams{At: at, AccountID: to.UUID, UserID: user.UUID})
		if err != nil {
			return err
		}
		if n == 0 {
			return pg.ErrNotFound
		}
		n, err = q.MoveSession(ctx, db.MoveSessionParams{ToAccount: to.UUID, ID: id.UUID, UserID: user.UUID, At: at})
		if err == nil && n == 0 {
			err = pg.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("switch session %s to account %s: %w", id, to, err)
	}
	return nil
}

// beginSession starts a session and ends the one that it replaces. Like a removal, it locks the
// membership before any session.
func beginSession(ctx context.Context, q *db.Queries, b Browser, user account.UserID, id account.ID,
	at time.Time,
) error {
	n, err := q.UseMembership(ctx, db.UseMembershipParams{At: at, AccountID: id.UUID, UserID: user.UUID})
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("the user is no member any more")
	}
	if b.Replaces != (account.Digest{}) {
		if _, err := q.EndSessionByDigest(ctx, db.EndSessionByDigestParams{At: at, Digest: b.Replaces[:]}); err != nil {
			return err
		}
	}
	err = q.InsertSession(ctx, db.InsertSessionParams{
		Digest: b.Session[:], ID: uuid.Must(uuid.NewV7()), UserID: user.UUID, AccountID: id.UUID, Network: b.Network,
		UserAgent: b.UserAgent, At: at, ExpiresAt: at.Add(sessionRolling),
	})
	if err != nil {
		return err
	}
	return q.EndOldestSessions(ctx, db.EndOldestSessionsParams{At: at, UserID: user.UUID, Keep: maxSessions})
}
