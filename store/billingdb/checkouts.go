package billingdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// CheckoutID identifies a checkout (UUIDv7). Stripe's session carries it.
type CheckoutID struct{ uuid.UUID }

// NewCheckoutID returns a new checkout id.
func NewCheckoutID() CheckoutID { return CheckoutID{uuid.Must(uuid.NewV7())} }

// ParseCheckoutID parses the canonical form of a checkout id.
func ParseCheckoutID(text string) (CheckoutID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text {
		return CheckoutID{}, fmt.Errorf("%q is no checkout id", text)
	}
	return CheckoutID{id}, nil
}

// CheckoutState is the state of a checkout.
type CheckoutState string

// The states of a checkout. An open one can change to any other. Because money may arrive late, an
// expired or failed one can still become paid or refunded. A paid one can become refunded.
const (
	CheckoutOpen     CheckoutState = "open"
	CheckoutPaid     CheckoutState = "paid"
	CheckoutExpired  CheckoutState = "expired"
	CheckoutRefunded CheckoutState = "refunded" // paid, then sent back: another was paid before
	CheckoutFailed   CheckoutState = "failed"   // Stripe did not create a session
)

// Checkout is an attempt to pay for an item. While it is open it holds a seat of the offer, if the
// item is one.
type Checkout struct {
	ID        CheckoutID
	Account   account.ID
	Item      string // plan.Item.Key
	Country   string // the country that VAT was decided for
	Evidence  string // plan.TaxPlace as text, the basis of Country; written, not read back
	Session   string // Stripe's session id; empty until it is created
	State     CheckoutState
	OpenedAt  time.Time
	ExpiresAt time.Time
	EndedAt   time.Time // zero while open
}

// maxOpenCheckouts bounds the open checkouts of an account, for plans and for packs separately:
// keys that buy packs cannot keep an owner from buying a plan.
const maxOpenCheckouts = 10

// OpenCheckout inserts a checkout before Stripe is asked for its session. It returns
// fault.FieldRefused when the item's offer is over or sold out, or when the account has too many
// open checkouts.
//
//nolint:gocritic // a copy does no harm
func (s *Store) OpenCheckout(ctx context.Context, c Checkout) (Checkout, error) {
	var opened Checkout
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		if _, err := q.LockAccount(ctx, c.Account.UUID); err != nil {
			return pg.NotFound(err)
		}
		sold, _ := plan.FindItem(c.Item)
		open, err := q.CountOpenCheckouts(ctx, db.CountOpenCheckoutsParams{
			Account: c.Account.UUID, Packs: sold.IsPack(), Item: c.Item,
		})
		switch {
		case err != nil:
			return err
		case open.Alike >= maxOpenCheckouts:
			return fault.New(fault.FieldRefused,
				"%d checkouts of this kind are open for this account. Pay or leave one of them; each ends by itself "+
					"within an hour.", open.Alike)
		case c.Item == plan.Founding().Key && open.Same > 0:
			return fault.New(fault.FieldRefused,
				"A checkout of this account holds a founding seat already. Pay it or leave it; it ends by itself "+
					"within an hour.")
		}
		if err := takeSeat(ctx, q, &c); err != nil {
			return err
		}
		row, err := q.InsertCheckout(ctx, db.InsertCheckoutParams{
			ID: c.ID.UUID, AccountID: c.Account.UUID, Item: c.Item, Country: c.Country, OpenedAt: c.OpenedAt,
			ExpiresAt: c.ExpiresAt, TaxEvidence: c.Evidence,
		})
		opened = checkoutOf(row)
		return err
	})
	if err != nil {
		if refusal, ok := errors.AsType[*fault.Error](err); ok {
			return Checkout{}, refusal
		}
		return Checkout{}, fmt.Errorf("open a checkout of account %s: %w", c.Account, err)
	}
	return opened, nil
}

// takeSeat refuses a checkout of an offer that is over or sold out. A lock on the offer keeps two
// checkouts from taking the last seat.
func takeSeat(ctx context.Context, q *db.Queries, c *Checkout) error {
	offer := plan.Founding()
	if c.Item != offer.Key {
		return nil
	}
	if err := q.LockOffer(ctx, offer.Key); err != nil {
		return err
	}
	taken, err := q.CountSeats(ctx, offer.Key)
	if err != nil {
		return err
	}
	if !offer.Open(c.OpenedAt, int(taken)) {
		return fault.New(fault.FieldRefused,
			"The founding offer is over, or its %d seats are taken or held by open checkouts. Choose %s_monthly or "+
				"%s_yearly.", offer.Seats, offer.Plan, offer.Plan)
	}
	return nil
}

