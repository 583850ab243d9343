package supportdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// MaxFeedback is how many pieces of feedback an account may submit.
const MaxFeedback = 1000

// ErrTooMuchFeedback reports that an account has submitted MaxFeedback pieces.
var ErrTooMuchFeedback = errors.New("store: too much feedback")

// FeedbackID identifies a piece of feedback (UUIDv7); ids are ordered by time.
type FeedbackID struct{ uuid.UUID }

// NewFeedbackID returns a new id.
func NewFeedbackID() FeedbackID { return FeedbackID{uuid.Must(uuid.NewV7())} }

// Feedback is a piece of feedback and its answer.
type Feedback struct {
	ID        FeedbackID
	Kind      string
	Title     string
	Body      string   // may be empty
	Chain     chain.ID // empty for none
	Status    string
	Reply     string // the staff's reply; empty for none
	CreatedAt time.Time
	Account   account.ID
	User      account.UserID // who submitted it; zero when a key did
	Key       account.KeyID  // the key that submitted it; zero when a user did
	// Answers is how many times the staff answered; AnsweredAt is the last time.
	Answers    int
	AnsweredAt time.Time
}

// Subject is the feedback's name in the desk's log.
func (id FeedbackID) Subject() string { return "feedback/" + id.String() }

// FeedbackTelling returns the mails about new feedback. The account's name may be empty. It runs
// inside the transaction and must have no side effects.
type FeedbackTelling func(f *Feedback, accountName string) ([]maildb.NewMail, error)

// SubmitFeedback inserts feedback of an account and returns it. It is idempotent by by.Form: a form
// that was sent before returns the feedback that it made, or ErrFormSent when its content differs.
// It returns ErrTooMuchFeedback when the account has submitted MaxFeedback pieces. tell may be nil.
//
//nolint:gocritic // copies do no harm
func (s *Store) SubmitFeedback(ctx context.Context, by Writer, f Feedback, tell FeedbackTelling) (Feedback, error) {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		of, err := q.LockAccount(ctx, by.Account.UUID) // serializes the count
		if err != nil {
			return pg.NotFound(err)
		}
		if err := by.stays(ctx, q); err != nil {
			return err
		}
		digest := by.Form.digest(actionGive, by.Scope, f.Kind, f.Title, f.Body, string(f.Chain))
		if done, err := sentForm(ctx, q, by.Account, by.Form, digest); err != nil || done.Subject != "" {
			f, err = givenBefore(ctx, q, done.Subject, err)
			return err
		}
		given, err := q.CountFeedback(ctx, by.Account.UUID)
		if err != nil {
			return err
		}
		if given >= MaxFeedback {
			return ErrTooMuchFeedback
		}
		row, err := q.InsertFeedback(ctx, db.InsertFeedbackParams{
			ID: f.ID.UUID, Account: by.Account.UUID, Key: pg.NullableID(by.Key.UUID),
			UserID: pg.NullableID(by.User.UUID),
			Agent:  pg.NullableID(by.Agent.UUID), Scope: pg.NullableID(by.Scope.UUID), Kind: f.Kind, Title: f.Title,
			Body:  f.Body,
			Chain: string(f.Chain), Channel: by.Channel, At: f.CreatedAt,
		})
		if err != nil {
			return err
		}
		f = feedbackOf(row)
		err = writeDeskLine(ctx, q, &DeskLine{
			At: f.CreatedAt, Account: by.Account, Subject: f.ID.Subject(), Actor: by.Actor(), Origin: by.Channel,
			Action: actionGive, Form: by.Form, FormDigest: digest,
		})
		if err != nil || tell == nil {
			return err
		}
		mails, err := tell(&f, of.Name)
		if err != nil {
			return err
		}
		return maildb.Queue(ctx, q, mails...)
	})
	if err != nil {
		return Feedback{}, fmt.Errorf("record feedback of account %s: %w", by.Account, err)
	}
	return f, nil
}

// givenBefore returns the feedback that a form made.
func givenBefore(ctx context.Context, q *db.Queries, subject string, err error) (Feedback, error) {
	if err != nil {
		return Feedback{}, err
	}
	id, err := uuid.Parse(strings.TrimPrefix(subject, "feedback/"))
	if err != nil {
		return Feedback{}, ErrFormSent
	}
	row, err := q.LockFeedback(ctx, id)
	if err != nil {
		return Feedback{}, pg.NotFound(err)
	}
	return feedbackOf(row), nil
}

// FeedbackFilter selects feedback of an account.
type FeedbackFilter struct {
	Account account.ID
	Scope   Scope      // zero for all
	Status  string     // empty for all
	Before  FeedbackID // only older feedback; zero for the newest
	Limit   int
}

// ListFeedback lists the feedback that the filter selects, newest first.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ListFeedback(ctx context.Context, f FeedbackFilter) ([]Feedback, error) {
	p := db.ListFeedbackParams{
		//nolint:gosec // bounded
		Account: f.Account.UUID, Before: f.Before.UUID, Scope: pg.NullableID(f.Scope.UUID),
		MaxRows: int32(min(f.Limit, MaxFeedback)),
	}
	if p.Before == uuid.Nil {
		p.Before = uuid.Max
	}
	if f.Status != "" {
		p.Status = &f.Status
	}
	rows, err := s.pool.Queries().ListFeedback(ctx, p)
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
		ID: FeedbackID{row.ID}, Kind: row.Kind, Title: row.Title, Body: row.Body, Chain: chain.ID(row.Chain),
		Status: row.Status, Reply: row.Reply, CreatedAt: row.CreatedAt.UTC(), Account: account.ID{
			UUID: row.AccountID,
		}, User: account.UserID{UUID: pg.IDOrZero(row.UserID)},
		Key: account.KeyID{UUID: pg.IDOrZero(row.KeyID)}, Answers: int(row.Answers),
		AnsweredAt: pg.UTCOrZero(row.AnsweredAt),
	}
}
