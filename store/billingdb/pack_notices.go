package billingdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// How many days before a pack expires its holders are notified.
const (
	PackSoonDays  = 7
	PackAheadDays = 30
)

// PackResult is the outcome of a notice that a pack is about to expire.
type PackResult string

// The outcomes.
const (
	PackQueued      PackResult = "queued"
	PackUsedUp      PackResult = "used_up" // the pack is empty
	PackNoRecipient PackResult = "no_recipient"
	PackDeclined    PackResult = "declined" // no member of the account wants these mails
)

// PackDays returns which notice is due for a pack that expires at the given time: PackSoonDays,
// PackAheadDays, or 0 for none.
func PackDays(expires, at time.Time) int {
	switch {
	case !expires.After(at), expires.After(at.AddDate(0, 0, PackAheadDays)):
		return 0
	case expires.After(at.AddDate(0, 0, PackSoonDays)):
		return PackAheadDays
	}
	return PackSoonDays
}

// ListExpiringPacks reads up to limit packs for which a notice is due and not yet recorded, ordered
// by expiry, after the given one.
func (s *Store) ListExpiringPacks(ctx context.Context, at time.Time, after *accountdb.Pack,
	limit int,
) ([]accountdb.Pack, error) {
	p := db.ListExpiringPacksParams{
		At: at, Soon: at.AddDate(0, 0, PackSoonDays), Until: at.AddDate(0, 0, PackAheadDays), SoonDays: PackSoonDays,
		UntilDays: PackAheadDays, MaxRows: int32(min(limit, pg.MaxPage)), //nolint:gosec // bounded
	}
	if after != nil {
		p.AfterExpiry, p.AfterID = after.Expires, after.ID.UUID
	}
	rows, err := s.pool.Queries().ListExpiringPacks(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list packs that are about to expire: %w", err)
	}
	packs := make([]accountdb.Pack, len(rows))
	for i, row := range rows {
		packs[i] = accountdb.PackOf(row)
	}
	return packs, nil
}

// NotePackNotice records the outcome of a pack's notice and queues its mails in the same
// transaction. It is idempotent by pack and days.
//
//nolint:gocritic // a copy does no harm
func (s *Store) NotePackNotice(ctx context.Context, of accountdb.Pack, days int, result PackResult,
	mails ...maildb.NewMail,
) error {
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		//nolint:gosec // at most 30
		n, err := q.InsertPackNotice(ctx, db.InsertPackNoticeParams{
			PackID: of.ID.UUID, Days: int16(days), Result: string(result),
		})
		if err != nil || n == 0 {
			return err
		}
		return maildb.Queue(ctx, q, mails...)
	})
	if err != nil {
		return fmt.Errorf("note that pack %s expires within %d days: %w", of.ID, days, err)
	}
	return nil
}
