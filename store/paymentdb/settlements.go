package paymentdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// Settlement is one payer's payment in one transaction, as stored. The fields from Finality to
// GivenLeft are set when it is redeemed.
type Settlement struct {
	x402.ID
	Stage  x402.Stage
	Reason string       // one word, while it is stuck or refused
	Found  x402.Finding // zero until the chain was read; depth and finality are not stored
	SeenAt time.Time

	UpdatedAt  time.Time
	Finality   x402.Finality
	Deal       x402.Deal
	Account    account.ID
	Key        account.KeyID // the newest credential
	RedeemedAt time.Time
	WindowEnds time.Time
	Rotations  int // how many times it was redeemed again
	// GivenLeft is how many units were left when the credential was issued; -1 when unknown.
	GivenLeft plan.Units
	// RefundedAt is when support last recorded a refund by hand; zero when never.
	RefundedAt time.Time
}

// Redeemed reports whether units were granted for it, even if they are gone.
func (s *Settlement) Redeemed() bool { return !s.RedeemedAt.IsZero() }

// settlementPack is the kind of the pack that holds a settlement's units, the only one of its
// account.
const settlementPack = "settlement"

// FindSettlement reads a settlement. It returns ErrNotFound when there is none.
func (s *Store) FindSettlement(ctx context.Context, id x402.ID) (Settlement, error) {
	row, err := s.pool.Queries().GetSettlement(ctx, db.GetSettlementParams(settlementKey(id)))
	if err != nil {
		return Settlement{}, fmt.Errorf("find settlement %s: %w", id, pg.NotFound(err))
	}
	return settlementOf(row), nil
}

// FindSettlementOf reads the settlement of an account. It returns ErrNotFound when there is none.
func (s *Store) FindSettlementOf(ctx context.Context, id account.ID) (Settlement, error) {
	row, err := s.pool.Queries().GetSettlementOf(ctx, id.UUID)
	if err != nil {
		return Settlement{}, fmt.Errorf("find the settlement of account %s: %w", id, pg.NotFound(err))
	}
	return settlementOf(row), nil
}

// maxPayers bounds the settlements of one transaction that are read.
const maxPayers = 100

// ListSettlementsOf reads the settlements of a transaction, at most a hundred: those whose payment
// was seen first, by payer.
func (s *Store) ListSettlementsOf(ctx context.Context, chain uint64, tx x402.TxHash) ([]Settlement, error) {
	//nolint:gosec // ids are small
	rows, err := s.pool.Queries().ListSettlementsOf(ctx, db.ListSettlementsOfParams{
		ChainID: int64(chain), TxHash: tx[:], MaxRows: maxPayers,
	})
	if err != nil {
		return nil, fmt.Errorf("list the settlements of %s: %w", tx, err)
	}
	return settlementsOf(rows), nil
}

// SettlementFilter selects settlements.
type SettlementFilter struct {
	Stage  x402.Stage  // empty for all
	Before *Settlement // the last of the previous page; nil for the first page
	Limit  int
}

// ListSettlements reads a page of settlements, most recently changed first.
func (s *Store) ListSettlements(ctx context.Context, f SettlementFilter) ([]Settlement, error) {
	p := db.ListSettlementsParams{MaxRows: int32(min(f.Limit, pg.MaxPage))} //nolint:gosec // bounded
	if f.Stage != "" {
		stage := string(f.Stage)
		p.Stage = &stage
	}
	if b := f.Before; b != nil {
		p.Before, p.BeforeTx, p.BeforePayer = &b.UpdatedAt, b.Tx[:], b.Payer[:]
	}
	rows, err := s.pool.Queries().ListSettlements(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list settlements: %w", err)
	}
	return settlementsOf(rows), nil
}

