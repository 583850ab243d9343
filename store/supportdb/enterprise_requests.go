package supportdb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// WishID identifies an entry of the wishlist (UUIDv7).
type WishID struct{ uuid.UUID }

// NewWishID returns a new id.
func NewWishID() WishID { return WishID{uuid.Must(uuid.NewV7())} }

// Wish is a request for an enterprise agreement.
type Wish struct {
	ID      WishID
	Items   string        // empty once withdrawn
	Email   account.Email // zero once withdrawn
	Channel string
	At      time.Time
	// Answers is how many times the staff answered; AnsweredAt is the last time.
	Status     string
	Reply      string // empty for none
	Answers    int
	AnsweredAt time.Time
}

// Subject is the wish's name in the desk's log.
func (id WishID) Subject() string { return "wish/" + id.String() }

// Confirmation is the one mail that an unproven address ever gets about what was entered with it.
type Confirmation struct {
	Email account.Digest // the address's digest
	About string         // wishlist or waitlist
	Mail  maildb.NewMail
}

// MaxConfirmations bounds these mails in 24 hours, across all senders.
const MaxConfirmations = 500

// confirm queues the mail unless the address got it before or MaxConfirmations is reached.
func (c *Confirmation) confirm(ctx context.Context, q *db.Queries, at time.Time) error {
	if c == nil {
		return nil
	}
	n, err := q.ConfirmAddress(ctx, db.ConfirmAddressParams{
		EmailDigest: c.Email[:], About: c.About, At: at, Since: at.Add(-24 * time.Hour),
		MaxConfirmations: MaxConfirmations,
	})
	if err != nil || n == 0 {
		return err
	}
	return maildb.Queue(ctx, q, c.Mail)
}

// JoinWishlist inserts a wish and queues its mails. It reports whether the mails wait to be sent:
// false when there are none, or when the recipient reached the limit of 24 hours. c may be nil.
//
//nolint:gocritic // copies do no harm
func (s *Store) JoinWishlist(ctx context.Context, w Wish, mails []maildb.NewMail,
	c *Confirmation,
) (queued bool, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		err := q.InsertWish(ctx, db.InsertWishParams{
			ID: w.ID.UUID, Items: w.Items, Email: w.Email.Address(), Channel: w.Channel, At: w.At,
		})
		if err != nil {
			return err
		}
		if err := maildb.Queue(ctx, q, mails...); err != nil {
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

// WithdrawWishes deletes the content of all wishes of an address and returns how many there were. A
// second call finds none.
func (s *Store) WithdrawWishes(ctx context.Context, email account.Email, by accountdb.Author,
	at time.Time,
) (withdrawn int, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		rows, err := q.WithdrawWishes(ctx, email.Key())
		if err != nil {
			return err
		}
		withdrawn = len(rows)
		for _, row := range rows {
			err := writeDeskLine(ctx, q, &DeskLine{
				At: at, Subject: WishID{row.ID}.Subject(), Actor: by.Actor, Origin: by.Origin, Action: "withdraw",
				Before: map[string]any{"status": row.BeforeStatus}, After: map[string]any{"status": WishWithdrawn},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("withdraw the wishes of an address: %w", err)
	}
	return withdrawn, nil
}

// DeleteIdleEntries deletes up to limit each of the waitlist's addresses that joined before the
// given time and were not confirmed, and of the wishes that were declined before it. It returns how
// many rows it deleted. An unanswered wish is kept, because it still needs an answer.
func (s *Store) DeleteIdleEntries(ctx context.Context, before time.Time, limit int) (int64, error) {
	page := int32(min(limit, pg.MaxPage)) //nolint:gosec // bounded
	addresses, err := s.pool.Queries().DeleteUnconfirmed(ctx, db.DeleteUnconfirmedParams{Before: before, MaxRows: page})
	if err != nil {
		return addresses, fmt.Errorf("sweep the waitlist: %w", err)
	}
	wishes, err := s.pool.Queries().DeleteDeclinedWishes(ctx,
		db.DeleteDeclinedWishesParams{Before: before, MaxRows: page})
	if err != nil {
		return addresses + wishes, fmt.Errorf("sweep the wishlist: %w", err)
	}
	return addresses + wishes, nil
}

// CountWishes counts the wishes of an address that are not withdrawn.
func (s *Store) CountWishes(ctx context.Context, email account.Email) (int, error) {
	n, err := s.pool.Queries().CountWishesOf(ctx, email.Key())
	if err != nil {
		return 0, fmt.Errorf("count the wishes of an address: %w", err)
	}
	return int(n), nil
}
