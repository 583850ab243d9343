package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/store/db"
)

// WishID names an entry of the wishlist (UUIDv7).
type WishID struct{ uuid.UUID }

// NewWishID makes an id.
func NewWishID() WishID { return WishID{uuid.Must(uuid.NewV7())} }

// Wish is a request for an enterprise agreement.
type Wish struct {
	ID      WishID
	Items   string
	Email   account.Email
	Channel string
	At      time.Time
	// What became of it. Answers is how often the service answered, and AnsweredAt when it did last.
	Status     string
	Reply      string // empty for none
	Answers    int
	AnsweredAt time.Time
}

// Subject names the wish in the desk's log.
func (id WishID) Subject() string { return "wish/" + id.String() }

// Confirmation is the one mail that an address ever gets that nobody proved to be theirs, about what was entered with it.
type Confirmation struct {
	Email account.Digest // of the address
	About string         // wishlist or waitlist
	Mail  NewMail
}

// MaxConfirmations is how many such mails are sent in 24 hours, whoever enters what.
const MaxConfirmations = 500

// confirm queues the mail unless the address got it before.
func (c *Confirmation) confirm(ctx context.Context, q *db.Queries, at time.Time) error {
	if c == nil {
		return nil
	}
	n, err := q.ConfirmAddress(ctx, db.ConfirmAddressParams{EmailDigest: c.Email[:], About: c.About, At: at, Since: at.Add(-24 * time.Hour), Most: MaxConfirmations})
	if err != nil || n == 0 {
		return err
	}
	return queueMails(ctx, q, c.Mail)
}

// JoinWishlist records a wish with the mails that tell of it, and says whether these wait to be sent: not when there are none, or their recipient has got
// too many of the kind in 24 hours. What is confirmed to whoever wishes may be nil.
func (s *Store) JoinWishlist(ctx context.Context, w Wish, mails []NewMail, c *Confirmation) (queued bool, err error) { //nolint:gocritic // copies do no harm
	err = s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		err := q.InsertWish(ctx, db.InsertWishParams{ID: w.ID.UUID, Items: w.Items, Email: w.Email.Address(), Channel: w.Channel, At: w.At})
		if err != nil {
			return err
		}
		if err := queueMails(ctx, q, mails...); err != nil {
			return err
		}
		if err := c.confirm(ctx, q, w.At); err != nil {
			return err
		}
		queued = len(mails) > 0
		for i := range mails {
			row, err := q.FindMail(ctx, mails[i].Reason)
			if err != nil {
				return err
			}
			queued = queued && row.FailedAt == nil
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("record a wish: %w", err)
	}
	return queued, nil
}

// Waiting is an address on the waitlist.
type Waiting struct {
	Email          account.Email
	Qualifier      string
	Source         string // may be empty
	ProductUpdates bool
	Channel        string
	At             time.Time
}

// JoinWaitlist puts an address on the list and says whether it was there: then nothing changes, for nobody proved that the address is theirs. What is
// confirmed to the address may be nil.
func (s *Store) JoinWaitlist(ctx context.Context, w Waiting, c *Confirmation) (already bool, err error) { //nolint:gocritic // a copy does no harm
	err = s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		n, err := q.JoinWaitlist(ctx, db.JoinWaitlistParams{
			EmailKey: w.Email.Key(), Email: w.Email.Address(), Qualifier: w.Qualifier, Source: w.Source, ProductUpdates: w.ProductUpdates, Channel: w.Channel,
			At: w.At,
		})
		if already = n == 0; err != nil || already {
			return err
		}
		return c.confirm(ctx, q, w.At)
	})
	if err != nil {
		return false, fmt.Errorf("put an address on the waitlist: %w", err)
	}
	return already, nil
}

// ListWaitlist lists the addresses on the waitlist, newest first, after one of them; from the newest on when that is nil.
func (s *Store) ListWaitlist(ctx context.Context, after *Waiting, limit int) ([]Waiting, error) {
	p := db.ListWaitlistParams{Before: endOfTime, Most: int32(min(limit, MaxDeskPage))} //nolint:gosec // bounded
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
		Email: account.RecordedEmail(row.Email, row.EmailKey), Qualifier: row.Qualifier, Source: row.Source, ProductUpdates: row.ProductUpdates,
		Channel: row.Channel, At: row.JoinedAt.UTC(),
	}
}

// endOfTime is later than every instant that is recorded.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
