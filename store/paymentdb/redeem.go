package paymentdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// Grant is what a payer gets for a settlement. It does not hold the credential's plaintext.
type Grant struct {
	x402.ID
	Deal  x402.Deal
	Found x402.Finding // zero when a facilitator settled it and the chain is read later
	Credential
	At     time.Time // start of the window
	Origin string    // who redeemed it: api or facilitator
}

// Credential is a key that was created for a settlement.
type Credential struct {
	Key    account.KeyID
	Digest account.Digest
	Prefix string
}

// GrantSettlement grants the units of a settlement: an account of its own, a pack that expires with
// the window, and the credential. It is idempotent: a second grant returns the first one and
// changes nothing; Settlement.Key tells whose credential is valid.
//
//nolint:gocritic // a copy does no harm
func (s *Store) GrantSettlement(ctx context.Context, g Grant) (Settlement, error) {
	var granted Settlement
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		before, err := lockSettlement(ctx, q, g.ID)
		if err != nil {
			return err
		}
		if before.Redeemed() {
			granted = before
			return nil
		}
		if !before.RefundedAt.IsZero() {
			return fault.New(fault.SettlementRedeemed,
				"Support noted at %s that this payment is sent back, so it buys nothing any more. Pay a new one "+
					"against the menu at /x402.", before.RefundedAt.Format(time.RFC3339))
		}
		granted, err = grantSettlement(ctx, q, &g)
		return err
	})
	if err != nil {
		return Settlement{}, fmt.Errorf("grant settlement %s: %w", g.ID, err)
	}
	return granted, nil
}

func grantSettlement(ctx context.Context, q *db.Queries, g *Grant) (Settlement, error) {
	held, ok := plan.ForTier(g.Deal.Tier)
	if !ok {
		return Settlement{}, fmt.Errorf("no tier %q is on the menu", g.Deal.Tier)
	}
	at := g.At.UTC().Truncate(accountdb.CycleStep)
	ends := at.Add(plan.SettlementWindow)
	own, err := q.InsertAccount(ctx,
		accountdb.AccountParams(accountdb.NewAccount{
			ID: account.NewID(), Kind: accountdb.KindSettlement,
			Plan: held.Key,
		}))
	if err != nil {
		return Settlement{}, err
	}
	_, err = q.InsertPack(ctx, db.InsertPackParams{
		ID: account.NewPackID().UUID, AccountID: own.ID, Kind: settlementPack, Units: int64(g.Deal.Units),
		Origin: g.ID.Origin(), GrantedAt: at, ExpiresAt: ends,
	})
	if err != nil {
		return Settlement{}, fmt.Errorf("its pack: %w", err)
	}
	key, err := q.InsertCredential(ctx, db.InsertCredentialParams{
		ID: g.Key.UUID, AccountID: own.ID, Digest: g.Digest[:], Prefix: g.Prefix, ExpiresAt: ends,
	})
	if err != nil {
		return Settlement{}, err
	}
	k := settlementKey(g.ID)
	number, seen := int64(g.Found.Block), time.Unix(g.Found.Time, 0) //nolint:gosec // blocks are few
	row, err := q.RedeemSettlement(ctx, db.RedeemSettlementParams{
		ChainID: k.ChainID, TxHash: k.TxHash, Payer: k.Payer, Paid: int64(g.Deal.Paid), BlockNumber: number,
		BlockHash: g.Found.BlockHash[:], BlockTime: seen, Tier: string(g.Deal.Tier), Country: g.Deal.Country,
		Net: int64(g.Deal.Net), Vat: int64(g.Deal.VAT), Units: int64(g.Deal.Units), Capped: g.Deal.Capped,
		AccountID: own.ID, KeyID: key.ID, RedeemedAt: at, WindowEnds: ends,
	})
	if err != nil {
		return Settlement{}, err
	}
	words := fmt.Sprintf("Redeemed for %s units of the tier %s, until %s.", g.Deal.Units, g.Deal.Tier,
		ends.Format(time.RFC3339))
	if err := addEvent(ctx, q, g.ID, x402.StageRedeemed, words); err != nil {
		return Settlement{}, err
	}
	return settlementOf(row), nil
}

// Rotation replaces the credential of a redeemed settlement.
type Rotation struct {
	x402.ID
	Credential
	// Since keeps a credential that was issued at or after this time: it answers this request too.
	// Zero always replaces it.
	Since time.Time
	Left  *plan.Units // units left of the settlement at the time of the request; nil when unknown
	At    time.Time
	By    accountdb.Author
}

// RotateCredential issues a new credential for a redeemed settlement and revokes the old one.
// Settlement.Key is the valid one. It returns ErrNotFound when there is no such settlement, and an
// error of mayRotate when its units can no longer be used. It is idempotent by key.
func (s *Store) RotateCredential(ctx context.Context,
	r *Rotation,
) (rotated Settlement, before account.KeyID, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSettlement(ctx, db.LockSettlementParams(settlementKey(r.ID)))
		if err != nil {
			return pg.NotFound(err)
		}
		rotated = settlementOf(row)
		if err := mayRotate(&rotated, r.At); err != nil || rotated.Key == r.Key {
			return err
		}
		given, err := q.GetKey(ctx, rotated.Key.UUID)
		if err != nil {
			return err
		}
		if !r.Since.IsZero() && !given.CreatedAt.Before(r.Since) && given.Status == string(account.Active) {
			return nil
		}
		before = rotated.Key
		rotated, err = rotate(ctx, q, r, &rotated)
		return err
	})
	if err != nil {
		return Settlement{}, account.KeyID{}, fmt.Errorf("rotate the credential of settlement %s: %w", r.ID, err)
	}
	return rotated, before, nil
}

