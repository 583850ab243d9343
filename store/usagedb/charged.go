package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
)

// ChargedHour is an hour of a key in which the call records and the usage lines of charged calls do
// not match.
type ChargedHour struct {
	Key  account.KeyID
	Hour time.Time
	// Recorded counts call records within the hour except its first and last minute. Lines counts
	// the hour's charges, refunded or not, and must be at least Recorded.
	Recorded, Lines int64
	// Unrecorded counts charges that were not refunded and have no call record: a process that is
	// killed loses its last records.
	Unrecorded int64
}

// CompareCharged compares an account's charged calls in [since, until), both full hours, and
// returns the hours that do not match. All usage, and all call records up to a minute after until,
// must have been written.
func (s *Store) CompareCharged(ctx context.Context, id account.ID, since, until time.Time) ([]ChargedHour, error) {
	rows, err := s.pool.Queries().CompareCharged(ctx,
		db.CompareChargedParams{Account: id.UUID, Since: since, Until: until})
	if err != nil {
		return nil, fmt.Errorf("compare the charged calls of account %s: %w", id, err)
	}
	hours := make([]ChargedHour, len(rows))
	for i, r := range rows {
		hours[i] = ChargedHour{account.KeyID{UUID: r.KeyID}, r.Hour.UTC(), r.Recorded, r.Charged, r.Unrecorded}
	}
	return hours, nil
}
