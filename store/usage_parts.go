package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chainaccess/gateway/store/db"
)

// onlyHours is from when on days are read where hours alone are wanted: after all that is recorded.
var onlyHours = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// midnightFrom is the first begin of a UTC day that does not lie before an instant. A window's
// hours before it are not whole days.
func midnightFrom(at time.Time) time.Time {
	midnight := at.UTC().Truncate(day)
	if midnight.Before(at) {
		midnight = midnight.Add(day)
	}
	return midnight
}

// daysOfSteps is from when on days can be read for steps of time that begin at an instant: none,
// where a step begins or ends within a day.
func daysOfSteps(since time.Time, step time.Duration) time.Time {
	if step%day != 0 || !since.Equal(since.Truncate(day)) {
		return onlyHours
	}
	return since
}

// planned is a pool whose queries PostgreSQL plans with their arguments each time. Those over
// usage_parts need it: a plan for any argument reads all four of its tables.
type planned struct{ *pgxpool.Pool }

// Query describes a statement once and plans it with its arguments.
func (p planned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.Pool.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// sums are the queries over usage_parts and latency_parts.
func (s *Store) sums() *db.Queries { return db.New(planned{s.pool}) }
