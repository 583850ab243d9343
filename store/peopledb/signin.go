package peopledb

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// ErrWrongCode reports that a code is not the mail's. Five wrong codes end the sign-in.
var ErrWrongCode = errors.New("store: wrong code")

// SignInID identifies a sign-in (UUIDv7). It is not a secret.
type SignInID struct{ uuid.UUID }

// NewSignIn is a request to sign in. Only digests of its secrets are stored.
type NewSignIn struct {
	ID        SignInID
	Email     account.Email
	Link      account.Digest
	Code      account.Digest
	Browser   account.Digest
	ReturnTo  []byte // a local path, encrypted; empty for none
	Network   string // the client's network; at most 64 bytes
	At        time.Time
	ExpiresAt time.Time
}

// OpenSignIn is a sign-in that can still be used.
type OpenSignIn struct {
	Email     account.Email
	ExpiresAt time.Time
}

// Arrival is a user who has just signed in.
type Arrival struct {
	User       account.UserID
	Email      account.Email
	Account    account.ID
	NewAccount bool     // created for them, with them as its owner
	SignIn     SignInID // zero when they came by an invitation
	ReturnTo   []byte   // the sign-in's local path, encrypted; empty for none
	// Joined describes the invitation that made them a member; nil when none did.
	Joined *Joined

	known bool // existed as a user before
}

// Joined is the result of an accepted invitation.
type Joined struct {
	By     Invitation
	Owners []Member // the account's owners now, without the user who joined
}

// Telling returns the mails about an arrival. It runs inside the transaction and must have no side
// effects.
type Telling func(Arrival) ([]maildb.NewMail, error)

// StartSignIn inserts a sign-in and queues its mail in one transaction, whether or not the address
// is known.
func (s *Store) StartSignIn(ctx context.Context, n NewSignIn, mails ...maildb.NewMail) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		err := q.InsertSignIn(ctx, db.InsertSignInParams{
			ID: n.ID.UUID, Email: n.Email.Address(), EmailKey: n.Email.Key(), LinkDigest: n.Link[:],
			CodeDigest: n.Code[:], BrowserDigest: n.Browser[:], ReturnTo: append([]byte{}, n.ReturnTo...),
			Network: n.Network, CreatedAt: n.At, ExpiresAt: n.ExpiresAt,
		})
		if err != nil {
			return err
		}
		return maildb.Queue(ctx, q, mails...)
	})
	if err != nil {
		return fmt.Errorf("start a sign-in: %w", err)
	}
	return nil
}

// FindSignInByLink reads the sign-in of a link without using it. It returns ErrNotFound when it was
// used, has expired, or never existed.
func (s *Store) FindSignInByLink(ctx context.Context, link account.Digest, at time.Time) (OpenSignIn, error) {
	row, err := s.pool.Queries().GetSignInByLink(ctx, db.GetSignInByLinkParams{LinkDigest: link[:], At: at})
	if err != nil {
		return OpenSignIn{}, fmt.Errorf("find a sign-in by its link: %w", pg.NotFound(err))
	}
	return OpenSignIn{account.RecordedEmail(row.Email, row.EmailKey), row.ExpiresAt.UTC()}, nil
}

// FindSignInOfBrowser is FindSignInByLink for the browser that requested the sign-in.
func (s *Store) FindSignInOfBrowser(ctx context.Context, browser account.Digest, at time.Time) (OpenSignIn, error) {
	row, err := s.pool.Queries().GetSignInOfBrowser(ctx, db.GetSignInOfBrowserParams{BrowserDigest: browser[:], At: at})
	if err != nil {
		return OpenSignIn{}, fmt.Errorf("find the sign-in of a browser: %w", pg.NotFound(err))
	}
	return OpenSignIn{account.RecordedEmail(row.Email, row.EmailKey), row.ExpiresAt.UTC()}, nil
}

// FinishByLink uses the sign-in of a link, once. It creates the user, an account when they have
// none, and a session. It returns ErrNotFound when the sign-in was used, has expired, or never
// existed.
func (s *Store) FinishByLink(ctx context.Context, link account.Digest, b Browser, at time.Time,
	tell Telling,
) (Arrival, error) {
	var arrived Arrival
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		// A concurrent caller that waited for the lock finds the sign-in used.
		row, err := q.LockSignInByLink(ctx, db.LockSignInByLinkParams{LinkDigest: link[:], At: at})
		if err != nil {
			return pg.NotFound(err)
		}
		arrived = Arrival{
			Email: account.RecordedEmail(row.Email, row.EmailKey), SignIn: SignInID{row.ID}, ReturnTo: row.ReturnTo,
		}
		return finish(ctx, q, row.ID, &arrived, b, at, tell)
	})
	if err != nil {
		return Arrival{}, fmt.Errorf("sign in by link: %w", err)
	}
	return arrived, nil
}

