package supportdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

var (
	// ErrTooManyTickets reports that an account has the maximum of unresolved tickets.
	ErrTooManyTickets = errors.New("store: too many unresolved tickets")
	// ErrTooManyMessages reports that a ticket has the maximum of messages for this writer.
	ErrTooManyMessages = errors.New("store: too many messages")
	// ErrTooManyMoves reports that a customer resolved and reopened a ticket too often.
	ErrTooManyMoves = errors.New("store: resolved and reopened too often")
	// ErrUnread reports messages or answers that the writer has not read.
	ErrUnread = errors.New("store: messages came that the writer has not seen")
)

// TooManyTodayError reports that an account has filed the maximum of tickets in 24 hours.
type TooManyTodayError struct {
	Limit int
	Wait  time.Duration // until the account may file the next
}

func (e *TooManyTodayError) Error() string {
	return fmt.Sprintf("store: %d tickets within 24 hours; the next in %s", e.Limit, e.Wait)
}

// Scope limits which of an account's tickets and feedback are visible: the id of an agent or of a
// key that sees only its own. The zero Scope sees all of the account's.
type Scope struct{ uuid.UUID }

// Writer is who writes to support for an account: a key or a user.
type Writer struct {
	Account account.ID
	Key     account.KeyID   // zero for a user
	User    account.UserID  // zero for a key
	Agent   account.AgentID // of an agent's key; zero for other keys
	Scope   Scope
	Channel string // console, api or mcp
	Form    FormID // idempotency key of the form
}

// Actor returns the writer's name in messages and the log: user <id> or key <id>.
func (w *Writer) Actor() string {
	if w.User.IsZero() {
		return actorKey + w.Key.String()
	}
	return w.User.Actor()
}

const actorKey = "key "

// Ticket is a ticket as stored. Version grows with every change that its workflow must be notified
// of.
type Ticket struct {
	Number         ticket.Number
	Account        account.ID
	Key            account.KeyID  // the key that filed it; zero when a user did
	User           account.UserID // the user who filed it; zero when a key did
	Subject        string
	Category       ticket.Category
	Priority       ticket.Priority
	Channel        string
	Status         ticket.Status
	RequestID      uuid.UUID // zero when the ticket names no call
	Evidence       ticket.Evidence
	Messages       int
	CreatedAt      time.Time
	LastActivityAt time.Time
	ResolvedAt     time.Time // when it was last resolved; zero when never
	ClosedAt       time.Time // zero while it is not closed
	Version        int64
	Told           int64 // the version that its workflow was notified of
}

// TicketMessage is a message of a ticket.
type TicketMessage struct {
	Author ticket.Author
	// Writer is the customer's Writer.Actor. It is empty for other authors, and for old messages of
	// which it was not stored.
	Writer    string
	Body      string
	RequestID uuid.UUID // zero when the message names no call
	At        time.Time
}

// NewTicket is a ticket to create.
type NewTicket struct {
	Writer
	Subject   string
	Message   string
	Category  ticket.Category
	Chosen    ticket.Category // Category when the writer chose it; empty when derived
	Priority  ticket.Priority
	RequestID uuid.UUID       // zero when the ticket names no call
	Evidence  ticket.Evidence // its symptom becomes the ticket's
	At        time.Time
	Tell      TicketTelling // nil sends no mails
}

// CreateTicket inserts a ticket, or adds the message to the ticket that it joins: an unresolved one
// with the same symptom and activity within ticket.JoinWithin. Of two concurrent calls the second
// joins the first. A joined ticket keeps its category, priority and subject; a different subject is
// put in front of the message. It is idempotent by n.Form, and returns ErrFormSent when the form
// was sent before with other content. It returns ErrTooManyTickets when the account has
// ticket.MaxOpen unresolved tickets, *TooManyTodayError when it reached its daily limit, and
// ErrNotFound when there is no such account.
//
//nolint:gocritic // a copy does no harm
func (s *Store) CreateTicket(ctx context.Context, n NewTicket) (t Ticket, joined bool, err error) {
	evidence, err := json.Marshal(n.Evidence)
	if err != nil {
		return t, false, fmt.Errorf("write the evidence of a ticket: %w", err)
	}
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		// The lock keeps others from opening, joining or moving a ticket of the account.
		of, err := q.LockAccount(ctx, n.Account.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		if err := n.stays(ctx, q); err != nil {
			return err
		}
		digest := n.Form.digest(actionFile, n.Scope, n.Subject, n.Message, n.RequestID.String(), string(n.Chosen))
		if done, err := sentForm(ctx, q, n.Account, n.Form, digest); err != nil || done.Subject != "" {
			joined = done.Action == actionJoin
			t, err = madeBefore(ctx, q, done.Subject, err)
			return err
		}
		row, joins, err := findToJoin(ctx, q, &n)
		if err != nil {
			return err
		}
		joined = joins
		step := ticketStep{
			of: &of, by: ticket.Customer, actor: n.Actor(), origin: n.Channel, action: actionFile, form: n.Form,
			digest: digest, tell: n.Tell, message: TicketMessage{
				Author: ticket.Customer, Writer: n.Actor(), Body: n.Message, RequestID: n.RequestID, At: n.At,
			}, after: ticket.Open,
		}
		if joined {
			step.action, step.before = actionJoin, ticket.Status(row.Status)
			step.message.Body = ticket.UnderSubject(row.Subject, n.Subject, n.Message)
			step.after, _ = step.before.After(ticket.Move{By: ticket.Customer, Message: true})
		} else if row, err = openTicket(ctx, q, accountdb.AccountKind(of.Kind), &n, evidence); err != nil {
			return err
		}
		t, err = step.take(ctx, q, &row)
		return err
	})
	if err != nil {
		return t, false, fmt.Errorf("create a ticket of account %s: %w", n.Account, err)
	}
	return t, joined, nil
}

