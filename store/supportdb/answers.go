package supportdb

import (
	"context"
	"errors"
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

// MaxDeskPage bounds a page of the desk's lists.
const MaxDeskPage = 1000

// Answer is the staff's answer to feedback or to a wish.
type Answer struct {
	Status string
	Reply  string // empty for none
	By     accountdb.Author
	// Seen is how many answers there were when the author read it. Nil skips the check for a
	// concurrent answer.
	Seen *int
	At   time.Time
}

// same reports whether the answer changes nothing.
func (a *Answer) same(status, reply string) bool { return a.Status == status && a.Reply == reply }

// missed reports whether somebody else answered since the author read it.
func (a *Answer) missed(answers int32) bool { return a.Seen != nil && *a.Seen != int(answers) }

func (a *Answer) line(subject string, of account.ID, before string) *DeskLine {
	return &DeskLine{
		At: a.At, Account: of, Subject: subject, Actor: a.By.Actor, Origin: a.By.Origin, Action: "answer",
		Before: map[string]any{"status": before}, After: map[string]any{"status": a.Status, "reply": a.Reply != ""},
	}
}

// AnswerFeedback records an answer to feedback of any account and queues the mails that report it.
// tell computes the mails and may be nil; it must have no side effects. It is idempotent: the same
// answer again changes nothing. It returns ErrNotFound when there is no such feedback, and
// ErrUnread when somebody else answered meanwhile.
//
//nolint:gocritic // a copy does no harm
func (s *Store) AnswerFeedback(ctx context.Context, id FeedbackID, a Answer,
	tell func(*Feedback, []TicketReader) ([]maildb.NewMail, error),
) (f Feedback, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockFeedback(ctx, id.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		if a.Reply == "" { // a status alone keeps the earlier reply
			a.Reply = row.Reply
		}
		if f = feedbackOf(row); a.same(row.Status, row.Reply) {
			return nil
		}
		if a.missed(row.Answers) {
			return ErrUnread
		}
		if err := writeDeskLine(ctx, q, a.line(id.Subject(), f.Account, row.Status)); err != nil {
			return err
		}
		if row, err = q.AnswerFeedback(ctx, db.AnswerFeedbackParams{
			ID: id.UUID, Status: a.Status, Reply: a.Reply, At: a.At,
		}); err != nil {
			return err
		}
		if f = feedbackOf(row); tell == nil {
			return nil
		}
		readers, err := ticketReaders(ctx, q, f.Account, f.User)
		if err != nil {
			return err
		}
		mails, err := tell(&f, readers)
		if err != nil {
			return err
		}
		return maildb.Queue(ctx, q, mails...)
	})
	if err != nil {
		return f, fmt.Errorf("answer feedback %s: %w", id, err)
	}
	return f, nil
}

// AnswerWish records an answer to a wish and queues the mail that reports it. tell computes the
// mail and may be nil; it must have no side effects. It is idempotent: the same answer again
// changes nothing. It returns ErrNotFound when there is no such wish, ErrUnread when somebody else
// answered meanwhile, and ErrWithdrawn when the wish was withdrawn.
//
//nolint:gocritic // a copy does no harm
func (s *Store) AnswerWish(ctx context.Context, id WishID, a Answer,
	tell func(*Wish) ([]maildb.NewMail, error),
) (w Wish, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockWish(ctx, id.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		if a.Reply == "" {
			a.Reply = row.Reply
		}
		if w, err = wishOf(&row); err != nil {
			return err
		}
		if row.Status == WishWithdrawn {
			return ErrWithdrawn
		}
		if a.same(row.Status, row.Reply) {
			return nil
		}
		if a.missed(row.Answers) {
			return ErrUnread
		}
		if err := writeDeskLine(ctx, q, a.line(id.Subject(), account.ID{}, row.Status)); err != nil {
			return err
		}
		if row, err = q.AnswerWish(ctx, db.AnswerWishParams{
			ID: id.UUID, Status: a.Status, Reply: a.Reply, At: a.At,
		}); err != nil {
			return err
		}
		if w, err = wishOf(&row); err != nil || tell == nil {
			return err
		}
		mails, err := tell(&w)
		if err != nil {
			return err
		}
		return maildb.Queue(ctx, q, mails...)
	})
	if err != nil {
		return w, fmt.Errorf("answer wish %s: %w", id, err)
	}
	return w, nil
}

