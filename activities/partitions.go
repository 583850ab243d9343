package activities

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/accountdb"
)

// PartitionStore stores the data that grows by the day.
type PartitionStore interface {
	EnsurePartitions(ctx context.Context, from time.Time, days int) (int, error)
	DropPartitionsBefore(ctx context.Context, cutoff time.Time) (int, error)
	DeleteFlushesBefore(ctx context.Context, before time.Time) (int64, error)
	DeleteLatencyBefore(ctx context.Context, before time.Time) (int64, error)
	DeleteChainSlotsBefore(ctx context.Context, before time.Time) (int64, error)
	SweepPeople(ctx context.Context, before time.Time, limit int) (int64, error)
	DeleteStripeEvents(ctx context.Context, before time.Time, limit int) (int64, error)
	DeleteIdleEntries(ctx context.Context, before time.Time, limit int) (int64, error)
	UsageWatermark(ctx context.Context) (time.Time, error)
	SweepAnonymousKeys(ctx context.Context, after account.KeyID, sweep accountdb.AnonymousSweep,
		page int) (done accountdb.SweptKeys, last account.KeyID, more bool, err error)
}

// Partitions maintains the tables that grow by the day.
type Partitions struct {
	Store PartitionStore
	Now   func() time.Time
	// OnSwept is called with the result of each page of anonymous keys; nil for none.
	OnSwept func(accountdb.SweptKeys)
}

// PartitionUpkeep is how many days of data to keep, before and after today (UTC).
type PartitionUpkeep struct {
	DaysAhead      int `json:"days_ahead"`
	KeepCallDays   int `json:"keep_call_days"`
	KeepLedgerDays int `json:"keep_ledger_days"` // ledger of flushed usage buckets, not the usage itself
	// KeepLatencyDays is for hourly latencies. 0 keeps all; the schedule of an older program does
	// not set it.
	KeepLatencyDays int `json:"keep_latency_days"`
	// KeepPeopleDays is for expired sessions, sign-ins and invitations; 0 keeps all.
	KeepPeopleDays int `json:"keep_people_days"`
	// KeepEventDays is for webhooks that were handed on; 0 keeps all.
	KeepEventDays int `json:"keep_event_days"`
	// KeepStatusDays is for chain status in slots of five minutes; 0 keeps all. Daily status is
	// kept.
	KeepStatusDays int `json:"keep_status_days"`
	// KeepEntryDays is for unconfirmed addresses of the waitlist and declined wishes; 0 keeps all.
	KeepEntryDays int `json:"keep_entry_days"`
	// KeepUnusedKeyDays is for anonymous keys that were never used, KeepIdleKeyDays for those that
	// were; 0 keeps all.
	KeepUnusedKeyDays int `json:"keep_unused_key_days"`
	KeepIdleKeyDays   int `json:"keep_idle_key_days"`
}

// PartitionReport is what an upkeep created and deleted.
type PartitionReport struct {
	Made            int   `json:"partitions_made"`
	Dropped         int   `json:"partitions_dropped"`
	LedgerForgotten int64 `json:"ledger_entries_forgotten"`
	LatencyDeleted  int64 `json:"latency_rows_deleted"`
	PeopleDeleted   int64 `json:"people_rows_deleted"` // sessions, sign-ins and invitations
	EventsDeleted   int64 `json:"event_rows_deleted"`  // webhooks of Stripe
	StatusDeleted   int64 `json:"status_rows_deleted"` // status of chains
	EntriesDeleted  int64 `json:"entry_rows_deleted"`  // of the waitlist and the wishlist
	KeysRetired     int64 `json:"keys_retired"`        // revoked anonymous keys that nobody used
	KeysDeleted     int64 `json:"keys_deleted"`        // keys that were retired before
	AccountsDeleted int64 `json:"accounts_deleted"`    // with those keys
}

// KeepPartitions creates the partitions of the coming days and deletes data past its retention. It
// is idempotent.
func (p *Partitions) KeepPartitions(ctx context.Context, in PartitionUpkeep) (PartitionReport, error) {
	var (
		report PartitionReport
		err    error
	)
	today := p.Now().UTC()
	if report.Made, err = p.Store.EnsurePartitions(ctx, today, in.DaysAhead); err != nil {
		return report, err
	}
	if report.Dropped, err = p.Store.DropPartitionsBefore(ctx, today.AddDate(0, 0, -in.KeepCallDays)); err != nil {
		return report, err
	}
	if report.LedgerForgotten, err = p.Store.DeleteFlushesBefore(ctx,
		today.AddDate(0, 0, -in.KeepLedgerDays)); err != nil {
		return report, err
	}
	if in.KeepLatencyDays > 0 {
		if report.LatencyDeleted, err = p.Store.DeleteLatencyBefore(ctx,
			today.AddDate(0, 0, -in.KeepLatencyDays)); err != nil {
			return report, err
		}
	}
	if in.KeepStatusDays > 0 {
		if report.StatusDeleted, err = p.Store.DeleteChainSlotsBefore(ctx,
			today.AddDate(0, 0, -in.KeepStatusDays)); err != nil {
			return report, err
		}
	}
	if in.KeepPeopleDays > 0 {
		if report.PeopleDeleted, err = inBatches(ctx, p.Store.SweepPeople,
			today.AddDate(0, 0, -in.KeepPeopleDays)); err != nil {
			return report, err
		}
	}
	if in.KeepEventDays > 0 {
		if report.EventsDeleted, err = inBatches(ctx, p.Store.DeleteStripeEvents,
			today.AddDate(0, 0, -in.KeepEventDays)); err != nil {
			return report, err
		}
	}
	if in.KeepEntryDays > 0 {
		if report.EntriesDeleted, err = inBatches(ctx, p.Store.DeleteIdleEntries,
			today.AddDate(0, 0, -in.KeepEntryDays)); err != nil {
			return report, err
		}
	}
	swept, err := p.sweepAnonymous(ctx, &in, today)
	report.KeysRetired, report.KeysDeleted, report.AccountsDeleted = swept.Retired, swept.Deleted, swept.Accounts
	return report, err
}

// Rows are deleted in batches. What one run leaves, the next deletes.
const (
	batchRows  = 1000
	maxBatches = 1000
)

// inBatches deletes rows older than before and returns how many.
func inBatches(ctx context.Context, remove func(ctx context.Context, before time.Time, limit int) (int64, error),
	before time.Time,
) (int64, error) {
	var deleted int64
	for range maxBatches {
		n, err := remove(ctx, before, batchRows)
		deleted += n
		if err != nil || n == 0 {
			return deleted, err
		}
	}
	return deleted, nil
}