// SeatsTaken returns how many seats of the founding offer are sold or held by an open checkout.
func (s *Store) SeatsTaken(ctx context.Context) (int, error) {
	n, err := s.pool.Queries().CountSeats(ctx, plan.Founding().Key)
	if err != nil {
		return 0, fmt.Errorf("count the seats of the offer: %w", err)
	}
	return int(n), nil
}

// SetCheckoutSession records the session that Stripe created for a checkout. It returns ErrNotFound
// when the checkout has another session.
func (s *Store) SetCheckoutSession(ctx context.Context, id CheckoutID, session string) error {
	n, err := s.pool.Queries().SetCheckoutSession(ctx, db.SetCheckoutSessionParams{ID: id.UUID, Session: session})
	if err == nil && n == 0 {
		err = pg.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("record the session of checkout %s: %w", id, err)
	}
	return nil
}

// FindCheckout reads a checkout. It returns ErrNotFound when there is none.
func (s *Store) FindCheckout(ctx context.Context, id CheckoutID) (Checkout, error) {
	row, err := s.pool.Queries().GetCheckout(ctx, id.UUID)
	if err != nil {
		return Checkout{}, fmt.Errorf("find checkout %s: %w", id, pg.NotFound(err))
	}
	return checkoutOf(row), nil
}

// FindCheckoutBySession reads a checkout by Stripe's session id. It returns ErrNotFound when there
// is none.
func (s *Store) FindCheckoutBySession(ctx context.Context, session string) (Checkout, error) {
	row, err := s.pool.Queries().GetCheckoutBySession(ctx, session)
	if err != nil {
		return Checkout{}, fmt.Errorf("find a checkout by its session: %w", pg.NotFound(err))
	}
	return checkoutOf(row), nil
}

// EndCheckout records how a checkout ended, and returns it as stored. A change that CheckoutState
// does not allow is ignored.
func (s *Store) EndCheckout(ctx context.Context, id CheckoutID, state CheckoutState, at time.Time) (Checkout, error) {
	q := s.pool.Queries()
	row, err := q.EndCheckout(ctx, db.EndCheckoutParams{ID: id.UUID, State: string(state), At: &at})
	if errors.Is(err, pgx.ErrNoRows) {
		row, err = q.GetCheckout(ctx, id.UUID)
	}
	if err != nil {
		return Checkout{}, fmt.Errorf("end checkout %s: %w", id, pg.NotFound(err))
	}
	return checkoutOf(row), nil
}

// ListCheckouts reads up to limit of an account's checkouts, newest first.
func (s *Store) ListCheckouts(ctx context.Context, id account.ID, limit int) ([]Checkout, error) {
	//nolint:gosec // bounded
	rows, err := s.pool.Queries().ListCheckouts(ctx, db.ListCheckoutsParams{
		Account: id.UUID, MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list checkouts of account %s: %w", id, err)
	}
	return checkoutsOf(rows), nil
}

// ListOpenCheckouts reads up to limit checkouts that expired before the given time and are still
// open, ordered by expiry, after the given one; nil starts with the first.
func (s *Store) ListOpenCheckouts(ctx context.Context, before time.Time, after *Checkout,
	limit int,
) ([]Checkout, error) {
	p := db.ListOpenCheckoutsParams{Before: before, MaxRows: int32(min(limit, pg.MaxPage))} //nolint:gosec // bounded
	if after != nil {
		p.AfterExpiry, p.After = after.ExpiresAt, after.ID.UUID
	}
	rows, err := s.pool.Queries().ListOpenCheckouts(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list open checkouts: %w", err)
	}
	return checkoutsOf(rows), nil
}

func checkoutsOf(rows []db.Checkout) []Checkout {
	all := make([]Checkout, len(rows))
	for i, row := range rows {
		all[i] = checkoutOf(row)
	}
	return all
}

func checkoutOf(row db.Checkout) Checkout {
	c := Checkout{
		ID: CheckoutID{row.ID}, Account: account.ID{UUID: row.AccountID}, Item: row.Item, Country: row.Country,
		State: CheckoutState(row.State), OpenedAt: row.OpenedAt.UTC(), ExpiresAt: row.ExpiresAt.UTC(),
		EndedAt: pg.UTCOrZero(row.EndedAt),
	}
	if row.Session != nil {
		c.Session = *row.Session
	}
	return c
}