func rotate(ctx context.Context, q *db.Queries, r *Rotation, was *Settlement) (Settlement, error) {
	if err := accountdb.Revoke(ctx, q, was.Key, r.By); err != nil {
		return Settlement{}, err
	}
	_, err := q.InsertCredential(ctx, db.InsertCredentialParams{
		ID: r.Key.UUID, AccountID: was.Account.UUID, Digest: r.Digest[:], Prefix: r.Prefix, ExpiresAt: was.WindowEnds,
	})
	if err != nil {
		return Settlement{}, err
	}
	k := settlementKey(r.ID)
	row, err := q.SetCredential(ctx, db.SetCredentialParams{
		ChainID: k.ChainID, TxHash: k.TxHash, Payer: k.Payer, KeyID: r.Key.UUID, CredentialLeft: (*int64)(r.Left),
	})
	if err != nil {
		return Settlement{}, err
	}
	return settlementOf(row), nil
}

func mayRotate(s *Settlement, at time.Time) error {
	switch {
	case !s.Redeemed():
		return errNotRedeemed
	case s.Stage == x402.StageReorganised:
		return fault.New(fault.SettlementRedeemed,
			"The transaction of this settlement is no longer part of the chain, so its credential ended. "+
				"If the payment is there again, file a ticket with its hash; else pay a new one against the menu at "+
				"/x402.")
	case !at.Before(s.WindowEnds):
		return fault.New(fault.SettlementOver,
			"The window of this settlement ended at %s. Pay a new one against the menu at /x402.",
			s.WindowEnds.Format(time.RFC3339))
	}
	return nil
}

// ConcludeSettlement records whether a redeemed settlement's transaction is final or removed by a
// reorg, and its block. A removed one becomes reorganised, and its credential is revoked. A final
// one is over once its window has ended. It is idempotent, and a reorganised settlement stays so.
// It returns ErrNotFound when there is none or it was not redeemed.
func (s *Store) ConcludeSettlement(ctx context.Context, id x402.ID, f x402.Finality, seen *x402.Finding, words string,
	at time.Time, by accountdb.Author,
) (Settlement, error) {
	var concluded Settlement
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSettlement(ctx, db.LockSettlementParams(settlementKey(id)))
		if err != nil {
			return pg.NotFound(err)
		}
		concluded = settlementOf(row)
		if !concluded.Redeemed() {
			return pg.ErrNotFound
		}
		stage := concludedStage(&concluded, f, at)
		if concluded.Stage == x402.StageReorganised || (stage == concluded.Stage && f == concluded.Finality) {
			return nil
		}
		if f == x402.FinalityGone {
			if err := accountdb.Revoke(ctx, q, concluded.Key, by); err != nil {
				return err
			}
		}
		k, is := settlementKey(id), concluded.Found
		if seen != nil {
			is = *seen
		}
		number, blockTime := int64(is.Block), time.Unix(is.Time, 0) //nolint:gosec // blocks are few
		row, err = q.ConcludeSettlement(ctx, db.ConcludeSettlementParams{
			ChainID: k.ChainID, TxHash: k.TxHash, Payer: k.Payer, Stage: string(stage), Finality: string(f),
			BlockNumber: number, BlockHash: is.BlockHash[:], BlockTime: blockTime,
		})
		if err != nil {
			return err
		}
		concluded = settlementOf(row)
		return addEvent(ctx, q, id, stage, words)
	})
	if err != nil {
		return Settlement{}, fmt.Errorf("conclude settlement %s: %w", id, err)
	}
	return concluded, nil
}

func concludedStage(s *Settlement, f x402.Finality, at time.Time) x402.Stage {
	switch {
	case f == x402.FinalityGone:
		return x402.StageReorganised
	case f == x402.FinalityFinal && !at.Before(s.WindowEnds):
		return x402.StageOver
	default:
		return s.Stage
	}
}

// ErrRefundNoted reports that a refund was already recorded.
var ErrRefundNoted = errors.New("store: a refund of this settlement was noted before")

// NoteRefund records that support refunds a settlement by hand, with a line of its history. From
// then on it cannot be redeemed. It returns ErrRefundNoted when that was recorded before, unless
// again is set; of two concurrent calls one gets the error. It returns the settlement as it was
// before.
func (s *Store) NoteRefund(ctx context.Context, id x402.ID, words string, again bool) (Settlement, error) {
	var before Settlement
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSettlement(ctx, db.LockSettlementParams(settlementKey(id)))
		if err != nil {
			return pg.NotFound(err)
		}
		before = settlementOf(row)
		if !before.RefundedAt.IsZero() && !again {
			return ErrRefundNoted
		}
		if err := q.NoteRefund(ctx, db.NoteRefundParams(settlementKey(id))); err != nil {
			return err
		}
		return addEvent(ctx, q, id, before.Stage, words)
	})
	if err != nil {
		return before, fmt.Errorf("note a refund of settlement %s: %w", id, err)
	}
	return before, nil
}
