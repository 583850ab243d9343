package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/store/db"
)

// MaxFeedback is how much feedback an account may give.
const MaxFeedback = 1000

// ErrTooMuchFeedback says that an account has given as much feedback as it may.
var ErrTooMuchFeedback = errors.New("store: too much feedback")

// FeedbackID names a piece of feedback (UUIDv7), in the order of time.
type FeedbackID struct{ uuid.UUID }

// NewFeedbackID makes an id.
func NewFeedbackID() FeedbackID { return FeedbackID{uuid.Must(uuid.NewV7())} }

// Feedback is what somebody thinks of the service, and what became of it.
type Feedback struct {
	ID        FeedbackID
	Kind      string
	Title     string
	Body      string   // may be empty
	Chain     chain.ID // empty for none
	Status    string
	Reply     string // of the service; empty for none
	CreatedAt time.Time
}

// SubmitFeedback records feedback of an account and gives it back. ErrTooMuchFeedback when the account has given a thousand.
func (s *Store) SubmitFeedback(ctx context.Context, by Writer, f Feedback) (Feedback, error) { //nolint:gocritic // a copy does no harm
	err := s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockAccount(ctx, by.Account.UUID); err != nil { // so that no two are counted at once
			return found(err)
		}
		given, err := q.CountFeedback(ctx, by.Account.UUID)
		if err != nil {
			return err
		}
		if given >= MaxFeedback {
			return ErrTooMuchFeedback
		}
		row, err := q.InsertFeedback(ctx, db.InsertFeedbackParams{
			ID: f.ID.UUID, Account: by.Account.UUID, Key: optional(by.Key.UUID), UserID: optional(by.User.UUID), Agent: optional(by.Agent.UUID),
			Scope: optional(by.Scope.UUID), Kind: f.Kind, Title: f.Title, Body: f.Body, Chain: string(f.Chain), Channel: by.Channel, At: f.CreatedAt,
		})
		f = feedbackOf(row)
		return err
	})
	if err != nil {
		return Feedback{}, fmt.Errorf("record feedback of account %s: %w", by.Account, err)
	}
	return f, nil
}

// AnswerFeedback records what the service makes of feedback, of whichever account. ErrNotFound when there is none.
func (s *Store) AnswerFeedback(ctx context.Context, id FeedbackID, status, reply string) (Feedback, error) {
	row, err := s.queries().AnswerFeedback(ctx, db.AnswerFeedbackParams{ID: id.UUID, Status: status, Reply: reply})
	if err != nil {
		return Feedback{}, fmt.Errorf("answer feedback %s: %w", id, found(err))
	}
	return feedbackOf(row), nil
}

// FeedbackFilter chooses feedback of an account.
type FeedbackFilter struct {
	Account account.ID
	Scope   Scope      // zero for all
	Status  string     // empty for all
	Before  FeedbackID // only older one; zero for the newest
	Limit   int
}

// ListFeedback lists feedback, newest first.
func (s *Store) ListFeedback(ctx context.Context, f FeedbackFilter) ([]Feedback, error) { //nolint:gocritic // a copy does no harm
	p := db.ListFeedbackParams{
		Account: f.Account.UUID, Before: f.Before.UUID, Scope: optional(f.Scope.UUID), Most: int32(min(f.Limit, MaxFeedback)), //nolint:gosec // bounded
	}
	if p.Before == uuid.Nil {
		p.Before = uuid.Max
	}
	if f.Status != "" {
		p.Status = &f.Status
	}
	rows, err := s.queries().ListFeedback(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list feedback of account %s: %w", f.Account, err)
	}
	list := make([]Feedback, len(rows))
	for i := range rows {
		list[i] = feedbackOf(rows[i])
	}
	return list, nil
}

func feedbackOf(row db.Feedback) Feedback { //nolint:gocritic // the row is a copy already
	return Feedback{
		ID: FeedbackID{row.ID}, Kind: row.Kind, Title: row.Title, Body: row.Body, Chain: chain.ID(row.Chain), Status: row.Status, Reply: row.Reply,
		CreatedAt: row.CreatedAt.UTC(),
	}
}

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
}

// JoinWishlist records a wish with the mail that tells of it, and says whether the mail waits to be sent: not when its recipient has got too
// many of the kind in 24 hours.
func (s *Store) JoinWishlist(ctx context.Context, w Wish, mail NewMail) (queued bool, err error) { //nolint:gocritic // copies do no harm
	err = s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		err := q.InsertWish(ctx, db.InsertWishParams{ID: w.ID.UUID, Items: w.Items, Email: w.Email.Address(), Channel: w.Channel, At: w.At})
		if err != nil {
			return err
		}
		if err := queueMails(ctx, q, mail); err != nil {
			return err
		}
		row, err := q.FindMail(ctx, mail.Reason)
		queued = row.FailedAt == nil
		return err
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

// JoinWaitlist puts an address on the list and says whether it was there: then nothing changes, for nobody proved that the address is theirs.
func (s *Store) JoinWaitlist(ctx context.Context, w Waiting) (already bool, err error) { //nolint:gocritic // a copy does no harm
	n, err := s.queries().JoinWaitlist(ctx, db.JoinWaitlistParams{
		EmailKey: w.Email.Key(), Email: w.Email.Address(), Qualifier: w.Qualifier, Source: w.Source, ProductUpdates: w.ProductUpdates, Channel: w.Channel, At: w.At,
	})
	if err != nil {
		return false, fmt.Errorf("put an address on the waitlist: %w", err)
	}
	return n == 0, nil
}
