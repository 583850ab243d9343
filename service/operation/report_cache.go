package operation

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/store/supportdb"
)

// How long a report is cached, and how many are; each has at most some ten KiB.
const (
	ReportTTL  = 10 * time.Second
	maxReports = 1024
)

// ReportCache caches reports in process for ReportTTL. For an account with a million usage lines
// PostgreSQL takes dozens of milliseconds per report, which costs the caller nothing, so a report
// that every key of an account polls is made once.
type ReportCache struct {
	now     func() time.Time
	reports *lru.Cache[ReportKey, report]
	flights cache.Group[ReportKey, report]
}

// ReportKey is the cache key of a report. It contains everything that access depends on: callers
// who may see different data never share a key. The zero key with a name is that of a report that
// is the same for everybody.
type ReportKey struct {
	Name    string
	account account.ID
	scope   supportdb.Scope // an agent or a key that sees only its part of the account; zero for all of it
	key     account.KeyID   // for reports that depend on the key itself; zero for others
	input   any             // comparable
}

// report is the result of making a report.
type report struct {
	value any
	err   error
	until time.Time
}

// NewReportCache returns an empty cache.
func NewReportCache(now func() time.Time) *ReportCache {
	reports, err := lru.New[ReportKey, report](maxReports)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &ReportCache{now: now, reports: reports}
}

// ReportKey returns the cache key of a report with the caller's access.
func (c *Call) ReportKey(name string, input any) ReportKey {
	_, scope := c.Sees()
	return ReportKey{Name: name, account: c.Account.ID, scope: scope, input: input}
}

// OfKey adds the key itself, for reports that depend on it, such as allowances and caps.
func (k ReportKey) OfKey(id account.KeyID) ReportKey {
	k.key = id
	return k
}

// Cached returns a report that is younger than ReportTTL, or makes it. Concurrent requests for the
// same report wait for one run. The result is shared: callers must not modify it. Errors are not
// cached.
func Cached[T any](ctx context.Context, r *ReportCache, key ReportKey,
	read func(context.Context) (T, error),
) (T, error) {
	if held, ok := heldReport[T](r, key); ok {
		return held, nil
	}
	var none T
	f, leads := r.flights.Join(key)
	if !leads {
		m, ok := f.Wait(ctx, Deadline)
		if !ok {
			return none, RecordUnavailable(ctx.Err())
		}
		if m.err != nil {
			return none, m.err
		}
		value, _ := m.value.(T)
		return value, nil
	}
	made := report{err: fault.New(fault.InternalFault, "")}
	defer func() { f.Finish(func() report { return made }) }() // also after a panic, so that nobody waits for ever
	if held, ok := heldReport[T](r, key); ok {                 // a run may have ended since the check above
		made = report{value: held}
		return held, nil
	}
	shared, end := f.Start(ctx)
	defer end()
	shared, cancel := context.WithTimeout(shared, Deadline)
	defer cancel()
	until := r.now().Add(ReportTTL)
	value, err := read(shared)
	made = report{value: value, err: err, until: until}
	if err == nil {
		r.reports.Add(key, made)
	}
	return value, err
}

func heldReport[T any](r *ReportCache, key ReportKey) (value T, ok bool) {
	held, ok := r.reports.Get(key)
	if !ok || !r.now().Before(held.until) {
		return value, false
	}
	value, ok = held.value.(T)
	return value, ok
}
