package billingdb

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// StripeEvent is a received webhook event. Its content is not stored: it is read again from Stripe.
type StripeEvent struct {
	ID         string
	Type       string
	APIVersion string
	Object     string // id of the object that it is about
	Customer   string // Stripe's customer id; empty when it has none
	Session    string // id of a checkout session; empty for other events
	CreatedAt  time.Time
	ReceivedAt time.Time
}

// RecordStripeEvent inserts an event and so deduplicates webhooks. It is idempotent by the event's
// id: fresh is false when the event was received before.
func (s *Store) RecordStripeEvent(ctx context.Context, e *StripeEvent) (fresh bool, err error) {
	n, err := s.pool.Queries().InsertStripeEvent(ctx, db.InsertStripeEventParams{
		ID: e.ID, Type: e.Type, ApiVersion: e.APIVersion, Object: e.Object, Customer: e.Customer, Session: e.Session,
		CreatedAt: e.CreatedAt,
	})
	if err != nil {
		return false, fmt.Errorf("record event %s: %w", e.ID, err)
	}
	return n > 0, nil
}

// MarkStripeEvent records that an event is processed: the workflow that reads from Stripe has its
// signal, or none is needed.
func (s *Store) MarkStripeEvent(ctx context.Context, id, result string) error {
	if _, err := s.pool.Queries().MarkStripeEvent(ctx, db.MarkStripeEventParams{ID: id, Result: result}); err != nil {
		return fmt.Errorf("mark event %s: %w", id, err)
	}
	return nil
}

// ListOpenStripeEvents reads up to limit unprocessed events that were received longer ago than
// older, oldest first.
func (s *Store) ListOpenStripeEvents(ctx context.Context, older time.Duration, limit int) ([]StripeEvent, error) {
	rows, err := s.pool.Queries().ListOpenStripeEvents(ctx, db.ListOpenStripeEventsParams{
		OlderSeconds: older.Seconds(), MaxRows: int32(min(limit, pg.MaxPage)), //nolint:gosec // bounded
	})
	if err != nil {
		return nil, fmt.Errorf("list events of Stripe: %w", err)
	}
	all := make([]StripeEvent, len(rows))
	for i, row := range rows {
		all[i] = StripeEvent{
			ID: row.ID, Type: row.Type, APIVersion: row.ApiVersion, Object: row.Object, Customer: row.Customer,
			Session: row.Session, CreatedAt: row.CreatedAt.UTC(), ReceivedAt: row.ReceivedAt.UTC(),
		}
	}
	return all, nil
}

// DeleteStripeEvents deletes up to limit processed events that were received before the given time,
// and returns how many.
func (s *Store) DeleteStripeEvents(ctx context.Context, before time.Time, limit int) (int64, error) {
	//nolint:gosec // bounded
	n, err := s.pool.Queries().DeleteStripeEvents(ctx, db.DeleteStripeEventsParams{
		Before: before, MaxRows: int32(min(limit, pg.MaxPage)),
	})
	if err != nil {
		return 0, fmt.Errorf("delete events of Stripe: %w", err)
	}
	return n, nil
}
