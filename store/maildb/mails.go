package maildb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// MailID identifies a mail of the outbox (UUIDv7).
type MailID struct{ uuid.UUID }

// NewMailID returns a new mail id.
func NewMailID() MailID { return MailID{uuid.Must(uuid.NewV7())} }

// NewMail is a mail for the outbox, already encrypted by package outbox. It is queued in the
// transaction that records the fact it reports.
type NewMail struct {
	ID MailID
	// Reason is the deduplication key, such as adopted/<key>/<user>: at most 200 characters,
	// without an address. Queueing a second mail with the same reason changes nothing.
	Reason          string
	Kind            string
	Account         account.ID // zero for a mail of no account
	RecipientDigest []byte     // SHA-256 size
	Recipient       []byte     // encrypted
	Payload         []byte     // encrypted
	Expires         time.Time  // not sent from then on
	// MaxOfRecipient is how many mails of the kind the recipient may get in 24 hours, without those
	// that failed. A mail beyond it is stored as failed. That is no error, so that the transaction
	// does not fail. Two concurrent transactions may exceed it by one.
	MaxOfRecipient int
	// MaxOfAccount is how many of them may be about one account, so that one account cannot use up
	// the others' share; zero for MaxOfRecipient.
	MaxOfAccount int
}

// Failure classes that the store itself sets.
const (
	MailCrowded = "crowded" // the recipient got too many of the kind
	MailExpired = "expired"
)

// QueueMail queues mails in one transaction.
func (s *Store) QueueMail(ctx context.Context, mails ...NewMail) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error { return Queue(ctx, q, mails...) })
	if err != nil {
		return fmt.Errorf("queue %d mails: %w", len(mails), err)
	}
	return nil
}

// Queue queues mails in the transaction of q.
func Queue(ctx context.Context, q *db.Queries, mails ...NewMail) error {
	for i := range mails {
		m := &mails[i]
		p := db.InsertMailParams{
			ID: m.ID.UUID, Reason: m.Reason, Kind: m.Kind, RecipientDigest: m.RecipientDigest, Recipient: m.Recipient,
			//nolint:gosec // bounded
			Payload: m.Payload, ExpiresAt: m.Expires, FullClass: MailCrowded,
			MaxOfRecipient: int32(min(m.MaxOfRecipient, maxMails)),
			MaxOfAccount:   maxMails,
		}
		if m.MaxOfAccount > 0 {
			p.MaxOfAccount = int32(min(m.MaxOfAccount, maxMails)) //nolint:gosec // bounded
		}
		if m.Account != (account.ID{}) {
			p.AccountID = &m.Account.UUID
		}
		if _, err := q.InsertMail(ctx, p); err != nil {
			return fmt.Errorf("queue the mail %s: %w", m.ID, err)
		}
	}
	return nil
}

const maxMails = 1000

// ClaimedMail is a mail that the caller may send until its lease ends.
type ClaimedMail struct {
	ID        MailID
	Kind      string
	Recipient []byte // encrypted
	Payload   []byte // encrypted
	Attempt   int    // 1 for the first
	CreatedAt time.Time
	Expires   time.Time
}

// ClaimMails leases up to limit due mails to the caller, earliest expiry first. No other caller
// gets them before the lease ends.
func (s *Store) ClaimMails(ctx context.Context, lease time.Duration, limit int) ([]ClaimedMail, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ClaimMails(ctx, db.ClaimMailsParams{
		LeaseSeconds: lease.Seconds(), MaxRows: int32(min(limit, maxMails)),
	})
	if err != nil {
		return nil, fmt.Errorf("claim mails: %w", err)
	}
	claimed := make([]ClaimedMail, len(rows))
	for i, row := range rows {
		claimed[i] = ClaimedMail{
			ID: MailID{row.ID}, Kind: row.Kind, Recipient: row.Recipient, Payload: row.Payload,
			Attempt: int(row.Attempts), CreatedAt: row.CreatedAt.UTC(), Expires: row.ExpiresAt.UTC(),
		}
	}
	return claimed, nil
}

// EndMail records that a mail was sent, and deletes its content.
func (s *Store) EndMail(ctx context.Context, id MailID) error {
	if _, err := s.pool.Queries().EndMail(ctx, id.UUID); err != nil {
		return fmt.Errorf("end mail %s: %w", id, err)
	}
	return nil
}