// FinishByCode is FinishByLink for the mail's code, typed in the browser that requested the
// sign-in. ErrWrongCode is counted; after the fifth it returns ErrNotFound.
func (s *Store) FinishByCode(ctx context.Context, browser, code account.Digest, b Browser, at time.Time,
	tell Telling,
) (Arrival, error) {
	var (
		arrived Arrival
		wrong   bool
	)
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSignInOfBrowser(ctx, db.LockSignInOfBrowserParams{BrowserDigest: browser[:], At: at})
		if err != nil {
			return pg.NotFound(err)
		}
		if subtle.ConstantTimeCompare(row.CodeDigest, code[:]) != 1 {
			wrong = true // no error here: the count must be committed
			return q.CountWrongCode(ctx, row.ID)
		}
		arrived = Arrival{
			Email: account.RecordedEmail(row.Email, row.EmailKey), SignIn: SignInID{row.ID}, ReturnTo: row.ReturnTo,
		}
		return finish(ctx, q, row.ID, &arrived, b, at, tell)
	})
	if err == nil && wrong {
		err = ErrWrongCode
	}
	if err != nil {
		return Arrival{}, fmt.Errorf("sign in by code: %w", err)
	}
	return arrived, nil
}

// finish uses a locked sign-in.
func finish(ctx context.Context, q *db.Queries, id uuid.UUID, arrived *Arrival, b Browser, at time.Time,
	tell Telling,
) error {
	if err := q.UseSignIn(ctx, db.UseSignInParams{At: at, ID: id}); err != nil {
		return err
	}
	if err := arrive(ctx, q, arrived, at); err != nil {
		return err
	}
	used, err := q.LatestMembership(ctx, arrived.User.UUID)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = openAccount(ctx, q, arrived, at)
	default:
		arrived.Account = account.ID{UUID: used}
	}
	if err != nil {
		return err
	}
	return welcome(ctx, q, arrived, b, at, tell)
}

// arrive finds or creates the user and locks the row.
func arrive(ctx context.Context, q *db.Queries, arrived *Arrival, at time.Time) error {
	fresh := account.NewUserID()
	user, err := q.UpsertUser(ctx, db.UpsertUserParams{
		ID: fresh.UUID, Email: arrived.Email.Address(), EmailKey: arrived.Email.Key(), At: at,
	})
	arrived.User = account.UserID{UUID: user}
	arrived.known = arrived.User != fresh
	return err
}

// openAccount creates an account on the Free plan with the user as its owner.
func openAccount(ctx context.Context, q *db.Queries, arrived *Arrival, at time.Time) error {
	arrived.Account, arrived.NewAccount = account.NewID(), true
	made, err := q.InsertAccount(ctx, accountdb.AccountParams(accountdb.NewAccount{
		ID:   arrived.Account,
		Kind: accountdb.KindOwner, Plan: plan.Free,
	}))
	if err != nil {
		return err
	}
	if _, err := join(ctx, q, arrived.Account, arrived.User.UUID, RoleOwner, at); err != nil {
		return err
	}
	by := accountdb.Author{Actor: arrived.User.Actor(), Origin: accountdb.OriginConsole}
	after := person(arrived.User, arrived.Email.Address(), string(RoleOwner))
	after["plan"] = made.Plan
	return notePerson(ctx, q, arrived.Account, "open_account", by, nobody, after)
}

// welcome begins the session and queues the mails.
func welcome(ctx context.Context, q *db.Queries, arrived *Arrival, b Browser, at time.Time, tell Telling) error {
	if err := beginSession(ctx, q, b, arrived.User, arrived.Account, at); err != nil {
		return err
	}
	if tell == nil {
		return nil
	}
	mails, err := tell(*arrived)
	if err != nil {
		return err
	}
	return maildb.Queue(ctx, q, mails...)
}

// SweepPeople deletes up to limit each of the sessions, sign-ins and invitations that expired
// before the given time, and returns how many rows it deleted.
func (s *Store) SweepPeople(ctx context.Context, before time.Time, limit int) (int64, error) {
	page := int32(min(limit, pg.MaxPage)) //nolint:gosec // bounded
	q := s.pool.Queries()
	sessions, err := q.DeletePastSessions(ctx, db.DeletePastSessionsParams{Before: before, MaxRows: page})
	if err != nil {
		return sessions, fmt.Errorf("sweep sessions: %w", err)
	}
	signIns, err := q.DeletePastSignIns(ctx, db.DeletePastSignInsParams{Before: before, MaxRows: page})
	if err != nil {
		return sessions + signIns, fmt.Errorf("sweep sign-ins: %w", err)
	}
	invitations, err := q.DeletePastInvitations(ctx, db.DeletePastInvitationsParams{Before: before, MaxRows: page})
	if err != nil {
		return sessions + signIns + invitations, fmt.Errorf("sweep invitations: %w", err)
	}
	return sessions + signIns + invitations, nil
}
