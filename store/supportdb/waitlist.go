package supportdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// Waiting is an address on the waitlist.
type Waiting struct {
	Email          account.Email
	Qualifier      string
	Source         string // may be empty
	ProductUpdates bool   // requested; in effect once the address is confirmed
	Channel        string
	At             time.Time
	// Status is waiting, confirmed or invited. The times are zero until they happen.
	Status      string
	ConfirmedAt time.Time
	InvitedAt   time.Time
}

// WaitlistStatuses lists the statuses of an address on the waitlist. Addresses that left are not on
// it.
func WaitlistStatuses() []string { return []string{"waiting", "confirmed", "invited"} }

// Joining is the outcome of joining the waitlist.
type Joining int

// The outcomes.
const (
	JoinedNow    Joining = iota
	JoinedBefore         // it was on the list already
	JoinRefused          // its owner left the list; only they can return
)

// JoinWaitlist puts an address on the list. An address that is on it stays unchanged, because
// nobody has proved that they own it. c may be nil; its mail is sent once per address, now or, when
// MaxConfirmations is reached, when the address is entered again. digest is the address's digest.
//
//nolint:gocritic // a copy does no harm
func (s *Store) JoinWaitlist(ctx context.Context, w Waiting, digest account.Digest,
	c *Confirmation,
) (became Joining, err error) {
	err = s.ofAddress(ctx, w.Email, func(q *db.Queries) error {
		switch left, err := q.HasLeft(ctx, digest[:]); {
		case err != nil:
			return err
		case left:
			became = JoinRefused
			return nil
		}
		n, err := q.JoinWaitlist(ctx, db.JoinWaitlistParams{
			EmailKey: w.Email.Key(), Email: w.Email.Address(), Qualifier: w.Qualifier, Source: w.Source,
			ProductUpdates: w.ProductUpdates, Channel: w.Channel, At: w.At,
		})
		if err != nil {
			return err
		}
		if n == 0 {
			became = JoinedBefore
			row, err := q.GetWaiting(ctx, w.Email.Key())
			if err != nil || row.ConfirmedAt != nil {
				return err
			}
		}
		return c.confirm(ctx, q, w.At)
	})
	if err != nil {
		return became, fmt.Errorf("put an address on the waitlist: %w", err)
	}
	return became, nil
}

// ConfirmWaiting records that the owner of an address wants it on the list, with product updates or
// without, and adds it when it is not on the list. Confirming again changes only ProductUpdates.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ConfirmWaiting(ctx context.Context, w Waiting, digest account.Digest) (confirmed Waiting, err error) {
	err = s.ofAddress(ctx, w.Email, func(q *db.Queries) error {
		row, err := q.ConfirmWaiting(ctx, db.ConfirmWaitingParams{
			EmailKey: w.Email.Key(), Email: w.Email.Address(), Qualifier: w.Qualifier, Source: w.Source,
			ProductUpdates: w.ProductUpdates, Channel: w.Channel, At: w.At,
		})
		if err != nil {
			return err
		}
		confirmed = waitingOf(row)
		return q.NoteReturned(ctx, digest[:])
	})
	if err != nil {
		return Waiting{}, fmt.Errorf("confirm an address of the waitlist: %w", err)
	}
	return confirmed, nil
}