// RetryMail records a failed attempt and makes the mail due again after a delay. It does nothing
// when another caller claimed the mail meanwhile.
func (s *Store) RetryMail(ctx context.Context, id MailID, attempt int, after time.Duration, class string) error {
	//nolint:gosec // counted in PostgreSQL
	p := db.RetryMailParams{ID: id.UUID, Attempts: int32(attempt), AfterSeconds: after.Seconds(), Class: class}
	if _, err := s.pool.Queries().RetryMail(ctx, p); err != nil {
		return fmt.Errorf("put off mail %s: %w", id, err)
	}
	return nil
}

// GiveUpMail records that a mail will not be sent, and deletes its content. It does nothing when
// another caller claimed the mail meanwhile.
func (s *Store) GiveUpMail(ctx context.Context, id MailID, attempt int, class string) error {
	//nolint:gosec // counted in PostgreSQL
	p := db.GiveUpMailParams{ID: id.UUID, Attempts: int32(attempt), Class: class}
	if _, err := s.pool.Queries().GiveUpMail(ctx, p); err != nil {
		return fmt.Errorf("give up mail %s: %w", id, err)
	}
	return nil
}

// ExpireMails marks up to limit expired mails as failed, deletes their content and returns their
// kinds.
func (s *Store) ExpireMails(ctx context.Context, limit int) ([]string, error) {
	//nolint:gosec // bounded
	kinds, err := s.pool.Queries().ExpireMails(ctx, db.ExpireMailsParams{
		Class: MailExpired, MaxRows: int32(min(limit, maxMails)),
	})
	if err != nil {
		return nil, fmt.Errorf("expire mails: %w", err)
	}
	return kinds, nil
}

// WaitingMails is how many mails of a kind are neither sent nor given up.
type WaitingMails struct {
	Kind   string
	Count  int
	Oldest time.Time // when the oldest was queued
}

// CountWaitingMails counts the waiting mails by kind.
func (s *Store) CountWaitingMails(ctx context.Context) ([]WaitingMails, error) {
	rows, err := s.pool.Queries().CountOpenMails(ctx)
	if err != nil {
		return nil, fmt.Errorf("count waiting mails: %w", err)
	}
	waiting := make([]WaitingMails, len(rows))
	for i, row := range rows {
		waiting[i] = WaitingMails{Kind: row.Kind, Count: int(row.Waiting), Oldest: row.Oldest.UTC()}
	}
	return waiting, nil
}

// ForgetMails deletes up to limit mails that were sent or given up and were queued before the given
// time, and returns how many. Their reasons may be used again.
func (s *Store) ForgetMails(ctx context.Context, before time.Time, limit int) (int, error) {
	//nolint:gosec // bounded
	n, err := s.pool.Queries().ForgetMails(ctx,
		db.ForgetMailsParams{Before: before, MaxRows: int32(min(limit, maxMails))})
	if err != nil {
		return 0, fmt.Errorf("forget mails: %w", err)
	}
	return int(n), nil
}

// MailState is the delivery state of a mail.
type MailState struct {
	ID        MailID
	Kind      string
	Attempts  int
	Due       time.Time // time of the next attempt
	SentAt    time.Time // zero while it is not sent
	FailedAt  time.Time // zero unless it was given up
	LastError string    // class of the last failure; empty when there was none
	Wiped     bool      // whether recipient and payload are deleted
}

// FindMail reads the state of a mail by its reason. It returns ErrNotFound when there is none.
func (s *Store) FindMail(ctx context.Context, reason string) (MailState, error) {
	row, err := s.pool.Queries().FindMail(ctx, reason)
	if err != nil {
		return MailState{}, fmt.Errorf("find a mail by its reason: %w", pg.NotFound(err))
	}
	state := MailState{
		ID: MailID{row.ID}, Kind: row.Kind, Attempts: int(row.Attempts), Due: row.DueAt.UTC(),
		SentAt: pg.UTCOrZero(row.SentAt), FailedAt: pg.UTCOrZero(row.FailedAt), Wiped: row.Recipient == nil &&
			row.Payload == nil,
	}
	if row.LastError != nil {
		state.LastError = *row.LastError
	}
	return state, nil
}