func wishOf(row *db.Wishlist) (Wish, error) {
	email, refusal := account.ParseEmail(row.Email)
	if refusal != nil && row.Status != WishWithdrawn { // it was valid when it was stored
		return Wish{}, fmt.Errorf("the address of wish %s is none", row.ID)
	}
	return Wish{
		ID: WishID{row.ID}, Items: row.Items, Email: email, Channel: row.Channel, At: row.CreatedAt.UTC(),
		Status: row.Status, Reply: row.Reply, Answers: int(row.Answers), AnsweredAt: pg.UTCOrZero(row.AnsweredAt),
	}, nil
}

// WishWithdrawn is the status of a wish that the owner of its address withdrew.
const WishWithdrawn = "withdrawn"

// ErrWithdrawn reports that a wish was withdrawn and its address deleted.
var ErrWithdrawn = errors.New("store: the wish was withdrawn")

// WishStatuses lists all statuses of a wish.
func WishStatuses() []string { return append(WishAnswers(), WishWithdrawn) }

// WishAnswers lists the statuses that an answer may set on a wish.
func WishAnswers() []string { return []string{"new", "talking", "agreed", "declined"} }

// FeedbackStatuses lists all statuses of feedback.
func FeedbackStatuses() []string {
	return []string{"new", "reviewed", "planned", "shipped", "declined"}
}

// ListWishes lists wishes with these statuses, newest first, older than before; a zero id starts at
// the newest.
func (s *Store) ListWishes(ctx context.Context, statuses []string, before WishID, limit int) ([]Wish, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListWishes(ctx, db.ListWishesParams{
		Statuses: statuses, Before: orLast(before.UUID), MaxRows: int32(min(limit, MaxDeskPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list wishes: %w", err)
	}
	list := make([]Wish, len(rows))
	for i := range rows {
		if list[i], err = wishOf(&rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func orLast(id uuid.UUID) uuid.UUID {
	if id == uuid.Nil {
		return uuid.Max
	}
	return id
}

// DeskFeedback is feedback as the desk shows it: with the name and plan of its account.
type DeskFeedback struct {
	Feedback
	AccountName string // may be empty
	Plan        string
}

// ListDeskFeedback lists feedback of all accounts with these statuses, newest first, older than
// before; a zero id starts at the newest.
func (s *Store) ListDeskFeedback(ctx context.Context, statuses []string, before FeedbackID,
	limit int,
) ([]DeskFeedback, error) {
	rows, err := s.pool.Queries().ListDeskFeedback(ctx, db.ListDeskFeedbackParams{
		Statuses: statuses, Before: orLast(before.UUID), MaxRows: int32(min(limit, MaxDeskPage)),
		//nolint:gosec // bounded
	})
	if err != nil {
		return nil, fmt.Errorf("list feedback of all accounts: %w", err)
	}
	list := make([]DeskFeedback, len(rows))
	for i, r := range rows {
		list[i] = DeskFeedback{feedbackOf(db.Feedback{
			ID: r.ID, AccountID: r.AccountID, KeyID: r.KeyID, UserID: r.UserID, Kind: r.Kind, Title: r.Title,
			Body: r.Body, Chain: r.Chain, Status: r.Status, Reply: r.Reply, CreatedAt: r.CreatedAt, Answers: r.Answers,
			AnsweredAt: r.AnsweredAt,
		}), r.AccountName, r.AccountPlan}
	}
	return list, nil
}
