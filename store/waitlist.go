package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
)

// Waiting is an address on the waitlist.
type Waiting struct {
	Email          account.Email
	Qualifier      string
	Source         string // may be empty
	ProductUpdates bool   // asked for; in effect once the address is confirmed
	Channel        string
	At             time.Time
	// What became of it: waiting, confirmed or invited, and since when; zero where it is not.
	Status      string
	ConfirmedAt time.Time
	InvitedAt   time.Time
}

// WaitlistStatuses lists what an address on the waitlist may be. Those that left are not on it.
func WaitlistStatuses() []string { return []string{"waiting", "confirmed", "invited"} }

// Joining is what became of an address that was entered.
type Joining int

// What becomes of an address that is entered.
const (
	JoinedNow    Joining = iota
	JoinedBefore         // it was on the list before
	JoinRefused          // whoever reads it had it taken off: nobody else puts it back
)

// JoinWaitlist puts an address on the list. When it was there nothing changes, for nobody proved
// that the address is theirs. What is confirmed to the address may be nil; the address gets it once
// for ever, now or, where too many were sent, when it is entered again. The digest is the
// address's.
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

// ConfirmWaiting notes that whoever reads an address wants it on the list, with news of the product
// or without, and puts it there when it is not on it. Confirming again changes whether there is
// news, and nothing else.
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

// LeaveWaitlist takes an address off the list for good: nothing of it is kept but its digest, so
// that nobody else puts it back. It says whether it was on the list; leaving again changes nothing.
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

// ErrUnconfirmed says that nobody proved that an address of the waitlist is theirs.
var ErrUnconfirmed = errors.New("store: the address is not confirmed")

// InviteWaiting notes that an address on the waitlist was told that it may come in, with the mails
// that tell it; tell only computes. Who is invited already is not told again. ErrNotFound when the
// address is not on the list, ErrUnconfirmed before it is confirmed.
func (s *Store) InviteWaiting(ctx context.Context, email account.Email, digest account.Digest, by Author, at time.Time,
	tell func() ([]NewMail, error),
) (already bool, err error) {
	err = s.ofAddress(ctx, email, func(q *db.Queries) error {
		row, err := q.GetWaiting(ctx, email.Key())
		switch {
		case err != nil:
			return found(err)
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
		return queueMails(ctx, q, mails...)
	})
	if err != nil {
		return false, fmt.Errorf("invite an address of the waitlist: %w", err)
	}
	return already, nil
}

// ofAddress does what is done with an address of the waitlist, one after the other: whoever leaves
// while somebody enters the address is not put back.
func (s *Store) ofAddress(ctx context.Context, email account.Email, do func(*db.Queries) error) error {
	return s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if err := q.LockAddress(ctx, email.Key()); err != nil {
			return err
		}
		return do(q)
	})
}

// ListWaitlist lists the addresses on the waitlist with one of some statuses, newest first, after
// one of them; from the newest on when that is nil.
func (s *Store) ListWaitlist(ctx context.Context, statuses []string, after *Waiting, limit int) ([]Waiting, error) {
	//nolint:gosec // bounded
	p := db.ListWaitlistParams{Statuses: statuses, Before: endOfTime, Most: int32(min(limit, MaxDeskPage))}
	if after != nil {
		p.Before, p.BeforeKey = after.At, after.Email.Key()
	}
	rows, err := s.queries().ListWaitlist(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list the waitlist: %w", err)
	}
	list := make([]Waiting, len(rows))
	for i, row := range rows {
		list[i] = waitingOf(row)
	}
	return list, nil
}

// FindWaiting reads an address on the waitlist. ErrNotFound when it is not on it.
func (s *Store) FindWaiting(ctx context.Context, email account.Email) (Waiting, error) {
	row, err := s.queries().GetWaiting(ctx, email.Key())
	if err != nil {
		return Waiting{}, fmt.Errorf("find an address on the waitlist: %w", found(err))
	}
	return waitingOf(row), nil
}

func waitingOf(row db.Waitlist) Waiting { //nolint:gocritic // the row is a copy already
	return Waiting{
		Email: account.RecordedEmail(row.Email, row.EmailKey), Qualifier: row.Qualifier, Source: row.Source,
		ProductUpdates: row.ProductUpdates, Channel: row.Channel, At: row.JoinedAt.UTC(), Status: row.Status,
		ConfirmedAt: instant(row.ConfirmedAt), InvitedAt: instant(row.InvitedAt),
	}
}

// endOfTime is later than every instant that is recorded.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
