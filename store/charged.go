package store

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
)

// ChargedHour is an hour of a key in which its charged calls, by their own records, and its usage
// do not fit.
type ChargedHour struct {
	Key  account.KeyID
	Hour time.Time
	// Recorded are calls within the hour but its first and last minute, Lines its charges, given
	// back or not: at least as many.
	Recorded, Lines int64
	// Unrecorded are charges that stand and of which there is no record: a process that is killed
	// loses its last ones.
	Unrecorded int64
}

// CompareCharged compares the charged calls of an account in the whole hours from since until
// before an instant, both whole hours, and gives those that do not fit. All usage and all records
// until a minute after must be recorded.
func (s *Store) CompareCharged(ctx context.Context, id account.ID, since, until time.Time) ([]ChargedHour, error) {
	rows, err := s.queries().CompareCharged(ctx, db.CompareChargedParams{Account: id.UUID, Since: since, Until: until})
	if err != nil {
		return nil, fmt.Errorf("compare the charged calls of account %s: %w", id, err)
	}
	hours := make([]ChargedHour, len(rows))
	for i, r := range rows {
		hours[i] = ChargedHour{account.KeyID{UUID: r.KeyID}, r.Hour.UTC(), r.Recorded, r.Charged, r.Unrecorded}
	}
	return hours, nil
}
