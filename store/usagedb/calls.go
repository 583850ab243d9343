package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/store/db"
)

// Call is a call record. It holds no parameters, results, keys or addresses. Account and Key are
// zero when the caller is not known.
type Call struct {
	RequestID     uuid.UUID
	Index         int // position in the batch, 0 for a single request
	StartedAt     time.Time
	Account       account.ID
	Key           account.KeyID
	Chain         chain.ID
	Service       string
	Method        string
	Class         string
	Tier          string // cheap, balanced, fast, or empty when none was selected
	Outcome       string // ok, hit, or the name of a fault reason
	HTTPStatus    int
	Units         plan.Units
	Upstream      string // its name; empty when none was called
	Attempts      int
	Duration      time.Duration
	RequestBytes  int64
	ResponseBytes int64
	Cost          price.Nanos // what all attempts cost the operator
}

// FindCalls reads the call records of a request, one per item of its batch. The list is empty when
// there are none, or when they are not written yet.
func (s *Store) FindCalls(ctx context.Context, requestID uuid.UUID) ([]Call, error) {
	rows, err := s.pool.Queries().ListCalls(ctx, requestID)
	if err != nil {
		return nil, fmt.Errorf("find calls of request %s: %w", requestID, err)
	}
	calls := make([]Call, len(rows))
	for i, row := range rows {
		calls[i] = callOf(row)
	}
	return calls, nil
}

// CopyCalls inserts call records with one COPY: all of them or none.
func (s *Store) CopyCalls(ctx context.Context, calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	if _, err := s.pool.CopyFrom(ctx, pgx.Identifier{"calls"}, callColumns, newCallRows(calls)); err != nil {
		return fmt.Errorf("copy %d call records: %w", len(calls), err)
	}
	return nil
}

var callColumns = []string{
	"request_id", "batch_index", "started_at", "account_id", "key_id", "chain", "service", "method", "class", "tier",
	"outcome", "http_status", "units", "upstream", "attempts", "duration_us", "request_bytes", "response_bytes",
	"cost_nanos",
}

// callRows feeds COPY without an allocation per record. The values are pointers to the fields of
// one row, which is encoded before Next sets the next one.
type callRows struct {
	calls  []Call
	next   int
	values []any

	request, account, key                                pgtype.UUID
	started                                              pgtype.Timestamptz
	index                                                pgtype.Int4
	status, attempts                                     pgtype.Int2
	units, duration, requestBytes, answerBytes, cost     pgtype.Int8
	chain, service, method, class, tier, outcome, served pgtype.Text
}

func newCallRows(calls []Call) *callRows {
	r := &callRows{calls: calls}
	r.values = []any{
		&r.request, &r.index, &r.started, &r.account, &r.key, &r.chain, &r.service, &r.method, &r.class, &r.tier,
		&r.outcome, &r.status, &r.units, &r.served, &r.attempts, &r.duration, &r.requestBytes, &r.answerBytes, &r.cost,
	}
	return r
}

// Next implements pgx.CopyFromSource.
func (r *callRows) Next() bool {
	if r.next == len(r.calls) {
		return false
	}
	c := &r.calls[r.next]
	r.next++
	text := func(s string) pgtype.Text { return pgtype.Text{String: s, Valid: true} }
	number := func(n int64) pgtype.Int8 { return pgtype.Int8{Int64: n, Valid: true} }
	optional := func(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: id != uuid.Nil} }
	r.request = pgtype.UUID{Bytes: c.RequestID, Valid: true}
	r.index = pgtype.Int4{Int32: int32(c.Index), Valid: true} //nolint:gosec // at most 100
	r.started = pgtype.Timestamptz{Time: c.StartedAt, Valid: true}
	r.account, r.key = optional(c.Account.UUID), optional(c.Key.UUID)
	r.chain, r.service, r.method = text(string(c.Chain)), text(c.Service), text(c.Method)
	r.class, r.tier, r.outcome, r.served = text(c.Class), text(c.Tier), text(c.Outcome), text(c.Upstream)
	r.status = pgtype.Int2{Int16: int16(c.HTTPStatus), Valid: true} //nolint:gosec // three digits
	r.attempts = pgtype.Int2{Int16: int16(c.Attempts), Valid: true} //nolint:gosec // a handful
	r.units, r.duration = number(int64(c.Units)), number(c.Duration.Microseconds())
	r.requestBytes, r.answerBytes = number(c.RequestBytes), number(c.ResponseBytes)
	r.cost = number(int64(c.Cost))
	return true
}

// Values implements pgx.CopyFromSource.
func (r *callRows) Values() ([]any, error) { return r.values, nil }

// Err implements pgx.CopyFromSource.
func (r *callRows) Err() error { return nil }

func callOf(row db.Call) Call {
	c := Call{
		RequestID: row.RequestID, Index: int(row.BatchIndex), StartedAt: row.StartedAt.UTC(),
		Chain: chain.ID(row.Chain), Service: row.Service, Method: row.Method, Class: row.Class, Tier: row.Tier,
		Outcome: row.Outcome, HTTPStatus: int(row.HttpStatus), Units: plan.Units(row.Units), Upstream: row.Upstream,
		Attempts: int(row.Attempts), Duration: time.Duration(row.DurationUs) * time.Microsecond,
		RequestBytes: row.RequestBytes, ResponseBytes: row.ResponseBytes, Cost: price.Nanos(row.CostNanos),
	}
	if row.AccountID != nil {
		c.Account = account.ID{UUID: *row.AccountID}
	}
	if row.KeyID != nil {
		c.Key = account.KeyID{UUID: *row.KeyID}
	}
	return c
}
