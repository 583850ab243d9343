package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store"
)

const (
	// callsWithin is how far back calls are compared: there are many, and they are kept for 30 days
	// only.
	callsWithin = 24 * time.Hour
	// callsGrace is how far before the usage watermark an hour must end: clocks differ, and a call
	// is recorded when it ends.
	callsGrace = 5 * time.Minute
)

// UnrecordedCharges counts the charges of a key in an hour that have no call record.
type UnrecordedCharges struct {
	Account account.ID    `json:"account_id"`
	Key     account.KeyID `json:"key_id"`
	Hour    time.Time     `json:"hour"`
	Charges int64         `json:"charges"`
}

// String describes them in one line.
func (u UnrecordedCharges) String() string {
	return fmt.Sprintf("account %s, key %s, hour %s: charges without a record of the call: %s", u.Account, u.Key,
		hourName(u.Hour), Count(u.Charges))
}

func hourName(hour time.Time) string { return hour.UTC().Format("2006-01-02T15Z") }

// span returns the whole hours whose calls are compared with usage. ok is false until the usage of
// all shards has a watermark.
func (a *auditor) span(ctx context.Context) (since, until time.Time, ok bool, err error) {
	watermark, err := a.record.UsageWatermark(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return since, until, false, nil
	}
	until = watermark.Add(-callsGrace).Truncate(time.Hour)
	return until.Add(-callsWithin), until, err == nil, err
}

// proveCalls compares an account's call records with its usage, by key and hour. More records than
// charges are calls that were served and not billed. Charges without a record are reported and are
// no difference, because a killed process loses its last records.
func (a *auditor) proveCalls(ctx context.Context, id account.ID, seen *Summary) (first *Difference, err error) {
	since, until, ok, err := a.span(ctx)
	if err != nil || !ok {
		return nil, err
	}
	hours, err := a.record.CompareCharged(ctx, id, since, until)
	if err != nil {
		return nil, err
	}
	for i := range hours {
		h := &hours[i]
		if h.Unrecorded > 0 {
			seen.Unrecorded += int(h.Unrecorded)
			a.unrecorded(UnrecordedCharges{id, h.Key, h.Hour, h.Unrecorded})
		}
		if first == nil && h.Recorded > h.Lines {
			first = differ(Calls, "key "+h.Key.String()+", hour "+hourName(h.Hour),
				Side{"served and charged by their records", Count(h.Recorded)}, Side{
					"charged in usage", Count(h.Lines),
				})
		}
	}
	return first, nil
}

func (a *auditor) unrecorded(u UnrecordedCharges) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.o.Unrecorded != nil {
		a.o.Unrecorded(u)
	}
}
