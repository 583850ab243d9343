package usage

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Reader reads usage as far as a caller may see it, for operations of every noun.
type Reader struct {
	store   *store.Store
	limits  *limits.Limits
	now     func() time.Time
	units   func(operation string) plan.Units
	reports *operation.ReportCache
}

// NewReader returns a reader. units returns what a use of an operation costs.
func NewReader(s *store.Store, l *limits.Limits, units func(operation string) plan.Units,
	now func() time.Time,
) *Reader {
	return &Reader{store: s, limits: l, now: now, units: units, reports: operation.NewReportCache(now)}
}

// Window returns the usage since an instant that a caller may see. An agent's key sees that of
// all keys of its agent, an adopted key only its own.
func (r *Reader) Window(ctx context.Context, c *operation.Call,
	since time.Time,
) (usagedb.UsageWindow, statement.Scope, error) {
	w := usagedb.UsageWindow{Account: c.Account.ID, Since: since}
	scope, _ := c.Sees()
	var err error
	switch scope {
	case statement.OfAgent:
		w.Keys, err = r.store.KeysOfAgent(ctx, c.Account.ID, c.Key.Agent)
	case statement.OfKey:
		w.Keys = []account.KeyID{c.Key.ID}
	case statement.OfAccount:
	}
	return w, scope, operation.ToFault(err, "key")
}

// AsOf returns the instant before which all usage of the caller's account is recorded, or nil if it
// is unknown.
func (r *Reader) AsOf(ctx context.Context, c *operation.Call) (*time.Time, error) {
	at, err := r.store.AccountWatermark(ctx, c.Account.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // it is not known
	}
	if err != nil {
		return nil, operation.ToFault(err, "usage")
	}
	return &at, nil
}

// recentDays is the look-back for refusals.
const recentDays = 7 * 24 * time.Hour

// Recent is a caller's recorded usage of the last 30 days. It is shared: callers must not modify
// it.
type Recent struct {
	Scope    statement.Scope
	AsOf     *time.Time
	Volume   plan.Units
	Answered []usagedb.AnsweredUsage
	Refused  []usagedb.FailureGroup
}

// Recent returns a caller's recorded usage, at most ReportTTL old.
func (r *Reader) Recent(ctx context.Context, c *operation.Call) (Recent, error) {
	return operation.Cached(ctx, r.reports, c.ReportKey("recent", nil), func(ctx context.Context) (Recent, error) {
		return r.readRecent(ctx, c)
	})
}

func (r *Reader) readRecent(ctx context.Context, c *operation.Call) (u Recent, err error) {
	w, scope, err := r.Window(ctx, c, span{24 * time.Hour, billing.LadderDays}.since(r.now()))
	if err != nil {
		return u, err
	}
	u.Scope = scope
	if u.AsOf, err = r.AsOf(ctx, c); err != nil {
		return u, err
	}
	late := w
	late.Since = r.now().Add(-recentDays)
	var failures usagedb.Failures
	err = parallel.Do(ctx, operation.MaxParallel,
		func(ctx context.Context) (err error) { u.Answered, err = r.store.AnsweredUsage(ctx, &w); return err },
		func(ctx context.Context) (err error) {
			failures, err = r.store.Failures(ctx, &late, maxEntries)
			return err
		},
	)
	if err != nil {
		return u, operation.ToFault(err, "usage")
	}
	for i := range u.Answered {
		u.Volume += u.Answered[i].Units // refused calls cost nothing
	}
	u.Volume, u.Refused = max(0, u.Volume), failures.ByReason
	return u, nil
}