// LeaveWaitlist removes an address from the list for good and keeps only its digest, so that nobody
// else can add it again. It reports whether the address was on the list, and is idempotent.
func (s *Store) LeaveWaitlist(ctx context.Context, email account.Email, digest account.Digest,
	at time.Time,
) (was bool, err error) {
	err = s.ofAddress(ctx, email, func(q *db.Queries) error {
		n, err := q.DropWaiting(ctx, email.Key())
		if err != nil {
			return err
		}
		was = n > 0
		_, err = q.NoteLeft(ctx, db.NoteLeftParams{EmailDigest: digest[:], At: at})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("take an address off the waitlist: %w", err)
	}
	return was, nil
}

// ErrUnconfirmed reports that nobody has proved that they own an address on the waitlist.
var ErrUnconfirmed = errors.New("store: the address is not confirmed")

// InviteWaiting records that an address on the waitlist is invited, and queues the mails that tell
// returns; tell must have no side effects. It is idempotent: it reports true when the address was
// invited before. It returns ErrNotFound when the address is not on the list, and ErrUnconfirmed
// before it is confirmed.
func (s *Store) InviteWaiting(ctx context.Context, email account.Email, digest account.Digest, by accountdb.Author,
	at time.Time,
	tell func() ([]maildb.NewMail, error),
) (already bool, err error) {
	err = s.ofAddress(ctx, email, func(q *db.Queries) error {
		row, err := q.GetWaiting(ctx, email.Key())
		switch {
		case err != nil:
			return pg.NotFound(err)
		case row.ConfirmedAt == nil:
			return ErrUnconfirmed
		case row.InvitedAt != nil:
			already = true
			return nil
		}
		if _, err := q.InviteWaiting(ctx, db.InviteWaitingParams{EmailKey: email.Key(), At: at}); err != nil {
			return err
		}
		err = writeDeskLine(ctx, q, &DeskLine{
			At: at, Subject: "waitlist/" + digest.String(), Actor: by.Actor, Origin: by.Origin, Action: "invite",
			Before: map[string]any{"status": row.Status}, After: map[string]any{"status": "invited"},
		})
		if err != nil {
			return err
		}
		mails, err := tell()
		if err != nil {
			return err
		}
		return maildb.Queue(ctx, q, mails...)
	})
	if err != nil {
		return false, fmt.Errorf("invite an address of the waitlist: %w", err)
	}
	return already, nil
}

// ofAddress runs do under a lock on the address, so that an address that leaves is not added again
// by a concurrent join.
func (s *Store) ofAddress(ctx context.Context, email account.Email, do func(*db.Queries) error) error {
	return s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.LockAddress(ctx, email.Key()); err != nil {
			return err
		}
		return do(q)
	})
}

// ListWaitlist lists the addresses with one of these statuses, newest first, after the given one;
// nil starts with the newest.
func (s *Store) ListWaitlist(ctx context.Context, statuses []string, after *Waiting, limit int) ([]Waiting, error) {
	//nolint:gosec // bounded
	p := db.ListWaitlistParams{Statuses: statuses, Before: endOfTime, MaxRows: int32(min(limit, MaxDeskPage))}
	if after != nil {
		p.Before, p.BeforeKey = after.At, after.Email.Key()
	}
	rows, err := s.pool.Queries().ListWaitlist(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list the waitlist: %w", err)
	}
	list := make([]Waiting, len(rows))
	for i, row := range rows {
		list[i] = waitingOf(row)
	}
	return list, nil
}

// FindWaiting reads an address on the waitlist. It returns ErrNotFound when it is not on the list.
func (s *Store) FindWaiting(ctx context.Context, email account.Email) (Waiting, error) {
	row, err := s.pool.Queries().GetWaiting(ctx, email.Key())
	if err != nil {
		return Waiting{}, fmt.Errorf("find an address on the waitlist: %w", pg.NotFound(err))
	}
	return waitingOf(row), nil
}

func waitingOf(row db.Waitlist) Waiting { //nolint:gocritic // the row is a copy already
	return Waiting{
		Email: account.RecordedEmail(row.Email, row.EmailKey), Qualifier: row.Qualifier, Source: row.Source,
		ProductUpdates: row.ProductUpdates, Channel: row.Channel, At: row.JoinedAt.UTC(), Status: row.Status,
		ConfirmedAt: pg.UTCOrZero(row.ConfirmedAt), InvitedAt: pg.UTCOrZero(row.InvitedAt),
	}
}

// endOfTime is later than all recorded times.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
