package supportdb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// ErrFormSent reports that a form with this id was sent before with other content.
var ErrFormSent = errors.New("store: the form was sent before and said something else")

// FormID is the idempotency key of a form: its content is applied once, however often it is sent.
// Zero means no form.
type FormID struct{ uuid.UUID }

// digest returns the SHA-256 of a form's content: the action, the scope and every field. It
// distinguishes a retry of the same form from a form that was changed in between.
func (f FormID) digest(action string, of Scope, content ...string) []byte {
	if f.UUID == uuid.Nil {
		return nil
	}
	h := sha256.New()
	for _, field := range append([]string{action, of.String()}, content...) {
		_, _ = fmt.Fprintf(h, "%d:%s", len(field), field) // a hash never fails
	}
	return h.Sum(nil)
}

// DeskLine is a line of the desk's log: who did what about a ticket, feedback or a wish, and when.
// It holds no text that people wrote.
type DeskLine struct {
	At            time.Time
	Account       account.ID // zero for none
	Subject       string     // reference of a ticket, feedback/<id>, wish/<id> or staff/<user>
	Actor         string     // user <id>, key <id>, an operator, or service
	Origin        string     // console, api, mcp, ops or worker
	Action        string
	Before, After map[string]any
	Form          FormID
	FormDigest    []byte // nil without a form
}

func writeDeskLine(ctx context.Context, q *db.Queries, l *DeskLine) error {
	values := func(m map[string]any) []byte {
		if m == nil {
			m = map[string]any{}
		}
		return pg.JSON(m)
	}
	return q.InsertDeskLine(ctx, db.InsertDeskLineParams{
		At: l.At, Account: pg.NullableID(l.Account.UUID), Subject: l.Subject, Actor: l.Actor, Origin: l.Origin,
		Action: l.Action, Before: values(l.Before), After: values(l.After), Form: pg.NullableID(l.Form.UUID),
		FormDigest: l.FormDigest,
	})
}

// sentForm returns what a form did that was sent before with the same digest; its subject is empty
// when the form was not sent. It returns ErrFormSent when the digest differs. The caller holds the
// account's lock, so no two forms run at once.
func sentForm(ctx context.Context, q *db.Queries, of account.ID, form FormID,
	digest []byte,
) (done db.FindSentFormRow, err error) {
	if form.UUID == uuid.Nil {
		return done, nil
	}
	done, err = q.FindSentForm(ctx, db.FindSentFormParams{Account: of.UUID, Form: form.UUID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return done, nil
	case err == nil && !bytes.Equal(done.FormDigest, digest):
		return done, ErrFormSent
	}
	return done, err
}

// maxDeskLines bounds the lines that are read of one subject. Customers' lines are bounded
// elsewhere; staff's only by the rate of requests.
const maxDeskLines = 1000

// ListDeskLines reads the newest maxDeskLines lines about a subject, oldest first.
func (s *Store) ListDeskLines(ctx context.Context, subject string) ([]DeskLine, error) {
	rows, err := s.pool.Queries().ListDeskLines(ctx, db.ListDeskLinesParams{Subject: subject, MaxRows: maxDeskLines})
	if err != nil {
		return nil, fmt.Errorf("list what was done about %s: %w", subject, err)
	}
	slices.Reverse(rows)
	lines := make([]DeskLine, len(rows))
	for i, row := range rows {
		lines[i] = DeskLine{
			At: row.At.UTC(), Account: account.ID{UUID: pg.IDOrZero(row.AccountID)}, Subject: row.Subject,
			Actor:  row.Actor,
			Origin: row.Origin, Action: row.Action,
		}
		if err := errors.Join(json.Unmarshal(row.Before, &lines[i].Before),
			json.Unmarshal(row.After, &lines[i].After)); err != nil {
			return nil, fmt.Errorf("line of %s: %w", subject, err)
		}
	}
	return lines, nil
}
