package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/store/db"
)

// Days before a pack expires on which its holders are told.
const (
	PackSoonDays  = 7
	PackAheadDays = 30
)

// PackResult is what came of telling that a pack is about to expire.
type PackResult string

// The results.
const (
	PackQueued      PackResult = "queued"
	PackUsedUp      PackResult = "used_up" // nothing is left in it
	PackNoRecipient PackResult = "no_recipient"
	PackDeclined    PackResult = "declined" // nobody of the account wants to be told
)

// PackDays is which notice is due for a pack that expires at an instant: PackSoonDays,
// PackAheadDays, or 0 when none is.
func PackDays(expires, at time.Time) int {
	switch {
	case !expires.After(at), expires.After(at.AddDate(0, 0, PackAheadDays)):
		return 0
	case expires.After(at.AddDate(0, 0, PackSoonDays)):
		return PackAheadDays
	}
	return PackSoonDays
}

// ListExpiringPacks reads up to most packs, after the one given, of which a notice is due at an
// instant and nobody was told yet. They come in the order in which they expire.
func (s *Store) ListExpiringPacks(ctx context.Context, at time.Time, after *Pack, limit int) ([]Pack, error) {
	p := db.ListExpiringPacksParams{
		At: at, Soon: at.AddDate(0, 0, PackSoonDays), Until: at.AddDate(0, 0, PackAheadDays), SoonDays: PackSoonDays,
		UntilDays: PackAheadDays, Most: int32(min(limit, maxPage)), //nolint:gosec // bounded
	}
	if after != nil {
		p.AfterExpiry, p.AfterID = after.Expires, after.ID.UUID
	}
	rows, err := s.queries().ListExpiringPacks(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list packs that are about to expire: %w", err)
	}
	packs := make([]Pack, len(rows))
	for i, row := range rows {
		packs[i] = packOf(row)
	}
	return packs, nil
}

// NotePackNotice records that the holders of a pack were told, or why not, and queues the mails
// with it: once for each pack and number of days, whoever does it again.
//
//nolint:gocritic // a copy does no harm
func (s *Store) NotePackNotice(ctx context.Context, of Pack, days int, result PackResult, mails ...NewMail) error {
	err := s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		//nolint:gosec // at most 30
		n, err := q.InsertPackNotice(ctx, db.InsertPackNoticeParams{
			PackID: of.ID.UUID, Days: int16(days), Result: string(result),
		})
		if err != nil || n == 0 {
			return err
		}
		return queueMails(ctx, q, mails...)
	})
	if err != nil {
		return fmt.Errorf("note that pack %s expires within %d days: %w", of.ID, days, err)
	}
	return nil
}
