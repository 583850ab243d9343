package usagedb

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
)

// UsageLine is the usage of an hour or a UTC day by key, chain, service, method and class.
type UsageLine struct {
	Start                         time.Time
	Key                           account.KeyID
	Chain, Service, Method, Class string
	UsageSums
}

// UsageLines reads up to limit usage lines of a window, by hour or by UTC day, oldest first. By
// day, the window starts at the first midnight.
func (s *Store) UsageLines(ctx context.Context, w *UsageWindow, hourly bool, limit int) ([]UsageLine, error) {
	p := db.ListUsageLinesParams{
		//nolint:gosec // a hundred thousand
		Account: w.Account.UUID, Since: w.since(), Step: "day", Keys: w.keys(), OnlyChain: w.Chain,
		OnlyPeriod: w.period(), MaxRows: int32(limit),
	}
	if hourly {
		p.Step = "hour"
	}
	rows, err := s.pool.Sums().ListUsageLines(ctx, p)
	if err != nil {
		return nil, w.failed("usage", err)
	}
	lines := make([]UsageLine, len(rows))
	for i := range rows {
		r := &rows[i]
		lines[i] = UsageLine{
			r.Start.UTC(),
			account.KeyID{UUID: r.KeyID},
			r.Chain, r.Service, r.Method, r.Class,
			UsageSums{r.Requests, r.Billable, r.Hits, plan.Units(r.Units)},
		}
	}
	return lines, nil
}