// ListUnconfirmed reads a page of settlements that are not final and were redeemed between younger
// and older ago, oldest first. after is the last of the previous page; nil for the first page.
func (s *Store) ListUnconfirmed(ctx context.Context, older, younger time.Duration, after *Settlement,
	limit int,
) ([]Settlement, error) {
	//nolint:gosec // bounded
	p := db.ListUnconfirmedParams{
		OlderSeconds: older.Seconds(), YoungerSeconds: younger.Seconds(), MaxRows: int32(min(limit, pg.MaxPage)),
	}
	if after != nil {
		p.After, p.AfterTx, p.AfterPayer = &after.RedeemedAt, after.Tx[:], after.Payer[:]
	}
	rows, err := s.pool.Queries().ListUnconfirmed(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list settlements that are not final: %w", err)
	}
	return settlementsOf(rows), nil
}

// NoteSettlement records the stage of a settlement that is not redeemed yet, with a line of its
// history when stage or reason changed. seen is what the chain showed; nil when it was not read. A
// redeemed settlement is returned unchanged.
func (s *Store) NoteSettlement(ctx context.Context, id x402.ID, stage x402.Stage, reason, words string,
	seen *x402.Finding,
) (Settlement, error) {
	var noted Settlement
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		before, err := lockSettlement(ctx, q, id)
		if err != nil {
			return err
		}
		noted = before
		if before.Redeemed() || (before.Stage == stage && before.Reason == reason && seen == nil) {
			return nil
		}
		next := before.Found
		if seen != nil {
			next = *seen
		}
		row, err := q.UpdateSettlement(ctx, updateSettlement(id, stage, reason, next))
		if err != nil {
			return err
		}
		noted = settlementOf(row)
		if before.Stage == stage && before.Reason == reason {
			return nil
		}
		return addEvent(ctx, q, id, stage, words)
	})
	if err != nil {
		return Settlement{}, fmt.Errorf("note settlement %s: %w", id, err)
	}
	return noted, nil
}

// TellSettlement adds a line to a settlement's history. It returns ErrNotFound when there is no
// such settlement.
func (s *Store) TellSettlement(ctx context.Context, id x402.ID, words string) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := q.LockSettlement(ctx, db.LockSettlementParams(settlementKey(id)))
		if err != nil {
			return pg.NotFound(err)
		}
		return addEvent(ctx, q, id, x402.Stage(row.Stage), words)
	})
	if err != nil {
		return fmt.Errorf("tell of settlement %s: %w", id, err)
	}
	return nil
}

// SettlementEvent is a line of a settlement's history.
type SettlementEvent struct {
	At    time.Time
	Stage x402.Stage
	Words string
}

// maxHistory bounds how many lines of a settlement's history are read.
const maxHistory = 500

