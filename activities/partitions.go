package activities

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store"
)

// PartitionStore keeps what is recorded by the day.
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
	SweepAnonymousKeys(ctx context.Context, after account.KeyID, sweep store.AnonymousSweep,
		page int) (done store.SweptKeys, last account.KeyID, more bool, err error)
}

// Partitions keeps the tables that grow by the day.
type Partitions struct {
	Store PartitionStore
	Now   func() time.Time
	// OnSwept hears what became of each page of anonymous keys; nil for nobody.
	OnSwept func(store.SweptKeys)
}

// PartitionUpkeep says which days of records to have, in days before and after today (UTC).
type PartitionUpkeep struct {
	DaysAhead      int `json:"days_ahead"`
	KeepCallDays   int `json:"keep_call_days"`
	KeepLedgerDays int `json:"keep_ledger_days"` // ledger of flushed usage buckets, not the usage itself
	// KeepLatencyDays is of how long calls took, by the hour. A schedule that an older program made
	// does not say it: 0 keeps all.
	KeepLatencyDays int `json:"keep_latency_days"`
	// KeepPeopleDays is of sessions, sign-ins and invitations after they expired; 0 keeps all.
	KeepPeopleDays int `json:"keep_people_days"`
	// KeepEventDays is of webhooks that were handed on; 0 keeps all.
	KeepEventDays int `json:"keep_event_days"`
	// KeepStatusDays is of how chains stood in five minutes; 0 keeps all. Their days stay.
	KeepStatusDays int `json:"keep_status_days"`
	// KeepEntryDays is of addresses of the waitlist that nobody confirmed and of wishes that were
	// declined; 0 keeps all.
	KeepEntryDays int `json:"keep_entry_days"`
	// KeepUnusedKeyDays is of anonymous keys that were never used, KeepIdleKeyDays of those that
	// were used once; 0 keeps all.
	KeepUnusedKeyDays int `json:"keep_unused_key_days"`
	KeepIdleKeyDays   int `json:"keep_idle_key_days"`
}

// PartitionReport is what an upkeep did.
type PartitionReport struct {
	Made            int   `json:"partitions_made"`
	Dropped         int   `json:"partitions_dropped"`
	LedgerForgotten int64 `json:"ledger_entries_forgotten"`
	LatencyDeleted  int64 `json:"latency_rows_deleted"`
	PeopleDeleted   int64 `json:"people_rows_deleted"` // sessions, sign-ins and invitations
	EventsDeleted   int64 `json:"event_rows_deleted"`  // webhooks of Stripe
	StatusDeleted   int64 `json:"status_rows_deleted"` // how chains stood
	EntriesDeleted  int64 `json:"entry_rows_deleted"`  // of the waitlist and the wishlist
	KeysRetired     int64 `json:"keys_retired"`        // anonymous ones that nobody uses
	KeysDeleted     int64 `json:"keys_deleted"`        // of those that were retired before
	AccountsDeleted int64 `json:"accounts_deleted"`    // with them
}

// KeepPartitions makes the partitions of the coming days and drops those past their keeping.
// Repeating it does no harm.
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

// Rows go in batches; what one run leaves, the next takes.
const (
	batchRows  = 1000
	maxBatches = 1000
)

// inBatches deletes what is of before an instant, and says how much.
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
