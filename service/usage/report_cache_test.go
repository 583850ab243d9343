package usage_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
)

// Usage recorded between two requests within ten seconds shows that the second one read nothing.
func TestUsage_IsReadOnceInTenSecondsForEachScope(t *testing.T) {
	t.Parallel()
	base := time.Now().UTC().Add(time.Minute) // after the time of the agent's usage
	var passed atomic.Int64
	b := servicetest.OpenUsageEnv(t, func(o *service.Options) {
		o.Now = func() time.Time { return base.Add(time.Duration(passed.Load())) }
	})
	b.Period = base.Format("2006-01") + "-01"
	b.Claim(t) // used 3
	eth := b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 40, 40*plan.Unit)
	ask := func(who *operation.Caller) [5]int64 {
		report := servicetest.Must[usage.UsageReport](t)(b.UsageReport.Invoke(b.Ctx, who,
			usage.UsageReportInput{Hours: 24}))
		volume := servicetest.Must[usage.UsageVolume](t)(b.UsageVolume.Invoke(b.Ctx, who, usage.UsageVolumeInput{}))
		cache, failed := servicetest.Stats(t, b, who, "cache", "24h").Summary.Cache.Misses,
			servicetest.Stats(t, b, who, "errors",
				"24h").Summary.Errors.Requests
		sum := int64(0)
		for i := range volume.Buckets {
			sum += volume.Buckets[i].Requests
		}
		return [5]int64{report.TotalRequests, sum, cache, failed, int64(b.Can(t, who).Volume / plan.Unit)}
	}
	all := func(n int64) [5]int64 { return [5]int64{n, n, n, n, n} }
	scopes := func(account, agent int64) {
		t.Helper()
		for what, c := range map[string]struct {
			who  *operation.Caller
			want int64
		}{
			"the account's user": {b.Ann, account}, "the account's key": {b.Key, account},
			"its agent": {b.Agent, agent}, "another account": {b.Eve, 0},
		} {
			if got := ask(c.who); got != all(c.want) {
				t.Errorf("after %s %s is told %v, want %d", time.Duration(passed.Load()), what, got, c.want)
			}
		}
	}
	b.Commit(t, base, nil, eth)
	scopes(43, 3)
	b.Commit(t, base, nil, eth, b.Written(b.AgentKey, "eth_mainnet", "eth_call", "standard", "ok", 5, 5*plan.Unit))
	passed.Store(int64(10*time.Second - 1))
	scopes(43, 3)
	passed.Store(int64(10 * time.Second))
	scopes(88, 8)
}