// SettlementHistory reads the newest maxHistory lines of a settlement's history, oldest first.
func (s *Store) SettlementHistory(ctx context.Context, id x402.ID) ([]SettlementEvent, error) {
	k := settlementKey(id)
	rows, err := s.pool.Queries().ListSettlementEvents(ctx, db.ListSettlementEventsParams{
		ChainID: k.ChainID, TxHash: k.TxHash, Payer: k.Payer, MaxRows: maxHistory,
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of settlement %s: %w", id, err)
	}
	events := make([]SettlementEvent, len(rows))
	for i, row := range rows {
		events[len(rows)-1-i] = SettlementEvent{At: row.At.UTC(), Stage: x402.Stage(row.Stage), Words: row.Words}
	}
	return events, nil
}

// SettlementUsage returns how many units of a redeemed settlement are recorded as used. The meter
// may have counted more in the last seconds.
func (s *Store) SettlementUsage(ctx context.Context, of *Settlement) (plan.Units, error) {
	a, err := accountdb.LoadAccount(ctx, s.pool.Queries(), of.Account)
	if err != nil {
		return 0, fmt.Errorf("load account %s: %w", of.Account, err)
	}
	var used plan.Units
	for _, p := range a.Packs {
		used += p.Used
	}
	return used, nil
}

func lockSettlement(ctx context.Context, q *db.Queries, id x402.ID) (Settlement, error) {
	if err := q.OpenSettlement(ctx, db.OpenSettlementParams(settlementKey(id))); err != nil {
		return Settlement{}, err
	}
	row, err := q.LockSettlement(ctx, db.LockSettlementParams(settlementKey(id)))
	if err != nil {
		return Settlement{}, pg.NotFound(err)
	}
	return settlementOf(row), nil
}

func addEvent(ctx context.Context, q *db.Queries, id x402.ID, stage x402.Stage, words string) error {
	k := settlementKey(id)
	return q.AddSettlementEvent(ctx, db.AddSettlementEventParams{
		ChainID: k.ChainID, TxHash: k.TxHash, Payer: k.Payer, Stage: string(stage), Words: words,
	})
}

// settlementParams is the table's primary key as query parameters.
type settlementParams struct {
	ChainID int64
	TxHash  []byte
	Payer   []byte
}

func settlementKey(id x402.ID) settlementParams {
	//nolint:gosec // ids are small
	return settlementParams{ChainID: int64(id.Chain), TxHash: id.Tx[:], Payer: id.Payer[:]}
}

func updateSettlement(id x402.ID, stage x402.Stage, reason string, f x402.Finding) db.UpdateSettlementParams {
	k := settlementKey(id)
	p := db.UpdateSettlementParams{
		Stage: string(stage), Reason: reason, ChainID: k.ChainID, TxHash: k.TxHash, Payer: k.Payer,
	}
	if f.BlockHash.IsZero() {
		return p
	}
	paid, number, at := int64(f.Paid), int64(f.Block), time.Unix(f.Time, 0) //nolint:gosec // blocks are few
	p.Paid, p.BlockNumber, p.BlockHash, p.BlockTime = &paid, &number, f.BlockHash[:], &at
	return p
}

func settlementsOf(rows []db.Settlement) []Settlement {
	all := make([]Settlement, len(rows))
	for i, row := range rows {
		all[i] = settlementOf(row)
	}
	return all
}

func settlementOf(row db.Settlement) Settlement { //nolint:gocritic // rows go by value
	s := Settlement{
		//nolint:gosec // not negative
		ID:    x402.ID{Chain: uint64(row.ChainID), Tx: x402.TxHash(row.TxHash), Payer: wallet.Address(row.Payer)},
		Stage: x402.Stage(row.Stage), Reason: row.Reason, SeenAt: row.SeenAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
		RedeemedAt: pg.UTCOrZero(row.RedeemedAt), WindowEnds: pg.UTCOrZero(row.WindowEnds),
		Rotations: int(row.Rotations), RefundedAt: pg.UTCOrZero(row.RefundedAt),
	}
	if row.Paid != nil && row.BlockNumber != nil && row.BlockTime != nil {
		s.Found = x402.Finding{
			//nolint:gosec // not negative
			Paid: plan.Atomic(*row.Paid), Block: uint64(*row.BlockNumber), BlockHash: x402.TxHash(row.BlockHash),
			Time: row.BlockTime.Unix(),
		}
	}
	if row.AccountID == nil || row.KeyID == nil { // by a constraint, all of them are set or none
		return s
	}
	s.GivenLeft = -1
	if row.CredentialLeft != nil {
		s.GivenLeft = plan.Units(*row.CredentialLeft)
	}
	s.Account, s.Key, s.Finality = account.ID{UUID: *row.AccountID}, account.KeyID{
		UUID: *row.KeyID,
	}, x402.Finality(*row.Finality)
	s.Deal = x402.Deal{
		Tier: plan.Tier(*row.Tier), Country: *row.Country, Paid: s.Found.Paid, Net: plan.Atomic(*row.Net),
		VAT: plan.Atomic(*row.Vat), Units: plan.Units(*row.Units), Capped: row.Capped,
	}
	return s
}

// errNotRedeemed reports that a settlement has no credential.
var errNotRedeemed = errors.New("store: the settlement was not redeemed")
