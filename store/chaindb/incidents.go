package chaindb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// IncidentID identifies an incident (UUIDv7).
type IncidentID struct{ uuid.UUID }

// Incident is a period in which a chain was down.
type Incident struct {
	ID        IncidentID
	Chain     string
	BeganAt   time.Time
	Confirmed time.Time // when it had lasted long enough; zero before
	EndedAt   time.Time // zero while it lasts
	// BeganTold is when all mails about its beginning were queued, or were no longer needed.
	BeganTold time.Time
	place     Reader // the last reader whose mail was queued
}

// Over reports whether the incident has ended, so that its end is to be reported.
func (i *Incident) Over() bool { return !i.EndedAt.IsZero() }

// Patience is how observations of a chain become incidents.
type Patience struct {
	After time.Duration // how long a chain must be down, or up again, before that counts
	Gap   time.Duration // a longer gap between two measurements restarts the count
}

// ObserveChain records that a chain was measured as down or up at a time. It returns the incident
// that this confirmed or ended, or nil. A measurement older than the newest one is ignored.
func (s *Store) ObserveChain(ctx context.Context, chain string, down bool, at time.Time,
	p Patience,
) (*Incident, error) {
	var news *Incident
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) (err error) {
		if down {
			news, err = observeDown(ctx, q, chain, at, p)
		} else {
			news, err = observeWell(ctx, q, chain, at, p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("note the state of %s: %w", chain, err)
	}
	return news, nil
}

func observeDown(ctx context.Context, q *db.Queries, chain string, at time.Time, p Patience) (*Incident, error) {
	row, err := q.ObserveDown(ctx, db.ObserveDownParams{
		ID: uuid.Must(uuid.NewV7()), Chain: chain, At: at, GapSeconds: p.Gap.Seconds(), AfterSeconds: p.After.Seconds(),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no change
	}
	if err != nil || row.ConfirmedAt == nil || !row.ConfirmedAt.Equal(row.SeenAt) {
		return nil, err
	}
	return incidentOf(row), nil
}

func observeWell(ctx context.Context, q *db.Queries, chain string, at time.Time, p Patience) (*Incident, error) {
	if err := q.DropUnconfirmed(ctx, db.DropUnconfirmedParams{Chain: chain, At: at}); err != nil {
		return nil, err
	}
	if err := q.ObserveWell(ctx, db.ObserveWellParams{Chain: chain, At: at, GapSeconds: p.Gap.Seconds()}); err != nil {
		return nil, err
	}
	row, err := q.EndIncident(ctx, db.EndIncidentParams{Chain: chain, AfterSeconds: p.After.Seconds()})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no change
	}
	if err != nil {
		return nil, err
	}
	return incidentOf(row), nil
}

// EndUnservedIncidents ends the incidents of chains that are not in served and were not measured
// since the given time, and returns them. Each ends when its chain was last seen, or when it came
// up before that. Unconfirmed ones are deleted.
func (s *Store) EndUnservedIncidents(ctx context.Context, served []chain.ID, since time.Time) ([]Incident, error) {
	names := make([]string, len(served))
	for i, id := range served {
		names[i] = string(id)
	}
	rows, err := s.pool.Queries().EndUnservedIncidents(ctx,
		db.EndUnservedIncidentsParams{Served: names, UnseenSince: since})
	if err != nil {
		return nil, fmt.Errorf("end incidents of chains that are not served: %w", err)
	}
	ended := make([]Incident, len(rows))
	for i, row := range rows {
		ended[i] = *incidentOf(row)
	}
	return ended, nil
}

// ListUntoldIncidents reads incidents whose beginning or end is not yet reported to all readers,
// oldest first.
func (s *Store) ListUntoldIncidents(ctx context.Context, limit int) ([]Incident, error) {
	rows, err := s.pool.Queries().ListUntoldIncidents(ctx, int32(min(limit, pg.MaxPage))) //nolint:gosec // bounded
	if err != nil {
		return nil, fmt.Errorf("list incidents that are to be told: %w", err)
	}
	all := make([]Incident, len(rows))
	for i, row := range rows {
		all[i] = *incidentOf(row)
	}
	return all, nil
}

// Reader is a user who gets a mail about an account.
type Reader struct {
	Account account.ID
	User    account.UserID
	Email   account.Email
	Name    string // the account's name; may be empty
	Zone    string
}

// ListReaders reads up to limit of the next readers of an incident. Its beginning goes to users of
// accounts that want incident mails and called the chain since the given time; its end goes to
// users who were told of its beginning.
func (s *Store) ListReaders(ctx context.Context, i *Incident, since time.Time, limit int) ([]Reader, error) {
	if i.Over() {
		prefix := i.Reason("")
		rows, err := s.pool.Queries().ListToldReaders(ctx, db.ListToldReadersParams{
			Prefix: prefix, PrefixEnd: prefix + "~", AfterAccount: i.place.Account.UUID, AfterUser: i.place.User.UUID,
			Topic: string(account.TopicIncidents), MaxRows: int32(min(limit, pg.MaxPage)), //nolint:gosec // bounded
		})
		return readersOf(i, rows, err, func(r db.ListToldReadersRow) db.ListIncidentReadersRow {
			return db.ListIncidentReadersRow(r)
		})
	}
	rows, err := s.pool.Queries().ListIncidentReaders(ctx, db.ListIncidentReadersParams{
		AfterAccount: i.place.Account.UUID, AfterUser: i.place.User.UUID, Topic: string(account.TopicIncidents),
		Chain: i.Chain, Since: since, MaxRows: int32(min(limit, pg.MaxPage)), //nolint:gosec // bounded
	})
	return readersOf(i, rows, err, func(r db.ListIncidentReadersRow) db.ListIncidentReadersRow { return r })
}

func readersOf[R any](i *Incident, rows []R, err error, row func(R) db.ListIncidentReadersRow) ([]Reader, error) {
	if err != nil {
		return nil, fmt.Errorf("list who is told of incident %s: %w", i.ID, err)
	}
	readers := make([]Reader, len(rows))
	for n := range rows {
		r := row(rows[n])
		readers[n] = Reader{
			Account: account.ID{UUID: r.AccountID}, User: account.UserID{UUID: r.UserID},
			Email: account.RecordedEmail(r.Email, r.EmailKey), Name: r.Name, Zone: r.TimeZone,
		}
	}
	return readers, nil
}

// Reason is the deduplication key of the mail to a user that the incident began. An empty user
// returns the common prefix.
func (i *Incident) Reason(user string) string { return "incident/" + i.ID.String() + "/began/" + user }

// OverReason is the deduplication key of the mail to a user that the incident is over.
func (i *Incident) OverReason(user string) string {
	return "incident/" + i.ID.String() + "/over/" + user
}

// TellIncident queues mails and stores their last reader, in PostgreSQL and in i, so that the next
// page continues after it. A nil last marks all readers as told. It does nothing when the incident
// changed meanwhile, for example when it ended: ListUntoldIncidents returns it again.
func (s *Store) TellIncident(ctx context.Context, i *Incident, last *Reader, mails ...maildb.NewMail) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		now, err := q.LockIncident(ctx, i.ID.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		if (now.EndedAt != nil) != i.Over() || now.OverToldAt != nil || (!i.Over() && now.BeganToldAt != nil) {
			return nil
		}
		if err := maildb.Queue(ctx, q, mails...); err != nil {
			return err
		}
		switch {
		case last != nil:
			return q.MoveIncidentPlace(ctx, db.MoveIncidentPlaceParams{
				ToldAccount: last.Account.UUID, ToldUser: last.User.UUID, ID: i.ID.UUID,
			})
		case i.Over():
			return q.EndTellingOver(ctx, i.ID.UUID)
		}
		return q.EndTellingBegan(ctx, i.ID.UUID)
	})
	if err != nil {
		return fmt.Errorf("tell of incident %s: %w", i.ID, err)
	}
	if last != nil {
		i.place = *last
	}
	return nil
}

func incidentOf(row db.Incident) *Incident {
	i := &Incident{
		ID: IncidentID{row.ID}, Chain: row.Chain, BeganAt: row.BeganAt.UTC(), Confirmed: pg.UTCOrZero(row.ConfirmedAt),
		EndedAt: pg.UTCOrZero(row.EndedAt), BeganTold: pg.UTCOrZero(row.BeganToldAt),
	}
	if row.ToldAccount != nil && row.ToldUser != nil {
		i.place = Reader{Account: account.ID{UUID: *row.ToldAccount}, User: account.UserID{UUID: *row.ToldUser}}
	}
	return i
}
