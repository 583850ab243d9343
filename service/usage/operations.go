// Package usage has the operations that report usage, and reads usage as far as a caller may see
// it.
package usage

import (
	"sync"
	"time"

	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
)

// Dependencies are what the operations need. The caller owns them.
type Dependencies struct {
	Store  *store.Store
	Limits *limits.Limits
	Now    func() time.Time
	Prices *billing.Prices
	Usage  *Reader
}

// Operations are the operations of this package.
type Operations struct {
	UsageByDay   *operation.Operation[UsageByDayInput, UsageByDay]
	UsageReport  *operation.Operation[UsageReportInput, UsageReport]
	UsageStats   *operation.Operation[UsageStatsInput, UsageStats]
	UsageVolume  *operation.Operation[UsageVolumeInput, UsageVolume]
	ExploreUsage *operation.Operation[ExploreUsageInput, ExploredUsage]
	ExportUsage  *operation.Operation[ExploreUsageInput, UsageTable]

	handlers *handlers
}

// handlers run the operations.
type handlers struct {
	Dependencies
	*operation.Runner

	reports   *operation.ReportCache
	maxLines  int      // maximum number of lines in a usage table
	exporting sync.Map // account.ID of each account whose table is being made
}

// New defines the operations.
func New(r *operation.Runner, d Dependencies) *Operations {
	h := &handlers{Dependencies: d, Runner: r, reports: operation.NewReportCache(d.Now), maxLines: maxLines}
	return &Operations{
		UsageByDay:   h.usageByDay(),
		UsageReport:  h.usageReport(),
		UsageStats:   h.usageStats(),
		UsageVolume:  h.usageVolume(),
		ExploreUsage: h.exploreUsage(),
		ExportUsage:  h.exportUsage(),
		handlers:     h,
	}
}