// madeBefore returns the current state of the ticket that a form made.
func madeBefore(ctx context.Context, q *db.Queries, reference string, err error) (Ticket, error) {
	if err != nil {
		return Ticket{}, err
	}
	number, ok := ticket.ParseReference(reference)
	if !ok {
		return Ticket{}, ErrFormSent
	}
	row, err := q.GetTicket(ctx, db.GetTicketParams{Number: int64(number)})
	if err != nil {
		return Ticket{}, pg.NotFound(err)
	}
	return ticketOf(row)
}

// findToJoin returns the ticket with the same symptom that the new one joins. A ticket that is too
// old or too full to be joined stops gathering its symptom.
func findToJoin(ctx context.Context, q *db.Queries, n *NewTicket) (row db.Ticket, joins bool, err error) {
	symptom := n.Evidence.Symptom()
	if symptom == nil {
		return row, false, nil
	}
	row, err = q.FindGatheringTicket(ctx, db.FindGatheringTicketParams{
		//nolint:gosec // five digits
		Account: n.Account.UUID, Scope: pg.NullableID(n.Scope.UUID), Code: int32(symptom.Code),
		Chain:  string(symptom.Chain),
		Method: symptom.Method,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, false, nil
	case err != nil:
		return row, false, err
	case n.At.Sub(row.LastActivityAt) <= ticket.JoinWithin && row.Messages < ticket.MaxByCustomers:
		return row, true, nil
	}
	return row, false, q.ReleaseSymptom(ctx, row.Number)
}

// openTicket inserts a ticket without its message.
func openTicket(ctx context.Context, q *db.Queries, kind accountdb.AccountKind, n *NewTicket,
	evidence []byte,
) (db.Ticket, error) {
	open, err := q.CountUnresolvedTickets(ctx, n.Account.UUID)
	if err != nil {
		return db.Ticket{}, err
	}
	if open >= ticket.MaxOpen {
		return db.Ticket{}, ErrTooManyTickets
	}
	if err := boundDay(ctx, q, kind, n); err != nil {
		return db.Ticket{}, err
	}
	p := db.InsertTicketParams{
		Account: n.Account.UUID, Key: pg.NullableID(n.Key.UUID), UserID: pg.NullableID(n.User.UUID),
		Agent: pg.NullableID(n.Agent.UUID), Scope: pg.NullableID(n.Scope.UUID), Subject: n.Subject,
		Category: string(n.Category),
		Priority: string(n.Priority), Channel: n.Channel, RequestID: pg.NullableID(n.RequestID), Evidence: evidence,
		At: n.At,
	}
	if symptom := n.Evidence.Symptom(); symptom != nil {
		code, chainID := int32(symptom.Code), string(symptom.Chain) //nolint:gosec // five digits
		p.Code, p.Chain, p.Method, p.Gathers = &code, &chainID, &symptom.Method, true
	}
	return q.InsertTicket(ctx, p)
}

// ticketDay is the window of the daily limit of tickets.
const ticketDay = 24 * time.Hour

// boundDay refuses more tickets in 24 hours than the account may file, resolved ones included.
// Accounts that are free to create have a lower limit.
func boundDay(ctx context.Context, q *db.Queries, kind accountdb.AccountKind, n *NewTicket) error {
	limit := ticket.MaxDaily
	if kind == accountdb.KindDoor || kind == accountdb.KindWallet {
		limit = ticket.MaxDailyAtDoors
	}
	leaves, err := q.GetTicketCreation(ctx, db.GetTicketCreationParams{
		Account: n.Account.UUID, Since: n.At.Add(-ticketDay), Newer: int32(limit - 1), //nolint:gosec // small
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &TooManyTodayError{limit, leaves.Add(ticketDay).Sub(n.At)}
}

// LoadTicket reads a ticket of an account with its messages, oldest first; only within scope unless
// that is zero. It returns ErrNotFound when there is none.
func (s *Store) LoadTicket(ctx context.Context, of account.ID, scope Scope,
	n ticket.Number,
) (Ticket, []TicketMessage, error) {
	var (
		t        Ticket
		messages []TicketMessage
	)
	err := s.pool.Tx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly, IsoLevel: pgx.RepeatableRead},
		func(_ pgx.Tx, q *db.Queries) error {
			row, err := q.GetTicket(ctx, db.GetTicketParams{
				Number: int64(n), Account: pg.NullableID(of.UUID), Scope: pg.NullableID(scope.UUID),
			})
			if err != nil {
				return pg.NotFound(err)
			}
			if t, err = ticketOf(row); err != nil {
				return err
			}
			rows, err := q.ListTicketMessages(ctx, row.Number)
			messages = make([]TicketMessage, len(rows))
			for i, m := range rows {
				messages[i] = TicketMessage{
					Author: ticket.Author(m.Author), Writer: m.Writer, Body: m.Body,
					RequestID: pg.IDOrZero(m.RequestID),
					At:        m.At.UTC(),
				}
			}
			// from before writers were stored
			if len(messages) > 0 && messages[0].Author == ticket.Customer && messages[0].Writer == "" {
				messages[0].Writer = (&Writer{Key: t.Key, User: t.User}).Actor()
			}
			return err
		})
	if err != nil {
		return t, nil, fmt.Errorf("load ticket %s: %w", n.Reference(), err)
	}
	return t, messages, nil
}

// TicketFilter selects tickets of an account.
type TicketFilter struct {
	Account  account.ID
	Scope    Scope // zero for all
	Statuses []ticket.Status
	Before   ticket.Number // only older ones; zero for the newest
	Limit    int
}

// ListTickets lists the tickets that the filter selects, newest first.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ListTickets(ctx context.Context, f TicketFilter) ([]Ticket, error) {
	p := db.ListTicketsParams{
		//nolint:gosec // bounded
		Account: f.Account.UUID, Before: int64(f.Before), Scope: pg.NullableID(f.Scope.UUID),
		MaxRows: int32(min(f.Limit, maxTicketPage)),
	}
	if f.Before == 0 {
		p.Before = math.MaxInt64
	}
	for _, status := range f.Statuses {
		p.Statuses = append(p.Statuses, string(status))
	}
	rows, err := s.pool.Queries().ListTickets(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list tickets of account %s: %w", f.Account, err)
	}
	list := make([]Ticket, len(rows))
	for i := range rows {
		if list[i], err = ticketOf(rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

const maxTicketPage = 1000

func ticketOf(row db.Ticket) (Ticket, error) { //nolint:gocritic // the row is a copy already
	t := Ticket{
		Number: ticket.Number(row.Number), Account: account.ID{UUID: row.AccountID},
		Key: account.KeyID{UUID: pg.IDOrZero(row.KeyID)}, User: account.UserID{UUID: pg.IDOrZero(row.UserID)},
		Subject:  row.Subject,
		Category: ticket.Category(row.Category), Priority: ticket.Priority(row.Priority), Channel: row.Channel,
		Status: ticket.Status(row.Status), RequestID: pg.IDOrZero(row.RequestID), Messages: int(row.Messages),
		CreatedAt: row.CreatedAt.UTC(), LastActivityAt: row.LastActivityAt.UTC(),
		ResolvedAt: pg.UTCOrZero(row.ResolvedAt),
		ClosedAt:   pg.UTCOrZero(row.ClosedAt), Version: row.Version, Told: row.ToldVersion,
	}
	if err := json.Unmarshal(row.Evidence, &t.Evidence); err != nil {
		return t, fmt.Errorf("evidence of ticket %s: %w", t.Number.Reference(), err)
	}
	return t, nil
}

// stays returns an error when the writing key has left the account, which is locked: an owner may
// have just adopted it. A retry then writes for the key's new account.
func (w *Writer) stays(ctx context.Context, q *db.Queries) error {
	if w.Key.IsZero() {
		return nil
	}
	key, err := q.GetKey(ctx, w.Key.UUID)
	if err == nil && key.AccountID != w.Account.UUID {
		return fmt.Errorf("key %s has just moved to another account", w.Key)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
