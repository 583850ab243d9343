package accountdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// ErrOriginTaken reports that a pack was granted to another account for the same origin.
var ErrOriginTaken = errors.New("store: a pack was granted to another account for this origin already")

// Pack is a pack as stored.
type Pack struct {
	account.Pack
	Account   account.ID
	Kind      string // the pack's key on the price ladder
	Origin    string // what it was granted for, for example a payment; unique
	GrantedAt time.Time
	// VoidedAt is when the rest of the pack became void; zero unless voided. Expires is not later.
	VoidedAt   time.Time
	VoidReason string
}

// GrantPack grants a pack to its account. It is idempotent by origin: a second grant returns the
// first pack with fresh false and changes nothing. It returns ErrNotFound when there is no such
// account, ErrOriginTaken when the origin's pack went to another account, and fault.FieldRefused
// for a pack that is invalid or already expired.
func (s *Store) GrantPack(ctx context.Context, p Pack, by Author) (granted Pack, owner Account, fresh bool, err error) {
	if refusal := p.check(); refusal != nil {
		return Pack{}, Account{}, false, refusal
	}
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		before, err := q.LockAccount(ctx, p.Account.UUID)
		if err != nil {
			return pg.NotFound(err)
		}
		if before.Kind == string(KindSettlement) {
			return refuse(
				"This is the account of a pay-per-call settlement, which has the units that were paid for and no " +
					"packs. Choose another account.")
		}
		row, err := q.InsertPack(ctx, db.InsertPackParams{
			ID: p.ID.UUID, AccountID: p.Account.UUID, Kind: p.Kind, Units: int64(p.Units), Origin: p.Origin,
			GrantedAt: p.GrantedAt, ExpiresAt: p.Expires,
		})
		fresh = err == nil
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			if row, err = q.GetPackByOrigin(ctx, p.Origin); err != nil {
				return err
			}
			if row.AccountID != p.Account.UUID {
				return ErrOriginTaken
			}
		case err != nil:
			return err
		default:
			expired := !by.At.IsZero() && !p.Expires.After(by.At)
			if by.At.IsZero() {
				if expired, err = q.HasPassed(ctx, p.Expires); err != nil {
					return err
				}
			}
			if expired {
				return refuse("The pack expired on %s. Grant one that expires later.",
					p.Expires.UTC().Format(time.RFC3339))
			}
			if before, err = q.BumpAccount(ctx, p.Account.UUID); err != nil {
				return err
			}
			after := map[string]any{
				"pack": p.ID.String(), "kind": p.Kind, "pack_units": p.Units, "origin": p.Origin,
				"expires_at": p.Expires.UTC(),
			}
			if err := note(ctx, q, subject{account: p.Account, version: before.Version}, "grant_pack", by, nil,
				after); err != nil {
				return err
			}
		}
		granted = PackOf(row)
		owner, err = withPacks(ctx, q, before)
		return err
	})
	if err != nil {
		return Pack{}, Account{}, false, fmt.Errorf("grant a pack to account %s: %w", p.Account, err)
	}
	return granted, owner, fresh, nil
}

// FindPackByOrigin reads the pack that was granted for an origin. It returns ErrNotFound when there
// is none.
func (s *Store) FindPackByOrigin(ctx context.Context, origin string) (Pack, error) {
	row, err := s.pool.Queries().GetPackByOrigin(ctx, origin)
	if err != nil {
		return Pack{}, fmt.Errorf("find a pack by its origin: %w", pg.NotFound(err))
	}
	return PackOf(row), nil
}

// VoidPack voids the rest of the pack that was granted for an origin: from at on nothing is drawn
// from it. Units that were drawn stay drawn. It is idempotent: a second call changes nothing and
// returns fresh false. It returns ErrNotFound when there is no pack for the origin.
func (s *Store) VoidPack(ctx context.Context, origin, reason string, at time.Time,
	by Author,
) (voided Pack, owner Account, fresh bool, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.GetPackByOrigin(ctx, origin)
		if err != nil {
			return pg.NotFound(err)
		}
		held, err := q.LockAccount(ctx, row.AccountID) // locked before the pack, as in GrantPack
		if err != nil {
			return err
		}
		if row, err = q.LockPackByOrigin(ctx, origin); err != nil {
			return pg.NotFound(err)
		}
		if fresh = row.VoidedAt == nil; fresh {
			if row, err = q.VoidPack(ctx, db.VoidPackParams{ID: row.ID, At: &at, Reason: reason}); err != nil {
				return err
			}
			if held, err = q.BumpAccount(ctx, row.AccountID); err != nil {
				return err
			}
			after := map[string]any{
				"pack": row.ID.String(), "kind": row.Kind, "origin": origin, "voided_at": at.UTC(), "reason": reason,
			}
			of := subject{account: account.ID{UUID: row.AccountID}, version: held.Version}
			if err := note(ctx, q, of, "void_pack", by, nil, after); err != nil {
				return err
			}
		}
		voided = PackOf(row)
		owner, err = withPacks(ctx, q, held)
		return err
	})
	if err != nil {
		return Pack{}, Account{}, false, fmt.Errorf("void a pack: %w", err)
	}
	return voided, owner, fresh, nil
}

// check validates a pack.
func (p *Pack) check() error {
	if refusal := p.Pack.Check(); refusal != nil {
		return refusal
	}
	switch {
	case p.Kind == "":
		return refuse("kind is empty; it takes the key of a pack on the price ladder, or another name.")
	case p.Origin == "":
		return refuse("origin is empty; it takes what the pack is granted for, a payment for instance.")
	case !p.Expires.After(p.GrantedAt):
		return refuse("expires_at is %s, which is not after %s, when the pack is granted.",
			p.Expires.UTC().Format(time.RFC3339), p.GrantedAt.UTC().Format(time.RFC3339))
	}
	return nil
}

func refuse(format string, args ...any) error { return fault.New(fault.FieldRefused, format, args...) }

// ListPacks reads the packs of an account, expired ones included, in the order in which they are
// drawn.
func (s *Store) ListPacks(ctx context.Context, id account.ID) ([]Pack, error) {
	rows, err := s.pool.Queries().ListPacks(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list packs of account %s: %w", id, err)
	}
	packs := make([]Pack, len(rows))
	for i, row := range rows {
		packs[i] = PackOf(row)
	}
	return packs, nil
}

// PackOf returns the pack of a row.
func PackOf(row db.Pack) Pack {
	return Pack{
		Pack: account.Pack{
			ID: account.PackID{UUID: row.ID}, Units: plan.Units(row.Units), Expires: row.ExpiresAt.UTC(),
		},
		Account: account.ID{UUID: row.AccountID}, Kind: row.Kind, Origin: row.Origin, GrantedAt: row.GrantedAt.UTC(),
		VoidedAt: pg.UTCOrZero(row.VoidedAt), VoidReason: row.VoidReason,
	}
}
